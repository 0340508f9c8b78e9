"""Do the plan families notice what they are there to notice? Each test plants one mistake in every plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from applyviz.conformance import plans
from applyviz.conformance.cases import CaseResult
from applyviz.conformance.recorded import RecordedCluster
from applyviz.conformance.report import Report, render_report
from applyviz.conformance.stories import load_story
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.sets.planner import SetPlanner
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.sandbox.api.estimates import EstimatingServer

DATA = Path(__file__).parent / "data" / "recorded"
ESTIMATED = "plan-estimated"
WRITTEN = (Operation.CREATE, Operation.UPDATE)


def judge(name: str, family: str = ESTIMATED) -> list[CaseResult]:
    return list(plans.judge_story(load_story(DATA / f"{name}.json.gz"), family))


def find_wrong(name: str, family: str = ESTIMATED) -> set[str]:
    """The beginnings of the reasons of what disagrees."""
    return {case.reason.partition(":")[0] for case in judge(name, family) if not case.agrees}


@pytest.fixture
def plant(monkeypatch):
    """Change every plan before it is compared."""

    def _plant(mutate):
        check = plans._check
        monkeypatch.setattr(plans, "_check", lambda change, *rest: check(mutate(change), *rest))

    return _plant


def with_after(change, after):
    return replace(change, versions=replace(change.versions, after=after))


@pytest.mark.parametrize("family", [plans.CONFIRMED, ESTIMATED])
def test_plans_that_are_right_agree(family):
    assert find_wrong("owners-sharing", family) == set()
    assert find_wrong("immutable-selector", family) == set()


def test_value_that_does_not_come_is_noticed(plant):
    plant(lambda c: with_after(c, {**c.versions.after, "more": 1}) if c.operation in WRITTEN else c)

    assert find_wrong("apply-lifecycle") == {"after"}


def test_value_that_is_not_told_is_noticed(plant):
    def forget(change):
        after = change.versions.after or {}
        return with_after(change, {k: v for k, v in after.items() if k != "spec"}) if "spec" in after else change

    plant(forget)

    assert find_wrong("apply-lifecycle") == {"after"}


@pytest.mark.parametrize("wrong", [FieldOperation.UNCHANGED, FieldOperation.KEPT, FieldOperation.CLEARED])
def test_change_of_a_field_that_is_told_wrongly_is_noticed(plant, wrong):
    def mistell(change):
        told = tuple(replace(f, operation=wrong) if f.operation is FieldOperation.CHANGED else f for f in change.fields)
        return replace(change, fields=told)

    plant(mistell)

    assert find_wrong("apply-lifecycle") == {"fields"}


def test_field_that_is_said_to_change_and_stays_is_noticed(plant):
    def exaggerate(change):
        changed = FieldOperation.CHANGED
        told = tuple(replace(f, operation=changed) if f.operation is FieldOperation.KEPT else f for f in change.fields)
        return replace(change, fields=told)

    plant(exaggerate)

    assert find_wrong("owners-sharing") == {"fields"}


def test_default_that_is_told_as_set_is_no_false_change_but_a_default_of_the_manifest_is(plant):
    def call_it_a_default(change):
        default = FieldOperation.DEFAULTED
        told = tuple(replace(f, operation=default) if f.operation is FieldOperation.SET else f for f in change.fields)
        return replace(change, fields=told)

    plant(call_it_a_default)

    assert find_wrong("apply-lifecycle") == {"fields"}


def test_field_owner_that_is_told_wrongly_is_noticed(plant):
    def rename(change):
        after = change.versions.after
        if change.operation not in WRITTEN or not after["metadata"].get("managedFields"):
            return change
        entries = [{**e, "manager": "nobody"} for e in after["metadata"]["managedFields"]]
        return with_after(change, {**after, "metadata": {**after["metadata"], "managedFields": entries}})

    plant(rename)

    assert find_wrong("owners-sharing") == {"owners"}


def test_conflict_that_is_not_told_is_noticed(plant):
    plant(lambda change: replace(change, conflicts=()))

    assert find_wrong("ssa-managers-conflict-share") == {"other conflicts"}


def test_conflict_that_nobody_has_is_noticed(plant):
    more = Conflict("somebody", "Apply", "", "", ("f:data",), "")
    plant(lambda change: replace(change, conflicts=(*change.conflicts, more)))

    assert find_wrong("ssa-managers-conflict-share") == {"other conflicts"}


def test_refusal_that_is_not_told_is_noticed(plant):
    plant(lambda c: replace(c, operation=Operation.UPDATE) if c.operation is Operation.ERROR else c)

    assert find_wrong("immutable-selector") == {"operation"}


def test_restart_that_is_not_told_is_noticed(plant):
    plant(lambda change: replace(change, risks=()))

    assert find_wrong("apply-lifecycle") == {"pods restart"}


def test_restart_that_does_not_come_is_noticed(plant):
    restart = Risk(PODS_RESTART, RiskLevel.MEDIUM)
    plant(lambda change: replace(change, risks=(restart,)))

    assert find_wrong("owners-sharing") == {"pods restart"}


def test_plan_without_an_object_is_noticed(monkeypatch):
    plan = SetPlanner.plan
    monkeypatch.setattr(SetPlanner, "plan", lambda self: replace(plan(self), changes=()))

    assert find_wrong("apply-lifecycle") == {"the plan does not speak of it"}


def test_plan_that_sends_something_else_is_noticed(monkeypatch):
    monkeypatch.setattr(plans, "_is_same_write", lambda request, exchange: False)

    assert find_wrong("apply-lifecycle", plans.CONFIRMED) == {"the plan would send what kubectl did not"}
    assert find_wrong("apply-lifecycle", ESTIMATED) == set()


def test_estimate_without_defaults_is_noticed(monkeypatch):
    monkeypatch.setattr(EstimatingServer, "answer", lambda self, *args, **options: None)

    assert "after" in find_wrong("apply-lifecycle")


def test_state_before_that_is_unknown_is_noticed(monkeypatch):
    monkeypatch.setattr(RecordedCluster, "follow_until", lambda self, moment: None)
    monkeypatch.setattr(RecordedCluster, "_look_ahead", lambda self, key: None)

    assert find_wrong("apply-lifecycle") == {"after"}


@pytest.mark.parametrize(("caveats", "agrees"), [(5, True), (6, False)])
def test_too_many_caveats_disagree(caveats, agrees):
    report = Report()
    report.add(CaseResult(ESTIMATED, "x", True, fields=100, caveats=caveats))

    assert report.agrees is agrees
    assert render_report(report).endswith("more than 5 % disagree") is not agrees
    assert report.as_data()["families"][ESTIMATED]["caveats"] == caveats
