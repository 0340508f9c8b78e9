"""The demo story, told to its end: version 1 is there, version 2 is reviewed, decided upon, applied, remembered."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from applyviz import clock
from applyviz.clusters import sandbox
from applyviz.demo import load_demo
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import AuditAction, Outcome, PlanState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, Cluster, Resolution, Review
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.audit import chain
from applyviz.workflow.ops import demo
from applyviz.workflow.plans import planner
from applyviz.workflow.runs.rollout import LOOK_SECONDS
from tests.blockers import name_blockers
from tests.builders import open_dangers, overwrite_conflicts

pytestmark = pytest.mark.django_db
MOST_LOOKS = 200


@pytest.fixture
def told():
    return demo.seed_demo(load_demo())


@pytest.mark.long
def test_story_is_told_once(told):
    assert [(account.name, account.title) for account in told] == [
        ("alice", "author"),
        ("bob", "approver"),
        ("charlie", "viewer"),
        ("dora", "auditor"),
        ("dana", "administrator, operator, break-glass"),
    ]
    assert demo.seed_demo(load_demo()) == ()
    assert list(Review.objects.order_by("number").values_list("number", "state")) == [
        (1, "applied"), (2, "open"), (3, "open"), (4, "open"),
    ]  # fmt: skip
    assert Cluster.objects.get().slug == "demo"


@pytest.mark.long
def test_upgrade_waits_with_its_conflict(told):
    plan = Review.objects.get(number=2).plans.get()

    assert plan.counts == {"create": 2, "update": 35, "unchanged": 12, "blocked": 1}
    refused = plan.changes.get(operation="blocked")
    assert (refused.kind, refused.name, refused.conflicts) == ("Deployment", "checkout", 1)
    assert name_blockers(plan)[0] == "1 object with unresolved conflicts"


@pytest.mark.long
def test_channel_has_an_update_with_a_prune_an_install_and_two_skips(told):
    plan = Review.objects.get(number=4).plans.get()

    chosen = {one.addon.name.partition(".")[0]: one for one in options_from_json(plan.options).channel.addons}
    assert {name: (one.action.value, one.reason.value) for name, one in chosen.items()} == {
        "coredns": ("skip", "same"),
        "metrics-server": ("update", "other-manifest"),
        "limit-range": ("install", "not-installed"),
        "nodelocaldns": ("skip", "other-kubernetes"),
    }
    assert list(plan.changes.order_by("position").values_list("operation", "kind", "name")) == [
        ("unchanged", "ServiceAccount", "metrics-server"),
        ("update", "Deployment", "metrics-server"),
        ("prune", "ConfigMap", "metrics-server-nanny"),
        ("update", "Namespace", "kube-system"),
        ("create", "LimitRange", "limits"),
        ("update", "Namespace", "kube-system"),
    ]
    assert (plan.problems, plan.changes.filter(conflicts__gt=0).count()) == ([], 0)


@pytest.mark.long
def test_upgrade_is_decided_applied_and_remembered(told):
    alice, bob = User.objects.get(username="alice"), User.objects.get(username="bob")
    review = Review.objects.get(number=2)

    plan = overwrite_conflicts(review, by=alice, note="the fix is in 1.5.0")
    planner.make_plan(plan.pk)
    plan.refresh_from_db()
    for kind in dict.fromkeys(risk.kind for risk in acknowledgments.find_open(plan)):
        acknowledgments.acknowledge_risks(plan, kind, by=bob)
    open_dangers(plan, bob)
    run = runs.approve_and_run(plan, by=bob, digest=plan.digest)
    runs.execute_run(run.pk)

    run = ApplyRun.objects.get(pk=run.pk)
    assert (plan.number, plan.state, plan.counts.get("blocked")) == (2, PlanState.COMPLETE, None)
    assert (run.state, run.summary) == (RunState.APPLIED, {"applied": 38, "unchanged": 12})
    decision = Resolution.objects.get()
    assert (decision.by, decision.manager, decision.choice) == (alice, "kubectl-set", "overwrite")
    assert chain.verify_chain().is_intact
    assert AuditEntry.objects.filter(run=2, action=AuditAction.OBJECT_RESULT).count() == 50


def apply_and_wait(number, monkeypatch):
    """Carry a plan out that waits for its rollouts; the sandbox's clock goes on while the run sleeps or is parked."""
    bob, plan = User.objects.get(username="bob"), Review.objects.get(number=number).plans.order_by("-number")[0]
    for kind in dict.fromkeys(risk.kind for risk in acknowledgments.find_open(plan)):
        acknowledgments.acknowledge_risks(plan, kind, by=bob)
    open_dangers(plan, bob)
    passed = [0.0]
    monkeypatch.setattr(sandbox, "_now", lambda: datetime.now(UTC) + timedelta(seconds=passed[0]))
    run = runs.approve_and_run(plan, by=bob, digest=plan.digest, waits_for_rollout=True)

    def sleep(seconds):
        passed[0] += seconds

    runs.execute_run(run.pk, sleep=sleep)
    for _look in range(MOST_LOOKS):
        run.refresh_from_db()
        if run.watch_at is None:
            break
        sleep(LOOK_SECONDS)
        ApplyRun.objects.filter(pk=run.pk).update(watch_at=clock.now())
        runs.watch_rollouts(run.pk, sleep=sleep)
    runs.execute_run(run.pk, sleep=sleep)
    return ApplyRun.objects.get(pk=run.pk)


@pytest.mark.long
def test_service_without_an_image_fails_its_rollout_and_says_why(told, monkeypatch):
    run = apply_and_wait(3, monkeypatch)

    result = run.results.get(change__kind="Deployment")
    assert (run.state, result.outcome, result.rollout) == (RunState.FAILED, Outcome.VERIFIED, "failed")
    assert "has timed out progressing" in result.rollout_detail
    (problem,) = result.pods["problems"]
    assert (problem["reason"], problem["pods"]) == ("ImagePullBackOff", 2)


@pytest.mark.long
def test_upgrade_rolls_out(told, monkeypatch):
    plan = overwrite_conflicts(Review.objects.get(number=2), by=User.objects.get(username="alice"), note="")
    planner.make_plan(plan.pk)

    run = apply_and_wait(2, monkeypatch)

    rollouts = set(run.results.exclude(outcome="unchanged").values_list("rollout", flat=True))
    assert (run.state, rollouts <= {"ready", ""}) == (RunState.APPLIED, True)
