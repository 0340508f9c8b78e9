"""The change record: one page that holds what is needed to read a change without the product."""

from django.test.html import parse_html
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.web.reviews.pages import change_record
from applyviz.workflow.approvals import comments
from applyviz.workflow.plans.live_values import list_rows
from tests.web import builders, reading, rows


def read(browser, plan):
    answer = browser.get(reverse("reviews:show-record", args=[plan.review.number, plan.number]))
    assert answer.status_code == 200
    return answer.content.decode()


def change(name, version, operation=Operation.UPDATE):
    base = builders.build_change()
    live, after = (builders.build_deployment(v, "registry.example/shop:1") for v in ("v1", version))
    return replace(
        base,
        ref=base.ref._replace(name=name),
        operation=operation,
        versions=Versions(None, after, live, after, after),
        fields=(base.fields[0],),
        conflicts=(),
        risks=(),
    )


def test_record_tells_fields_reasons_and_people(as_viewer, alice):
    plan = rows.make_plan(alice, [builders.build_change()])
    comments.add_comment(plan, by=alice, content=comments.check_content("look at *replicas*"))
    page = read(as_viewer, plan)

    assert "No approvals." in page
    assert "Not applied." in page
    assert "look at <em>replicas</em>" in page
    assert "v0.8.0" in page
    assert "v0.10.1" in page
    assert "Back to the review" in page


def test_objects_that_change_alike_are_printed_once(as_viewer, alice):
    plan = rows.make_plan(alice, [*(change(f"web-{n}", "v2") for n in range(4)), change("other", "v3")])
    record = change_record.present_record(plan, for_user=alice)

    assert [(o.name, o.others) for o in record.objects] == [
        ("web-0", ("Deployment web-1", "Deployment web-2", "Deployment web-3")),
        ("other", ()),
    ]


def test_risk_of_many_objects_names_the_first_and_leads_to_the_rest(as_viewer, alice):
    plan = rows.make_plan(alice, [change(f"web-{n:02}", f"v{n}") for n in range(51)])

    (line,) = [
        one
        for one in reading.find_all(parse_html(read(as_viewer, plan).replace("<!DOCTYPE html>", "")), "li")
        if "Large change" in reading.text_of(one)
    ]

    named = ", ".join(f"web-{n:02}" for n in range(12))
    (more,) = reading.find_all(line, "a")
    risks = reverse("reviews:show-risks", args=[plan.review.number, plan.number])
    assert reading.text_of(line) == f"Large change: {named} and 39 more"
    assert reading.attribute(more, "href") == f"{risks}#risk-many-objects"


def test_new_object_is_printed_as_its_manifest(as_viewer, alice):
    plan = rows.make_plan(alice, [change("fresh", "v2", Operation.CREATE)])
    record = change_record.present_record(plan, for_user=alice)

    assert record.objects[0].text.startswith("apiVersion: apps/v1\n")
    assert record.objects[0].rows == ()


def test_what_is_long_is_folded_by_a_script_alone(as_viewer, alice):
    """The page holds all of it, open: without the script, and on paper, nothing is missing."""
    long = change("fresh", "v2", Operation.CREATE)
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "few"}}
    versions = Versions(None, settings, None, settings, settings)
    short = replace(long, ref=long.ref._replace(name="few"), versions=versions)
    plan = rows.make_plan(alice, [long, short])
    record = change_record.present_record(plan, for_user=alice)
    page = read(as_viewer, plan)

    assert [(one.name, one.is_long) for one in record.objects] == [("fresh", True), ("few", False)]
    assert page.count("<details open data-fold>") == record.long == 1
    assert f"{record.objects[0].lines} lines" in page
    assert "1 long change is folded. Printing unfolds it." in page
    assert all(line in page for one in record.objects for line in one.text.splitlines())


def test_what_is_left_out_is_counted(as_viewer, alice, monkeypatch):
    monkeypatch.setattr(change_record, "MOST_PRINTED", 2)
    plan = rows.make_plan(alice, [change(f"web-{n}", f"v{n + 2}") for n in range(5)])

    assert "3 more changes are listed in the review." in read(as_viewer, plan)


def test_record_without_changes_says_so(as_viewer, alice):
    assert "No changes." in read(as_viewer, rows.make_plan(alice, []))


def test_only_documents_of_printed_objects_are_read(as_bob, alice, monkeypatch):
    opened = []
    plan = rows.make_plan(alice, [change(f"o{n}", f"v{n + 2}") for n in range(4)])
    monkeypatch.setattr(change_record, "MOST_PRINTED", 1)

    def note(*asked, with_documents=False):
        found = list_rows(*asked, with_documents=with_documents)
        opened.extend(row.name for row in found if with_documents)
        return found

    monkeypatch.setattr(change_record, "list_rows", note)
    page = read(as_bob, plan)

    assert opened == ["o0"]
    assert "3 more changes" in page
