"""One object alone in its views, as page and as part of it."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.web.components.object_links import link_alone, link_change
from applyviz.workflow.plans.changes import read_masked
from tests.web import builders, reading, rows

HTMX = {"HX-Request": "true"}


def url(plan, view="fields", position=0) -> str:
    return link_alone(plan, position, view)


def part(plan, query="", view="fields", position=0) -> str:
    """The address of what a click on a view, a filter or a version loads."""
    scroll = reverse("reviews:scroll-objects", args=[plan.review.number, plan.number])
    return f"{scroll}?only={position}&view={view}&alone=on{query}"


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("fields", "Compare values"),
        ("diff", "Live compared with after apply"),
        ("requests", "application/apply-patch+yaml"),
        ("owners", "Last write"),
        ("yaml", "terminationGracePeriodSeconds"),
    ],
)
def test_view_is_a_page_and_a_part(as_viewer, plan, view, text):
    page = as_viewer.get(url(plan, view)).content.decode()
    fragment = as_viewer.get(part(plan, view=view), headers=HTMX)

    assert text in page
    assert text in fragment.content.decode()
    assert ("<html" in page, "<html" in fragment.content.decode()) == (True, False)
    assert "HX-Request" in fragment.headers["Vary"]
    assert fragment.headers["HX-Push-Url"] == url(plan, view)


@pytest.mark.parametrize("view", ["0", "1"])
@pytest.mark.parametrize("is_alone", [True, False])
def test_diff_marks_the_line_of_a_conflict_and_never_folds_it(as_viewer, alice, view, is_alone):
    change = builders.build_change()
    live = change.versions.live
    live = {**live, "spec": {**live["spec"], "aaa": {f"k{n}": n for n in range(20)}}}
    after = live if is_alone else {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}}
    change = replace(change, versions=replace(change.versions, live=live, after=after))
    plan = rows.make_plan(alice, [change])

    page = reading.read(as_viewer, url(plan, "diff") + f"&split={view}")

    marked = [reading.text_of(row) for row in reading.find_all(page, "tr") if "Conflict" in reading.text_of(row)]
    assert len(marked) == 1
    assert "image: registry.example/frontend:hotfix-3" in marked[0]
    assert any("unchanged lines" in reading.text_of(row) for row in reading.find_all(page, "tr"))


def test_going_back_in_history_gets_the_whole_page(as_viewer, plan):
    answer = as_viewer.get(url(plan), headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert "<html" in answer.content.decode()


def test_filter_leaves_only_what_it_names(as_viewer, plan):
    removed = as_viewer.get(part(plan, "&show=removed"), headers=HTMX).content.decode().split("data-thread")[0]

    assert "DISABLE_PROFILER" in removed
    assert "ENABLE_SINGLE_SESSION" not in removed


def test_unknown_filter_falls_back_to_changes(as_viewer, plan):
    assert "ENABLE_SINGLE_SESSION" in as_viewer.get(part(plan, "&show=nonsense"), headers=HTMX).content.decode()


def test_unknown_object_is_not_found_and_an_unknown_view_shows_the_fields(as_viewer, plan):
    missing = [as_viewer.get(url(plan, position=7)), as_viewer.get(part(plan, position=7), headers=HTMX)]

    assert [answer.status_code for answer in missing] == [404, 404]
    assert "ENABLE_SINGLE_SESSION" in as_viewer.get(url(plan, "nonsense")).content.decode()


def test_object_is_hidden_from_outsiders(as_charlie, plan):
    assert as_charlie.get(url(plan)).status_code == 404
    assert as_charlie.get(part(plan), headers=HTMX).status_code == 404


def test_field_tells_what_the_schema_says(as_viewer, plan):
    index = next(n for n, f in enumerate(read_masked(plan.changes.get()).fields) if f.path[-1] == "f:replicas")
    address = reverse("reviews:show-field", args=[plan.review.number, 1, 0, index])

    page = as_viewer.get(address).content.decode()
    fragment = as_viewer.get(address, headers=HTMX).content.decode()

    assert "Number of desired pods" in page
    assert "Number of desired pods" in fragment
    assert "<html" not in fragment


def test_unknown_field_is_not_found(as_viewer, plan):
    address = reverse("reviews:show-field", args=[plan.review.number, 1, 0, 99])

    assert as_viewer.get(address).status_code == 404


def test_field_named_in_the_address_comes_open_whatever_is_filtered(as_viewer, plan):
    fields = read_masked(plan.changes.get()).fields
    calm = next(n for n, f in enumerate(fields) if f.path[-1] == "f:terminationGracePeriodSeconds")

    page = as_viewer.get(f"{url(plan)}&field={calm}&show=removed").content.decode()
    gone = as_viewer.get(f"{url(plan)}&field=999").content.decode()

    assert re.search(rf'id="object-0-field-{calm}">\s*<details data-field-row open', page)
    assert f'href="{link_alone(plan, 0)}&amp;field={calm}#object-0-field-{calm}"' in page
    assert re.search(r"show=all[^>]+ aria-current", page)
    assert page.count("data-field-row open") == gone.count("data-field-row open") + 1


def test_search_in_a_version_stays_in_that_version(as_viewer, plan):
    page = as_viewer.get(f"{url(plan, 'yaml')}&version=live").content.decode()

    form = page.split('class="find-text"')[1].split("</form>")[0]
    kept = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    assert kept == [("only", "0"), ("view", "yaml"), ("version", "live")]


def test_owners_name_what_they_keep(as_viewer, plan):
    page = as_viewer.get(part(plan, view="owners"), headers=HTMX).content.decode().replace("<wbr>", "")

    autoscaler = page.split("<tbody>")[1].split("kube-controller-manager", 1)[1].split("</tr>")[0]
    assert re.search(r'data-label="Unchanged">.*?<code>spec.replicas</code>', autoscaler, re.DOTALL)


def test_diff_beside_each_other_says_which_side_is_which(as_viewer, plan):
    one, two = (as_viewer.get(part(plan, f"&split={n}", "diff"), headers=HTMX).content.decode() for n in (0, 1))

    assert ["<b>+</b> after apply" in one, "<b>+</b> after apply" in two] == [True, False]
    assert "Left: live. Right: after apply." in two


def test_text_that_holds_yaml_is_compared_by_its_fields_or_as_it_stands(as_viewer, alice):
    def config(text):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"app.yaml": text}}

    live, after = config("b: 1\na: 1\n"), config("a: 1\nb: 2\n")
    change = replace(builders.build_change(), versions=Versions(None, after, live, after, after), conflicts=())
    plan = rows.make_plan(alice, [change])

    inside = as_viewer.get(part(plan, view="diff"), headers=HTMX).content.decode()
    raw = as_viewer.get(part(plan, "&raw=1", "diff"), headers=HTMX).content.decode()

    assert (inside.count('class="is-removed"'), raw.count('class="is-removed"')) == (1, 1)
    assert "YAML, compared by field" in inside
    assert "YAML, compared by field" not in raw
    assert re.search(r'raw=1"\s+hx-target[^>]+>Raw', inside)


def test_error_of_the_server_is_folded_behind_a_sentence(as_viewer, alice):
    raw = 'Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable'
    change = replace(builders.build_change(), operation=Operation.ERROR, error=raw)
    plan = rows.make_plan(alice, [change])

    page = as_viewer.get(url(plan)).content.decode()

    sentence = page.index("does not let this field change after creation")
    assert page.rindex("<summary>Server message</summary>", 0, page.index("field is immutable", sentence)) > sentence


def test_object_alone_has_its_facts_and_all_that_can_be_done_with_it(as_alice, plan):
    page = as_alice.get(url(plan)).content.decode()
    here = [plan.review.number, 1]

    text = reading.text_of(reading.read(as_alice, url(plan)))
    for words in ("by server-side apply", "Schema:", "Comments on this object", "Show among all changes", "Viewed"):
        assert words in text
    for name in ("hand-over", "take-fields", "edit-last-applied"):
        assert f'href="{reverse(f"reviews:{name}", args=[*here, 0])}"' in page
    assert f'href="{reverse("history:show-object", args=["shop", "apps", "Deployment", "shop", "frontend"])}"' in page
    assert f'href="{link_change(plan, 0)}"' in page
    assert re.search(r'data-item="0">\s*<a[^>]+aria-current="true"', page)


def test_object_alone_stays_as_it_is_while_others_are_planned(as_viewer, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")

    alone, scroll = (as_viewer.get(address).content.decode() for address in (url(plan), link_change(plan, 0)))

    assert ["data-stream" in alone, "data-stream" in scroll] == [False, True]


@pytest.mark.core(1)
@pytest.mark.parametrize(("start", "first", "others"), [(1, 0, {"251"}), (251, 250, {"501"}), (501, 500, set())])
def test_fields_come_in_pages_that_keep_the_filter(as_viewer, alice, start, first, others):
    plan = rows.make_plan(alice, [build_wide(501)])

    page = as_viewer.get(f"{url(plan)}&show=all&start={start}").content.decode()

    found = [int(n) for n in re.findall(r'id="object-0-field-(\d+)"', page)]
    assert found == list(range(first, min(first + 250, 501)))
    links = set(re.findall(r'href="[^"]*only=0&(?:amp;)?view=fields&(?:amp;)?show=all&(?:amp;)?start=(\d+)"', page))
    assert links == others
    assert ("First fields" in page) is (start > 1)


def build_wide(count):
    """A ConfigMap of which every entry changes."""

    def config(value):
        data = {f"k{n:04}": value for n in range(count)}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}

    fields = tuple(
        FieldReason(("f:data", f"f:k{n:04}"), FieldOperation.CHANGED, Reason.MANIFEST_SETS) for n in range(count)
    )
    versions = Versions(None, config("new"), config("old"), config("new"), config("new"))
    return replace(builders.build_change(), versions=versions, fields=fields, conflicts=(), operation=Operation.UPDATE)


def test_box_of_an_object_alone_is_drawn_again_and_nothing_else_of_it(as_viewer, plan):
    marking = reverse("reviews:mark-viewed", args=[plan.review.number, 1])

    answer = as_viewer.post(marking, {"position": "0", "viewed": "on", "alone": "on"}, headers=HTMX).content.decode()

    assert re.search(r'id="viewed-object-0" checked', " ".join(answer.split()))
    assert ("data-field-row" in answer, 'hx-target="#viewed"' in answer) == (False, True)


def test_what_is_kept_has_two_titles_and_values_can_be_compared_below_any_filter(as_viewer, plan):
    kept = as_viewer.get(f"{url(plan)}&show=kept").content.decode()
    compared = as_viewer.get(f"{url(plan)}&show=removed&compare=1").content.decode()

    assert "Set by other field managers" in kept
    assert re.search(r'show=removed&(amp;)?compare=1"[^>]+aria-current', compared)
    table = compared.split('class="aligned"')[1].split("</table>")[0]
    assert ("DISABLE_PROFILER" in table, "ENABLE_SINGLE_SESSION" in table) == (True, False)
