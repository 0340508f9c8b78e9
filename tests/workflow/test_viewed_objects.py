"""Ticks per person and digest, and risks that must be opened."""

import pytest

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.models import ViewedObject
from applyviz.workflow.approvals import acknowledgments, approving, viewed_objects
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.policies import rules_from_json
from tests.builders import make_policy
from tests.web import builders, rows
from tests.web.conftest import alice, bob  # noqa: F401 the cast


def _plan(author):
    change = builders.build_change()
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    update = replace(change, operation=Operation.UPDATE, conflicts=(), risks=(risk,))
    calm = replace(update, ref=update.ref._replace(name="calm"), risks=())
    return rows.make_plan(author, [update, calm])


def test_object_is_ticked_off_once(alice, bob):  # noqa: F811 the cast
    plan = _plan(alice)
    row = plan.changes.first()

    made = [viewed_objects.record_viewed(row, plan, by=bob), viewed_objects.record_viewed(row, plan, by=bob)]

    assert made == [True, False]
    assert ViewedObject.objects.count() == 1
    assert viewed_objects.list_viewed(plan, by=bob) == {"apps/Deployment/shop/frontend"}
    assert viewed_objects.list_viewed(plan, by=alice) == frozenset()


def test_unchanged_object_needs_no_tick(alice, bob):  # noqa: F811 the cast
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UNCHANGED, conflicts=())])

    assert viewed_objects.record_viewed(plan.changes.first(), plan, by=bob) is False


def test_plan_without_digest_takes_no_tick(alice, bob):  # noqa: F811 the cast
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")

    assert viewed_objects.record_viewed(plan.changes.first(), plan, by=bob) is False
    assert viewed_objects.list_viewed(plan, by=bob) == frozenset()


def test_high_risk_must_be_opened_before_approval(alice, bob):  # noqa: F811 the cast
    plan = _plan(alice)

    with pytest.raises(NotAllowedError, match="view 1 high-risk object first"):
        approving.approve_plan(plan, by=bob, digest=plan.digest)
    viewed_objects.record_viewed(plan.changes.get(position=0), plan, by=bob)
    with pytest.raises(NotPossibleError, match="1 risk to acknowledge"):
        approving.approve_plan(plan, by=bob, digest=plan.digest)
    (risk,) = acknowledgments.find_open(plan)
    acknowledgments.acknowledge_risks(plan, risk.kind, by=bob)

    assert approving.approve_plan(plan, by=bob, digest=plan.digest).by == bob


def test_no_policy_and_no_setting_lifts_that(alice, bob, settings):  # noqa: F811 the cast
    settings.APPLYVIZ_MUST_OPEN_DANGERS = False
    settings.APPLYVIZ_IS_PERSONAL = True
    make_policy(approvals=0)
    plan = _plan(alice)

    assert [row.name for row in viewed_objects.find_unopened(plan, by=bob)] == ["frontend"]
    with pytest.raises(PlanError, match="must_open_dangers"):
        rules_from_json({"approvals": 2, "must_open_dangers": False})
