"""Runs of delete reviews: what goes, what stays, what happened meanwhile, and what brings it back."""

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import Propagation, SetAction
from applyviz.engine.risks.deletions import FINALIZERS, TERMINATING
from applyviz.engine.risks.planning.dangling import DANGLING_REFERENCE
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun, JournalEntry
from applyviz.workflow.plans import changes, planner, revert
from applyviz.workflow.runs import retry
from tests.stories import SETTINGS, config_map, secret

pytestmark = pytest.mark.django_db
DELETE = {"action": SetAction.DELETE}
OTHER = "/api/v1/namespaces/default/configmaps/other"
LOGIN = "/api/v1/namespaces/default/secrets/login"


def held(name="settings"):
    metadata = {"name": name, "finalizers": ["example.com/hold"]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})


def pods_reading(name="settings"):
    spec = {"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": name}}]}]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader"}, "spec": spec})


def operations(plan):
    return list(plan.changes.order_by("position").values_list("operation", "name"))


def release(team, path=SETTINGS):
    team.edit(path, {"metadata": {"finalizers": None}}, manager="some-controller")


def sent(run):
    return list(JournalEntry.objects.filter(result__run=run).values_list("method", "path"))


def test_objects_are_deleted_and_their_absence_is_verified(team):
    team.apply(config_map(a="1"), secret(password="p"))

    run = team.apply(config_map(a="changed in the file"), secret(password="q"), **DELETE)

    assert (run.state, run.error, team.outcomes(run)) == (RunState.APPLIED, "", ["deleted", "deleted"])
    assert {result.detail for result in run.results.all()} == {"it is gone"}
    assert (team.live(), team.live(LOGIN)) == (None, None)


def test_definition_that_is_only_named_is_deleted(team):
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    head["metadata"] = {"name": "toys.example.com"}
    team.apply(yaml.safe_dump({**head, "spec": spec}))

    run = team.apply(yaml.safe_dump(head), **DELETE)

    assert (run.state, operations(run.plan)) == (RunState.APPLIED, [("delete", "toys.example.com")])


@pytest.mark.long
def test_absent_object_is_a_row_without_a_request(team):
    team.apply(config_map(a="1"))

    plan = team.plan(config_map(a="1"), config_map("nothing", a="1"), **DELETE)
    run = team.work(team.start(plan))

    assert sorted(operations(plan)) == [("delete", "settings"), ("not-found", "nothing")]
    assert run.state == RunState.APPLIED
    assert [m for m, _ in sent(run)] == ["DELETE"]
    assert "not found: nothing to delete" in {result.detail for result in run.results.all()}


def test_object_that_changed_since_the_review_is_not_deleted(team):
    team.apply(config_map(a="1"))
    started = team.start(team.plan(config_map(a="1"), **DELETE))
    team.edit(SETTINGS, {"data": {"a": "2"}})

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])
    assert team.live()["data"] == {"a": "2"}


@pytest.mark.long
def test_object_that_was_created_again_is_not_deleted(team):
    team.apply(config_map(a="1"))
    started = team.start(team.plan(config_map(a="1"), **DELETE))
    team.send(Request("DELETE", SETTINGS))
    team.apply_as("someone", config_map(a="1"))

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])
    assert team.live() is not None


@pytest.mark.long
def test_object_that_is_gone_before_the_run_is_no_reason_to_stop(team):
    team.apply(config_map(a="1"), config_map("other", a="1"))
    started = team.start(team.plan(config_map(a="1"), config_map("other", a="1"), **DELETE))
    team.send(Request("DELETE", SETTINGS))

    run = team.work(started)

    assert (run.state, sorted(team.outcomes(run))) == (RunState.APPLIED, ["deleted", "unchanged"])
    assert sent(run) == [("DELETE", OTHER)]
    assert [r.detail for r in run.results.filter(outcome=Outcome.UNCHANGED)] == [
        "it was gone before the run: nothing was sent"
    ]


@pytest.mark.long
def test_object_that_goes_during_the_run_is_gone(team):
    team.apply(config_map(a="1"), pods_reading())
    started = team.start(team.plan(config_map(a="1"), pods_reading(), **DELETE))

    def take(request, number):
        if request.method == "DELETE" and request.ref.name == "reader":
            team.send(Request("DELETE", SETTINGS))
        return ""

    team.wire.fault = take
    run = team.work(started)

    assert (run.state, team.outcomes(run), team.live()) == (RunState.APPLIED, ["deleted", "deleted"], None)
    assert list(JournalEntry.objects.filter(result__run=run).values_list("status", flat=True)) == [200, 404]


