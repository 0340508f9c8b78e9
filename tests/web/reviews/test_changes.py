"""All changes in one scroll: its order, its chunks, its views, ticks, and what it costs at 5,000 objects."""

from __future__ import annotations

import re
import sys

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode, SetAction
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.reach import CRD_CHANGED
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.models import ViewedObject
from applyviz.workflow.approvals import viewed_objects
from tests.stories import Team, config_map
from tests.web import builders, reading, rows
from tests.web.measuring import measure_answers
from tests.workflow.test_patch_runs import patch

HTMX = {"HX-Request": "true"}
OBJECTS, CHUNK = 5_000, 20
# An answer may take so many times the processor time of the same answer for a plan of few objects. Seconds say less:
# shared memory slows pages more than the calculation that finds the pace of a machine.
FEW, FIRST_TIMES, NEXT_TIMES = 60, 2.0, 1.5
FIRST_QUERIES, NEXT_QUERIES = 15, 12
# Templates that one chunk renders: a field needs few of its own, and pieces of fields are drawn once per form.
FIRST_TEMPLATES, NEXT_TEMPLATES = 480, 280


def update(name, **values):
    change = replace(
        builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=(), risks=(), **values
    )
    return replace(change, ref=change.ref._replace(name=name))


def url(plan, name="show-changes", query="") -> str:
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number]) + query


def anchors(answer) -> list[str]:
    return re.findall(r'<section class="scroll-object[^"]*" id="([^"]+)"', answer.content.decode())


def part(answer, anchor) -> str:
    page = answer.content.decode()
    return page[page.index(f'id="{anchor}"') :].split("</section>")[0]


@pytest.fixture
def mixed(alice):
    """An update, a creation, a conflict, a risk, and what stays as it is; no two change alike."""
    risk = Risk(CRD_CHANGED, RiskLevel.HIGH, facts={"name": "tills", "kind": "Till"})
    live = builders.build_change().versions
    return rows.make_plan(
        alice,
        [
            update("plain"),
            replace(
                update("new"), operation=Operation.CREATE, versions=Versions(manifest=live.manifest, after=live.after)
            ),
            replace(builders.build_change(), ref=builders.build_change().ref._replace(name="refused")),
            replace(update("risky"), risks=(risk,)),
            replace(update("calm"), operation=Operation.UNCHANGED),
        ],
    )


def test_what_needs_attention_comes_first_and_what_stays_is_left_out(as_bob, mixed):
    assert anchors(as_bob.get(url(mixed))) == ["object-2", "object-3", "object-1", "object-0"]


def test_list_and_scroll_stand_in_one_order(as_bob, mixed):
    page = as_bob.get(url(mixed)).content.decode()

    assert re.findall(r'data-item="(\d)"', page) == ["2", "3", "1", "0", "4"]


def test_conflict_is_open_in_its_row_with_a_result_for_each_resolution(as_alice, mixed):
    conflict = part(as_alice.get(url(mixed)), "object-2")

    assert conflict.count('name="resolution-0"') == 3
    assert conflict.count("<dt>Result</dt>") == 3
    assert 'form="deciding-2"' in conflict
    assert "checked" not in conflict
    assert "≠" in conflict


def test_risk_tag_leads_to_that_risk_in_the_list(as_bob, mixed):
    page = reading.read(as_bob, url(mixed))

    for text, anchor in (("CRD", "risk-crd"), ("Blocked by conflict", "risk-conflict")):
        (tag,) = {reading.attribute(a, "href") for a in reading.find_all(page, "a") if text in reading.text_of(a)}
        address, _hash, place = (tag or "").partition("#")
        listed = reading.read(as_bob, address)
        found = [e for e in reading.find_all(listed, "section") if reading.attribute(e, "id") == place]
        assert (address, place, len(found)) == (url(mixed, "show-risks"), anchor, 1)


def test_new_object_is_yaml_with_dimmed_defaults(as_bob, mixed):
    created = part(as_bob.get(url(mixed)), "object-1")

    assert "apiVersion: apps/v1" in created
    assert "is-default" in created
    assert "data-field-row" not in created


def test_reason_is_told_only_where_it_surprises(as_bob, mixed):
    plain = part(as_bob.get(url(mixed)), "object-0")
    reasons = re.findall(r'<span class="why">(.*?)</span>', plain)

    assert any("replaced as a whole" in reason for reason in reasons)
    assert not any("your manifest changes it" in reason for reason in reasons)


