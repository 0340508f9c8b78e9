"""The Overview names the objects of the last run that the manifests no longer contain."""

from datetime import timedelta

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode, SetAction
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Undo
from tests.web import builders, rows

pytestmark = pytest.mark.django_db


def change(name: str, operation: Operation = Operation.UPDATE):
    """A change of one Deployment without conflicts."""
    found = builders.build_change()
    ref = ObjectRef(found.ref.gvk, found.ref.namespace, name)
    return replace(found, ref=ref, operation=operation, conflicts=(), open_fields=())


def apply_earlier(people, names: str, *, operation: Operation = Operation.UPDATE, hours: int = 2) -> ApplyRun:
    """A finished run of these objects, some hours before the plans of a test."""
    author, approver = people
    run = rows.make_run(rows.make_plan(author, [change(name, operation) for name in names]), approver, state="applied")
    ApplyRun.objects.filter(pk=run.pk).update(created_at=rows.NOW - timedelta(hours=hours))
    return run


def read_overview(client, plan) -> str:
    return client.get(reverse("reviews:show-overview", args=[plan.review.number, plan.number])).content.decode()


def test_objects_that_left_the_manifests_are_named(as_alice, alice, bob):
    run = apply_earlier((alice, bob), "abcd")

    page = read_overview(as_alice, rows.make_plan(alice, [change("a"), change("b")]))

    assert "2 objects of run 1 are not in these manifests" in page
    assert ["Deployment/c in shop" in page, "Deployment/d in shop" in page, "Deployment/a in" in page] == [
        True, True, False,
    ]  # fmt: skip
    assert reverse("runs:show-run", args=[run.number]) in page


@pytest.mark.parametrize(("names", "is_named"), [("abcd", True), ("ab", True), ("a", False)])
def test_last_run_of_the_objects_is_named_with_its_end(as_alice, alice, bob, names, is_named):
    apply_earlier((alice, bob), "abcd", hours=3)
    failed = apply_earlier((alice, bob), "abcd", hours=2)
    ApplyRun.objects.filter(pk=failed.pk).update(state=RunState.FAILED)

    page = read_overview(as_alice, rows.make_plan(alice, [change(name) for name in names]))

    link = f'<a href="{reverse("runs:show-run", args=[failed.number])}"'
    assert ("run 2: failed" in page, "Last run of these objects" in page, link in page) == (is_named,) * 3


@pytest.mark.parametrize(
    ("names", "options"),
    [
        ("abcd", ApplyOptions()),
        ("a", ApplyOptions()),
        ("ab", ApplyOptions(selector="app=shop")),
        ("ab", ApplyOptions(action=SetAction.DELETE)),
    ],
    ids=["all there", "another source", "selected", "deletion"],
)
def test_nothing_is_said_where_it_would_not_be_true(as_alice, alice, bob, names, options):
    apply_earlier((alice, bob), "abcd")

    page = read_overview(as_alice, rows.make_plan(alice, [change(name) for name in names], options=options))

    assert "not in these manifests" not in page


def test_revert_names_only_what_its_run_changed(as_alice, alice, bob):
    run = apply_earlier((alice, bob), "abcd")
    plan = rows.make_plan(alice, [change("a"), change("b")])
    Undo.objects.create(review=plan.review, run=run, notes=["deleting Namespace shop deletes everything in it"])

    page = read_overview(as_alice, plan)

    assert "not in these manifests" not in page
    assert ("Limits and side effects:" in page, "Cannot be reverted" in page) == (True, False)


def test_unread_documents_may_hold_the_object(as_alice, alice, bob):
    apply_earlier((alice, bob), "abc")
    problem = {"reason": "no mapping", "file": "c.yaml", "line": 1, "column": 1}

    page = read_overview(as_alice, rows.make_plan(alice, [change("a"), change("b")], problems=(problem,)))

    assert "not in these manifests" not in page


def test_what_a_later_run_deleted_is_not_left_behind(as_alice, alice, bob):
    apply_earlier((alice, bob), "abcd", hours=3)
    apply_earlier((alice, bob), "c", operation=Operation.DELETE, hours=2)

    page = read_overview(as_alice, rows.make_plan(alice, [change("a"), change("b")]))

    assert "1 object of run 1 is not in these manifests" in page
    assert "Deployment/c" not in page


def test_runs_that_did_not_apply_everything_or_come_later_do_not_count(as_alice, alice, bob):
    ApplyRun.objects.filter(pk=apply_earlier((alice, bob), "abc").pk).update(state="failed")
    apply_earlier((alice, bob), "abcd", hours=-1)

    assert "not in these manifests" not in read_overview(as_alice, rows.make_plan(alice, [change("a"), change("b")]))


def test_plan_that_prunes_says_what_prune_does_not_reach(as_alice, alice, bob):
    apply_earlier((alice, bob), "abc")
    options = ApplyOptions(prune=Prune(mode=PruneMode.APPLYSET))

    page = read_overview(as_alice, rows.make_plan(alice, [change("a"), change("b")], options=options))

    assert "Prune does not select them" in page
