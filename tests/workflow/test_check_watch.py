"""The check of all effects asks the cluster in parallel, and ends soon after a person cancels the run."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.records.enums import RunState
from applyviz.workflow import runs
from applyviz.workflow.foundation.leases import LeaseRenewer, WorkerStoppingError
from applyviz.workflow.plans import calculation
from applyviz.workflow.runs import effect_check
from applyviz.workflow.runs.check_watch import CanceledError, CheckWatch
from tests.stories import config_map

PATIENCE = 60.0
NAMES = ("one", "two", "three", "four")
MAPS = "/api/v1/namespaces/default/configmaps"


def watch_run(*, is_canceled=False):
    claim = SimpleNamespace(is_canceled=lambda: is_canceled)
    return CheckWatch(claim, LeaseRenewer(lambda: True))


def count_pauses(run, nap=lambda seconds: None):
    """Carry a run out; return how many seconds its check paused; `nap` does what happens meanwhile."""
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        nap(seconds)

    runs.execute_run(run.pk, sleep=sleep)
    run.refresh_from_db()
    return sum(naps)


def test_answers_are_waited_for_together_and_returned_in_order():
    gate = threading.Barrier(3)

    def ask(name):
        gate.wait(PATIENCE)  # a single request would wait here for ever
        return name.upper()

    assert watch_run().map(ask, ["a", "b", "c"], width=3) == ["A", "B", "C"]


def test_cluster_that_answers_one_at_a_time_is_asked_in_the_same_thread():
    assert set(watch_run().map(lambda _: threading.get_ident(), NAMES, width=1)) == {threading.get_ident()}


def test_no_answer_is_waited_for_after_a_cancellation():
    answers, asked = threading.Event(), []

    def ask(name):
        asked.append(name)
        answers.wait(PATIENCE)

    try:
        with pytest.raises(CanceledError):
            watch_run(is_canceled=True).map(ask, NAMES, width=2)
        assert not answers.is_set()
    finally:
        answers.set()
    assert asked == ["one", "two"]


def test_pause_ends_with_a_cancellation():
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        time.sleep(seconds)

    with pytest.raises(CanceledError):
        watch_run(is_canceled=True).pause(PATIENCE, sleep)
    assert sum(naps) < 1


def test_query_in_a_calculation_is_not_left_halfway():
    done = []

    def calculate(renewer):
        with renewer.uninterrupted():
            renewer._end(WorkerStoppingError("this worker was asked to end"))
            done.append("asked")
            done.append("answered")
        done.append("went on")
        yield

    with LeaseRenewer(lambda: True) as renewer, pytest.raises(WorkerStoppingError):
        list(renewer.each(calculate(renewer)))
    assert done == ["asked", "answered"]


def test_calculation_that_ends_early_waits_for_no_answer():
    answers, asked = threading.Event(), SimpleNamespace(is_done=False, take_ready=list)
    asked.asks = lambda: iter([SimpleNamespace(key=n, request=Request("GET", f"{MAPS}/{n}")) for n in range(9)])

    def answer(request):
        answers.wait(PATIENCE)
        return Answer(200, {})

    def beat():
        raise CanceledError

    try:
        with pytest.raises(CanceledError):
            list(calculation._drive(asked, SimpleNamespace(parallel=2, try_send=answer), beat))
        assert not answers.is_set()
    finally:
        answers.set()


@pytest.mark.django_db
def test_unreadable_objects_are_paused_for_together(team):
    run = team.start(team.plan(*(config_map(name, a="1") for name in NAMES)))
    team.wire.unreadable.update(f"{MAPS}/{name}" for name in NAMES)

    assert count_pauses(run) == sum(effect_check._READING_PAUSES)
    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert team.outcomes(run) == ["failed"] * len(NAMES)


@pytest.mark.django_db
def test_run_that_is_canceled_while_objects_are_read_again_writes_nothing(team):
    run = team.start(team.plan(*(config_map(name, a="1") for name in NAMES)))
    team.wire.unreadable.add(f"{MAPS}/one")
    left = [lambda: runs.cancel_run(run, by=team.bob)]

    def nap(seconds):
        time.sleep(seconds)
        if left:
            left.pop()()

    assert count_pauses(run, nap) <= 1
    assert (run.state, team.wire.writes) == (RunState.CANCELED, [])
    assert team.outcomes(run) == ["not-attempted"] * len(NAMES)