def test_what_two_values_share_is_said_once(as_bob, mixed):
    plain = part(as_bob.get(url(mixed)), "object-2")

    assert '<span class="shared">registry.example/frontend:</span>' in plain


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("?view=diff", 'table class="diff'),
        ("?view=yaml", 'class="yaml"'),
        ("?show=all", "terminationGracePeriodSeconds"),
    ],
)
def test_view_is_chosen_by_the_address(as_bob, mixed, query, wanted):
    assert wanted in part(as_bob.get(url(mixed, query=query)), "object-0")


def test_one_object_alone_in_another_view(as_bob, mixed):
    answer = as_bob.get(url(mixed, "scroll-objects", "?only=0&view=diff"), headers=HTMX)

    assert (anchors(answer), "<html" in answer.content.decode()) == (["object-0"], False)
    assert as_bob.get(url(mixed, "scroll-objects", "?only=99"), headers=HTMX).status_code == 404


def test_filter_narrows_list_and_scroll(as_bob, mixed):
    answer = as_bob.get(url(mixed, "list-changes", "?op=create"), headers=HTMX)

    assert anchors(answer) == ["object-1"]
    assert re.findall(r'data-item="(\d)"', answer.content.decode()) == ["1"]
    assert answer.headers["HX-Replace-Url"] == url(mixed, query="?op=create")
    assert anchors(as_bob.get(url(mixed, query="?op=unchanged"))) == ["object-4"]
    assert "No object matches." in as_bob.get(url(mixed, query="?q=nothing")).content.decode()


def test_identical_changes_are_one_block(as_bob, alice):
    plan = rows.make_plan(alice, [update(f"o{n}") for n in range(4)])

    block, single = (as_bob.get(url(plan, query=q)) for q in ("", "?expand=alike-0"))

    assert anchors(block) == ["object-0"]
    assert "4 Deployments with the same change" in block.content.decode()
    assert anchors(single) == [f"object-{n}" for n in range(4)]


@pytest.mark.long
def test_address_of_an_object_shows_that_object(as_bob, alice):
    plan = rows.make_plan(
        alice, [*(update(f"o{n}") for n in range(4)), replace(update("calm"), operation=Operation.UNCHANGED)]
    )

    shown = {n: anchors(as_bob.get(url(plan, query=f"?at={n}"))) for n in (0, 2, 4, 9)}

    opened = [f"object-{n}" for n in range(4)]
    assert shown == {0: ["object-0"], 2: opened, 4: ["object-0", "object-4"], 9: ["object-0"]}
    page = as_bob.get(url(plan)).content.decode()
    members = re.findall(r'<a href="([^"]+)"\s+title="Deployment/o\d"', page)
    assert members == [url(plan, query=f"?at={n}#object-{n}") for n in range(4)]


@pytest.mark.long
def test_pages_of_a_plan_lead_to_the_place_of_an_object_in_changes(as_bob, mixed):
    names = ("overview", "graph", "owners", "activity", "risks")
    addresses = [url(mixed, f"show-{name}") for name in names] + [url(mixed, "confirm-plan")]
    addresses += [url(mixed, "show-graph", "?view=table"), url(mixed, "show-owners", "?object=0")]
    place, own = re.compile(r"/changes/\?at=\d+#(object|conflict)-\d+"), re.compile(r"/objects/\d+/changes/")

    found = {address: as_bob.get(address).content.decode() for address in addresses}

    assert [address for address, page in found.items() if own.search(page)] == []
    assert [address for address, page in found.items() if not place.search(page)] == []


def test_block_is_ticked_off_as_a_whole(as_bob, alice):
    plan = rows.make_plan(alice, [update(f"o{n}") for n in range(4)])

    answer = as_bob.post(url(plan, "mark-viewed"), {"group": "alike-0", "viewed": "on"}, headers=HTMX)

    assert ViewedObject.objects.count() == 4
    assert "object-folded" in answer.content.decode()
    assert 'value="4" max="4"' in answer.content.decode()


def test_tick_is_kept_and_taken_away(as_bob, mixed):
    ticked = as_bob.post(url(mixed, "mark-viewed"), {"position": "0", "viewed": "on"}, headers=HTMX)
    page = as_bob.get(url(mixed))
    cleared = as_bob.post(url(mixed, "mark-viewed"), {"position": "0"})

    assert anchors(ticked) == ["object-0"]
    assert "object-folded" in part(page, "object-0")
    assert cleared.headers["Location"].endswith("?at=0#object-0")
    assert ViewedObject.objects.count() == 0