def test_finalizer_is_a_risk_and_the_run_names_it(team):
    team.apply(held())

    plan = team.plan(held(), **DELETE, deletion_seconds=0)
    run = team.work(team.start(plan))

    risks = [risk for row in plan.changes.all() for risk in changes.read_masked(row).risks]
    assert FINALIZERS in {risk.kind for risk in risks}
    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["unknown"])
    assert "still there after 0 s (finalizers: example.com/hold)" in run.error


@pytest.mark.long
def test_retry_waits_for_what_is_being_deleted_and_sends_nothing_again(team):
    team.apply(held())
    run = team.work(team.start(team.plan(held(), **DELETE, deletion_seconds=0)))
    release(team)

    again = team.work(retry.retry_run(run, by=team.bob, attempt=1))

    assert (again.state, again.error, team.outcomes(again)) == (RunState.APPLIED, "", ["deleted"])
    assert [method for method, _ in sent(again)] == ["DELETE"]


@pytest.mark.long
def test_object_that_is_being_deleted_is_only_awaited(team):
    team.apply(held())
    team.send(Request("DELETE", SETTINGS))

    plan = team.plan(held(), **DELETE)
    started = team.start(plan)
    release(team)
    run = team.work(started)

    risks = [risk.kind for row in plan.changes.all() for risk in changes.read_masked(row).risks]
    assert TERMINATING in risks
    assert (run.state, sent(run)) == (RunState.APPLIED, [])


@pytest.mark.long
def test_what_a_remaining_object_needs_stays(team):
    reader = yaml.safe_load(pods_reading())
    reader["metadata"]["finalizers"] = ["example.com/hold"]
    files = (config_map(a="1"), config_map("other", a="1"), yaml.safe_dump(reader))
    team.apply(*files)
    started = team.start(team.plan(*files, **DELETE, deletion_seconds=0))
    ApplyRun.objects.filter(pk=started.pk).update(rules={**started.rules, "carries_on": True})

    run = team.work(ApplyRun.objects.get(pk=started.pk))

    found = {changes.ref_of(r.change).name: (r.outcome, r.detail) for r in run.results.select_related("change")}
    assert found["settings"] == ("left-out", "it stays while Pod default/reader, which needs it, is not deleted")
    assert found["other"] == ("deleted", "it is gone")
    assert team.live() is not None


@pytest.mark.long
def test_deletion_of_what_others_read_is_a_high_risk(team):
    team.apply(config_map(a="1"), pods_reading())

    plan = team.plan(config_map(a="1"), **DELETE)

    risks = [risk for row in plan.changes.all() for risk in changes.read_masked(row).risks]
    assert [(risk.level.value, risk.facts["source"]) for risk in risks if risk.kind is DANGLING_REFERENCE] == [
        ("high", "Pod/reader")
    ]


@pytest.mark.long
def test_revert_brings_back_what_was_deleted(team):
    team.apply(config_map(a="1", b="2"), secret(password="p"))
    team.edit(SETTINGS, {"data": {"c": "3"}})
    run = team.apply(config_map(a="1"), secret(password="other"), **DELETE)

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    done = team.work(team.start(review.plans.get()))

    assert (done.state, done.error) == (RunState.APPLIED, "")
    assert team.live()["data"] == {"a": "1", "b": "2", "c": "3"}
    assert team.live(LOGIN)["data"] == {"password": "cA=="}
    assert operations(review.plans.get()) == [("create", "settings"), ("create", "login")]


def test_digest_binds_the_action_the_propagation_and_the_object(team):
    team.apply(config_map(a="1"))
    first = team.plan(config_map(a="1"), **DELETE)
    orphaned = team.plan(config_map(a="1"), **DELETE, propagation=Propagation.ORPHAN)
    applied = team.plan(config_map(a="1"))
    team.send(Request("DELETE", SETTINGS))
    team.apply_as("applyviz", config_map(a="1"))
    again = team.plan(config_map(a="1"), **DELETE)

    assert len({first.digest, orphaned.digest, applied.digest, again.digest}) == 4
