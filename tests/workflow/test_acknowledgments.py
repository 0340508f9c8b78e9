"""High risks are acknowledged: by a person, for what happens to an object or by the whole plan, on record."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.deletions import DELETED, REPLACED
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.planning.whole import MANY_OBJECTS
from applyviz.engine.risks.pruning import PRUNE_SHARE
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Grant
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.audit import chain
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from tests.blockers import name_blockers
from tests.builders import make_person, make_policy
from tests.web import builders, rows

pytestmark = pytest.mark.django_db
HIGH_RISK = Risk(PODS_RESTART, RiskLevel.HIGH)
KIND = PODS_RESTART


@pytest.fixture
def alice():
    return make_person("alice", Role.AUTHOR)


@pytest.fixture
def bob():
    return make_person("bob", Role.APPROVER)


def build(name="frontend", *risks, **values):
    change = builders.build_change()
    values = {"operation": Operation.UPDATE, "conflicts": (), "risks": risks or (HIGH_RISK,), **values}
    return replace(change, ref=change.ref._replace(name=name), **values)


@pytest.fixture
def plan(alice):
    return rows.make_plan(alice, [build("one"), build("two"), build("calm", replace(HIGH_RISK, level=RiskLevel.INFO))])


def name_open(plan):
    return [(h.position, h.kind) for h in acknowledgments.find_open(plan)]


def test_high_risks_of_what_is_written_are_open(alice, plan):
    refused = rows.make_plan(alice, [build(operation=Operation.BLOCKED)])

    assert name_open(plan) == [(0, KIND), (1, KIND)]
    assert name_open(refused) == []


def test_one_object_or_all_are_acknowledged(alice, bob, plan):
    assert acknowledgments.acknowledge_risks(plan, KIND, by=bob, positions=[1], note="at night") == 1
    assert name_open(plan) == [(0, KIND)]
    assert acknowledgments.acknowledge_risks(plan, KIND, by=bob) == 1
    assert name_open(plan) == []
    assert acknowledgments.acknowledge_risks(plan, KIND, by=alice) == 2

    entries = AuditEntry.objects.filter(action=AuditAction.RISK_ACKNOWLEDGED).order_by("id")
    assert [(e.actor_name, e.name, e.detail["note"]) for e in entries] == [
        ("bob", "two", "at night"),
        ("bob", "one", ""),
        ("alice", "one", ""),
        ("alice", "two", ""),
    ]


def test_many_risks_cost_as_many_statements_as_a_few_and_roles_are_read_once(alice, bob):
    found = {}
    for count in (3, 30):
        plan = rows.make_plan(alice, [build(f"part-{number}") for number in range(count)])
        with CaptureQueriesContext(connection) as asked:
            assert acknowledgments.acknowledge_risks(plan, KIND, by=bob) == count
        found[count] = [query["sql"].split(" WHERE ")[0][:60] for query in asked if "grant" in query["sql"].lower()]
        found[-count] = len(asked)
        entries = AuditEntry.objects.filter(action=AuditAction.RISK_ACKNOWLEDGED, review=plan.review.number)
        assert {(entry.actor_name, entry.roles) for entry in entries} == {("bob", "approver")}
        assert [entry.name for entry in entries.order_by("sequence")] == [f"part-{number}" for number in range(count)]

    assert found[-30] <= found[-3]  # the first act also makes the end of the chain
    assert len(found[30]) == len(found[3]) == 2
    assert chain.verify_chain().bad is None


def test_right_that_ends_between_two_acknowledgments_is_missing_at_once(alice, bob, plan):
    acknowledgments.acknowledge_risks(plan, KIND, by=bob, positions=[0])
    Grant.objects.filter(person=bob).update(ended_at=timezone.now())

    with pytest.raises(NotVisibleError):
        acknowledgments.acknowledge_risks(plan, KIND, by=bob, positions=[1])


def test_acknowledgment_holds_while_the_effect_is_the_same(alice, bob, plan):
    acknowledgments.acknowledge_risks(plan, KIND, by=bob)
    later = rows.add_plan(plan, [build("one"), build("two")])

    assert name_open(later) == []

    moved = rows.add_plan(plan, [build("one")], effect="another")
    assert name_open(moved) == [(0, KIND)]


def test_own_acknowledgment_can_be_withdrawn(alice, bob, plan):
    acknowledgments.acknowledge_risks(plan, KIND, by=bob)

    with pytest.raises(NotPossibleError, match="no acknowledgment to undo"):
        acknowledgments.withdraw_acknowledgment(plan, KIND, by=alice, position=0)
    acknowledgments.withdraw_acknowledgment(plan, KIND, by=bob, position=0)

    assert name_open(plan) == [(0, KIND)]
    entry = AuditEntry.objects.get(action=AuditAction.ACKNOWLEDGMENT_WITHDRAWN)
    assert (entry.name, entry.detail) == ("one", {"risk": "pods-restart"})


def test_nothing_is_acknowledged_twice_or_where_nothing_is(bob, plan):
    acknowledgments.acknowledge_risks(plan, KIND, by=bob)

    for position, kind in ((0, KIND), (2, KIND), (0, PRUNE_SHARE), (99, KIND)):
        with pytest.raises(NotPossibleError, match="this risk does not exist"):
            acknowledgments.acknowledge_risks(plan, kind, by=bob, positions=[position])


def test_who_may_acknowledge(plan):
    with pytest.raises(NotVisibleError):
        acknowledgments.acknowledge_risks(plan, KIND, by=make_person("charlie"))
    with pytest.raises(NotAllowedError):
        acknowledgments.acknowledge_risks(plan, KIND, by=make_person("vera", Role.VIEWER))


def test_plan_that_was_replaced_takes_none(bob, plan):
    rows.add_plan(plan, [build("one")])

    with pytest.raises(NotPossibleError, match="superseded by plan 2"):
        acknowledgments.acknowledge_risks(plan, KIND, by=bob)


def test_only_objects_whose_risk_was_shown_are_acknowledged(bob, alice):
    plan = rows.make_plan(alice, [build("one"), build("two"), build("three")])

    assert acknowledgments.acknowledge_risks(plan, KIND, by=bob, positions=[0, 2]) == 2

    assert name_open(plan) == [(1, KIND)]


def test_many_objects_are_a_risk_of_the_plan_that_is_acknowledged_and_undone(bob, alice):
    make_policy(many_objects=2)
    calm = replace(HIGH_RISK, level=RiskLevel.INFO)
    plan = rows.make_plan(alice, [build(name, calm) for name in ("one", "two", "three")])
    here = acknowledgments.PLAN_ITSELF
    itself = [(here, MANY_OBJECTS)]

    assert name_open(plan) == itself
    assert "1 risk to acknowledge" in name_blockers(plan)
    acknowledgments.acknowledge_risks(plan, MANY_OBJECTS, by=bob, positions=[acknowledgments.PLAN_ITSELF])
    assert name_open(plan) == []
    entry = AuditEntry.objects.get(action=AuditAction.RISK_ACKNOWLEDGED)
    assert (entry.kind, entry.name, entry.detail["risk"]) == ("", "", "many-objects")

    acknowledgments.withdraw_acknowledgment(plan, MANY_OBJECTS, by=bob, position=here)
    assert name_open(plan) == itself


@pytest.mark.parametrize("kind", [DELETED, REPLACED, FORCED])
def test_deleting_replacing_and_forcing_are_acknowledged(alice, kind):
    plan = rows.make_plan(alice, [build("one", Risk(kind, RiskLevel.HIGH))])

    assert name_open(plan) == [(0, kind)]
    assert "1 risk to acknowledge" in name_blockers(plan)