def _risky(name: str, level: RiskLevel = RiskLevel.HIGH):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, level, builders.REPLICAS, {"owners": "x"})
    return replace(update(name), risks=(risk,))


def test_only_high_risks_count_once_they_were_on_the_screen(as_bob, alice):
    plan = rows.make_plan(alice, [_risky("high"), _risky("medium", RiskLevel.MEDIUM), update("calm")])

    before = as_bob.get(url(plan)).content.decode()
    as_bob.post(url(plan, "mark-viewed"), {"position": "0", "viewed": "on"})
    after = as_bob.get(url(plan))

    assert re.findall(r'data-watched="(\d+)"', before) == ["0"]
    assert "data-watched" not in after.content.decode()
    assert "object-folded" not in part(after, "object-0")


@pytest.mark.parametrize("lines", [20, 500])
def test_new_object_that_has_no_room_says_how_it_is_viewed(as_bob, alice, lines):
    change, risk = builders.build_change(), Risk(CRD_CHANGED, RiskLevel.HIGH, facts={"name": "tills", "kind": "Till"})
    whole = {**change.versions.after, "data": {f"k{n}": "v" for n in range(lines)}}
    made = replace(
        update("new"), operation=Operation.CREATE, versions=Versions(manifest=whole, after=whole), risks=(risk,)
    )
    plan = rows.make_plan(alice, [made])

    page = as_bob.get(url(plan))

    shown, alone = part(page, "object-0"), reverse("reviews:show-changes", args=[plan.review.number, 1]) + "?only=0"
    told = ("data-watched" in page.content.decode(), "tick Viewed" in shown, f'"{alone}">Show the whole' in shown)
    assert told == ((True, False, False) if lines < 400 else (False, True, True))


def test_who_saw_one_of_identical_changes_saw_them_all(as_bob, bob, alice):
    plan = rows.make_plan(alice, [*map(_risky, "abc"), update("calm"), _risky("less", RiskLevel.MEDIUM)])

    answer = as_bob.post(url(plan, "mark-viewed"), {"seen": "1"}, headers=HTMX).content.decode()

    assert 'data-seen-now="0,1,2"' in answer
    assert viewed_objects.find_unopened(plan, by=bob) == ()
    assert ViewedObject.objects.count() == 3


@pytest.mark.long
@pytest.mark.django_db
def test_object_without_a_changed_value_is_viewed_in_the_scroll_too(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1"))
    team.apply(config_map("gone", a="1"), mode=ApplyMode.CLIENT)
    pruning = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)
    plans = [
        team.plan(config_map(a="1"), action=SetAction.CLEAR_OWNERSHIP),
        team.plan(config_map(a="1"), mode=ApplyMode.CLIENT, namespace="default", prune=pruning),
    ]
    browser = Client()
    browser.force_login(team.bob)

    for plan, text in zip(plans, ("Only field ownership changes", "The object is deleted."), strict=True):
        page = browser.get(url(plan, "show-changes")).content.decode()
        assert (text in page, len(re.findall("data-watched=", page))) == (True, 1)


