"""The demo story, told to its end: version 1 is there, version 2 is reviewed, decided upon, applied, remembered."""

import pytest
from django.contrib.auth.models import User

from applyviz.demo import load_shop
from applyviz.records.enums import AuditAction, PlanState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, Cluster, Resolution, Review
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgements, approving
from applyviz.workflow.audit import chain
from applyviz.workflow.ops import demo
from applyviz.workflow.plans import planner
from tests.builders import open_dangers, overwrite_conflicts

pytestmark = pytest.mark.django_db


@pytest.fixture
def told():
    return demo.seed_demo(load_shop("v1"), load_shop("v2"))


def test_story_is_told_once(told):
    assert [(account.name, account.title) for account in told] == [
        ("alice", "author"),
        ("bob", "approver"),
        ("charlie", "viewer"),
        ("dora", "auditor"),
        ("dana", "administrator, operator, break-glass"),
    ]
    assert demo.seed_demo(load_shop("v1"), load_shop("v2")) == ()
    assert list(Review.objects.order_by("number").values_list("number", "state")) == [(1, "applied"), (2, "open")]
    assert Cluster.objects.get().slug == "demo"


def test_upgrade_waits_with_its_conflict(told):
    plan = Review.objects.get(number=2).plans.get()

    assert plan.counts == {"create": 2, "update": 35, "unchanged": 12, "blocked": 1}
    refused = plan.changes.get(operation="blocked")
    assert (refused.kind, refused.name, refused.conflicts) == ("Deployment", "checkout", 1)
    assert approving.find_plan_blockers(plan)[0] == "1 object with unresolved conflicts"


def test_upgrade_is_decided_applied_and_remembered(told):
    alice, bob = User.objects.get(username="alice"), User.objects.get(username="bob")
    review = Review.objects.get(number=2)

    plan = overwrite_conflicts(review, by=alice, note="the fix is in 1.5.0")
    planner.make_plan(plan.pk)
    plan.refresh_from_db()
    for kind in dict.fromkeys(risk.kind for risk in acknowledgements.find_open(plan)):
        acknowledgements.acknowledge_risks(plan, kind, by=bob)
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
