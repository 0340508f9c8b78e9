"""A lease is renewed beside a calculation; what must not go on ends where it calculates, and nowhere else."""

from __future__ import annotations

import time

import pytest

from applyviz import stopping
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import JournalEntry, Plan
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints, leases
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, TooLongError, WorkerStoppingError
from applyviz.workflow.plans import planner
from applyviz.workflow.runs.lease import claim_run
from tests.stories import Team, config_map

PATIENCE = 60.0


def compute_until(ends=lambda: False):
    """Calculate as a rule does that takes too long: no waiting, no request, no look at anything."""
    deadline = time.monotonic() + PATIENCE
    while not ends():
        assert time.monotonic() < deadline, "nobody interrupted it"


@pytest.fixture
def asked_to_stop():
    stopping.request()
    yield
    stopping.clear()


def test_lease_is_renewed_while_one_object_is_calculated(settings):
    settings.APPLYVIZ_LEASE_SECONDS = 1
    kept = []

    with LeaseRenewer(lambda: kept.append(time.monotonic())) as renewer, renewer.interruptible():
        compute_until(lambda: len(kept) >= 2)

    assert len(kept) >= 2


@pytest.mark.core(1)
@pytest.mark.parametrize("answer", [False, LeaseLostError("it is lost")])
def test_calculation_ends_when_the_lease_is_lost(settings, answer):
    settings.APPLYVIZ_LEASE_SECONDS = 1

    def keep():
        if isinstance(answer, Exception):
            raise answer
        return answer

    with LeaseRenewer(keep) as renewer, pytest.raises(LeaseLostError), renewer.interruptible():
        compute_until()


def test_calculation_ends_when_the_worker_must(asked_to_stop):
    with LeaseRenewer(lambda: True) as renewer, pytest.raises(WorkerStoppingError), renewer.interruptible():
        compute_until()


def test_calculation_of_one_object_has_an_end(monkeypatch):
    monkeypatch.setattr(leases, "MOST_SECONDS", 0.5)

    with (
        LeaseRenewer(lambda: True) as renewer,
        pytest.raises(TooLongError, match="one object takes more than"),
        renewer.interruptible(),
    ):
        compute_until()


def test_what_writes_is_never_interrupted(settings, asked_to_stop):
    with LeaseRenewer(lambda: True) as renewer:
        compute_until(lambda: renewer._ended is not None)
        deadline = time.monotonic() + 0.1
        compute_until(lambda: time.monotonic() > deadline)

        with pytest.raises(WorkerStoppingError):
            renewer.check()


def test_each_gives_what_there_is_and_ends_between():
    with LeaseRenewer(lambda: True) as renewer:
        assert list(renewer.each(iter([1, None, 3]))) == [1, None, 3]


@pytest.mark.django_db
def test_plan_of_a_worker_that_must_end_is_made_by_the_next_one(monkeypatch):
    team = Team()
    plan = team.review({"a.yaml": config_map(a="1")}).plans.get()

    def mask_for_ever(*_given, **_named):
        stopping.request()
        compute_until()

    with monkeypatch.context() as patched:
        patched.setattr(planner, "mask_change", mask_for_ever)
        try:
            planner.make_plan(plan.pk)
        finally:
            stopping.clear()
    plan.refresh_from_db()
    assert (plan.state, plan.epoch, planner.find_unfinished()) == (PlanState.PLANNING, 0, [plan.pk])

    planner.make_plan(plan.pk)

    assert Plan.objects.get(pk=plan.pk).state == PlanState.COMPLETE


@pytest.mark.long
@pytest.mark.django_db
def test_plan_that_takes_too_long_fails_with_a_reason(monkeypatch):
    team = Team()
    plan = team.review({"a.yaml": config_map(a="1")}).plans.get()
    monkeypatch.setattr(leases, "MOST_SECONDS", 0.5)
    monkeypatch.setattr(planner, "mask_change", lambda *_given, **_named: compute_until())

    planner.make_plan(plan.pk)

    plan.refresh_from_db()
    assert plan.state == PlanState.FAILED
    assert "seconds of computing" in plan.error


@pytest.mark.django_db
def test_run_of_a_worker_that_must_end_is_finished_by_the_next_one(monkeypatch):
    team = Team()
    run = team.start(team.plan(*(config_map(name, a="1") for name in ("one", "two", "three"))))
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", lambda name: stopping.request() if name == "run.checked" else None)
        try:
            runs.execute_run(run.pk)
        finally:
            stopping.clear()
    run.refresh_from_db()
    assert run.state == RunState.APPLYING
    assert not JournalEntry.objects.exists()

    runs.execute_run(run.pk)

    run.refresh_from_db()
    assert run.state == RunState.APPLIED
    assert [result.journal.count() for result in run.results.all()] == [1, 1, 1]


@pytest.mark.django_db
def test_worker_that_must_stop_claims_nothing(asked_to_stop):
    team = Team()
    plan = team.review({"a.yaml": config_map(a="1")}).plans.get()

    planner.make_plan(plan.pk)

    plan.refresh_from_db()
    assert (plan.state, plan.epoch) == (PlanState.PLANNING, 0)


def test_work_that_waits_too_long_for_a_server_is_handed_over(monkeypatch, asked_to_stop):
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.5)
    released = []

    with LeaseRenewer(lambda: True, release=lambda: released.append(stopping.is_overdue())):
        deadline = time.monotonic() + PATIENCE
        while not released:
            assert time.monotonic() < deadline, "nobody released it"
            time.sleep(0.02)

    assert released == [True]


@pytest.mark.django_db
def test_run_that_was_handed_over_is_kept_no_more(monkeypatch):
    team = Team()
    run = team.start(team.plan(config_map(a="1")))
    claim = claim_run(run.pk)
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.0)
    stopping.request()
    try:
        with pytest.raises(WorkerStoppingError):
            claim.keep()
    finally:
        stopping.clear()