@pytest.mark.django_db
def test_fields_that_a_patch_does_not_name_did_not_leave_the_manifest(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1", b="1"))
    patched = patch({"data": {"c": "1"}}, kind="v1/ConfigMap", name="settings")
    plan = team.plan(patched, action=SetAction.PATCH)
    browser = Client()
    browser.force_login(team.bob)

    page = browser.get(url(plan, "show-changes")).content.decode()
    assert team.work(team.start(plan)).state == "applied"
    later = browser.get(url(team.plan(config_map(a="2", b="1")), "show-changes")).content.decode()

    assert "data.c" in page.replace("<wbr>", "")
    assert "but kept" not in page
    assert "data.a" in later.replace("<wbr>", "")
    assert "but kept" not in later, "c was in no manifest"


@pytest.mark.parametrize("seen", ["x", "1,", "1;2", "1," * 600, "77"])
def test_malformed_or_unknown_positions_record_nothing(as_bob, mixed, seen):
    as_bob.post(url(mixed, "mark-viewed"), {"seen": seen}, headers=HTMX)

    assert ViewedObject.objects.count() == 0


def test_conflict_stays_open_when_it_is_viewed(as_bob, mixed):
    as_bob.post(url(mixed, "mark-viewed"), {"position": "2", "viewed": "on"})

    assert "object-folded" not in part(as_bob.get(url(mixed)), "object-2")


def test_scrolling_ticks_nothing_off(as_bob, mixed):
    as_bob.get(url(mixed))

    assert ViewedObject.objects.count() == 0


@pytest.mark.parametrize("form", [{"position": "77", "viewed": "on"}, {"group": "alike-7"}, {}])
def test_tick_of_nothing_is_not_found(as_bob, mixed, form):
    assert as_bob.post(url(mixed, "mark-viewed"), form).status_code == 404


def test_plan_in_the_making_shows_what_is_planned(as_alice, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")
    page = as_alice.get(url(plan))

    assert anchors(page) == ["object-0"]
    assert "8 objects being planned" in page.content.decode()


def test_plan_without_objects_yet_does_not_say_that_nothing_changes(as_alice, alice):
    plan = rows.make_plan(alice, [], state="planning")
    type(plan).objects.filter(pk=plan.pk).update(expected=0)

    page = as_alice.get(url(plan)).content.decode()

    assert ("Nothing changes." in page, page.count("No objects yet.")) == (False, 2)


def test_list_without_objects_does_not_speak_of_a_filter(as_alice, alice):
    page = as_alice.get(url(rows.make_plan(alice, [], state="planning"))).content.decode()

    assert ("No objects yet." in page, "No object matches." in page) == (True, False)


def test_object_that_could_not_be_planned_says_why(as_bob, alice):
    broken = replace(update("broken"), operation=Operation.ERROR, error="spec: required", fields=())
    page = as_bob.get(url(rows.make_plan(alice, [broken])))

    assert "spec: required" in part(page, "object-0")


def number_change(number):
    """An update with four to eight rows whose values no other has."""
    change = update(f"o{number:04}", fields=builders.build_change().fields[: 4 + number % 5])
    label = {"app.kubernetes.io/version": f"v{number}"}
    after = {**change.versions.after, "metadata": {**change.versions.after["metadata"], "labels": label}}
    return replace(change, versions=replace(change.versions, after=after, manifest=after))


def test_previous_objects_are_offered_where_they_are_not_in_the_page(as_bob, alice):
    """Scrolling adds a chunk below them; a page that begins at a chosen object needs the link."""
    plan = rows.make_plan(alice, [number_change(n) for n in range(CHUNK + 2)])
    added = as_bob.get(url(plan, "scroll-objects", f"?start={CHUNK}"), headers=HTMX)
    last = anchors(added)[-1].removeprefix("object-")
    chosen = as_bob.get(url(plan, "scroll-objects", f"?at={last}"), headers=HTMX)
    page = as_bob.get(url(plan, query=f"?start={CHUNK}"))

    offers = ["Previous objects" in answer.content.decode() for answer in (added, chosen, page)]
    assert offers == [False, True, True]


@pytest.mark.long
def test_chunks_cover_the_plan_at_a_bounded_cost(as_bob, alice, capsys, django_assert_max_num_queries):
    """With 5,000 objects: the first page, and each chunk that scrolling fetches."""
    few, plan = (rows.make_plan(alice, [number_change(n) for n in range(count)]) for count in (FEW, OBJECTS))
    chunk, same = (url(one, "scroll-objects", f"?start={CHUNK}") for one in (plan, few))
    as_bob.get(url(plan))  # what a complete plan keeps is read once

    with django_assert_max_num_queries(FIRST_QUERIES):
        first = as_bob.get(url(plan))
    with django_assert_max_num_queries(NEXT_QUERIES):
        following = as_bob.get(chunk, headers=HTMX)
    last = as_bob.get(url(plan, "scroll-objects", f"?start={OBJECTS - CHUNK}"), headers=HTMX)
    taken, of_few = measure_answers(as_bob, url(plan), url(few))
    taken_next, next_of_few = measure_answers(as_bob, chunk, same, **HTMX)

    with capsys.disabled():
        sys.stdout.write(
            f"\n5,000 objects: first {taken * 1000:.0f} ms, next 20 {taken_next * 1000:.0f} ms of processor time "
            f"({FEW} objects: {of_few * 1000:.0f}, {next_of_few * 1000:.0f} ms), "
            f"{len(first.templates)} and {len(following.templates)} templates\n"
        )
    assert (len(anchors(first)), len(anchors(following)), len(anchors(last))) == (CHUNK, CHUNK, CHUNK)
    assert ["data-next" in answer.content.decode() for answer in (first, following, last)] == [True, True, False]
    assert len(first.templates) <= FIRST_TEMPLATES
    assert len(following.templates) <= NEXT_TEMPLATES
    assert taken <= FIRST_TIMES * of_few
    assert taken_next <= NEXT_TIMES * next_of_few
