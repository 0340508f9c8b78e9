"""P4 where a cluster answers badly for a moment: nothing is told of an object that nobody knows.

An object that could not be read did not move, a deletion that was taken did not fail, and what a gateway says is not
what the server says. Threats H5 and H7.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.plans import calculation
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.runs import objects
from applyviz.workflow.runs.lease import Claim
from tests.model.world import MAPS
from tests.promises.conftest import Scene
from tests.stories import Killed, config_map, let_lease_run_out

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
UNAVAILABLE = Answer(503, {"kind": "Status", "code": 503, "reason": "ServiceUnavailable", "message": "not now"})
GATEWAY = Answer(404, {"kind": "Status", "code": 404, "message": "the server answered 404 without a Status"})
ALL_MAPS = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)


def _answer_reads(scene: Scene, monkeypatch, answer: Answer, *, when: Callable[[Request], bool], times: int) -> None:
    """Reads of one object are answered so, a number of times."""
    send, left = scene.world.send, [answer] * times

    def answered(request: Request) -> Any:
        if request.method == "GET" and left and when(request):
            return left.pop()
        return send(request)

    monkeypatch.setattr(scene.world, "send", answered)


def _is_there(request: Request) -> bool:
    return request.path == f"{MAPS}/there"


def _kill_at(point: str) -> None:
    def hook(name: str) -> None:
        if name == point:
            failpoints.hooks.clear()
            raise Killed

    failpoints.hooks[:] = [hook]


def _start_pruning(scene: Scene, *, is_held: bool = False) -> ApplyRun:
    """A run that deletes an object which was applied before, and which a finalizer may hold."""
    scene.apply(config_map("there", x="1"), mode=ApplyMode.CLIENT)
    if is_held:
        scene.world.edit("there", {"metadata": {"finalizers": ["example.org/hold"]}})
    scene.world.exchanges.clear()
    plan = scene.plan(config_map("kept", a="1"), mode=ApplyMode.CLIENT, prune=ALL_MAPS)
    scene.world.exchanges.clear()
    return scene.start(plan)


def _die_at(scene: Scene, run: ApplyRun, point: str) -> None:
    _kill_at(point)
    with pytest.raises(Killed):
        scene.work(run)
    let_lease_run_out(run)


def test_object_that_cannot_be_read_did_not_move(scene: Scene, monkeypatch):
    run = scene.start(scene.change())
    _answer_reads(scene, monkeypatch, UNAVAILABLE, when=_is_there, times=1_000)
    scene.work(run)

    (told,) = scene.judge(run)
    outcomes = {item.key[3]: (item.outcome, item.differences) for item in told.items}
    assert (told.state, scene.writes) == ("failed", [])
    assert outcomes == {"there": ("failed", []), "fresh": ("not-attempted", [])}
    assert "could not be read" in told.error


def test_object_that_cannot_be_read_for_a_moment_holds_nobody_up(scene: Scene, monkeypatch):
    run = scene.start(scene.change())
    _answer_reads(scene, monkeypatch, UNAVAILABLE, when=_is_there, times=2)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.effective) == ("applied", 2)


def test_gateway_that_finds_nothing_does_not_make_an_object_absent(scene: Scene, monkeypatch):
    """The write is carried out and its answer lost; what then is asked of live ends at a gateway."""
    run = scene.start(scene.change(config_map("fresh", a="1")))
    scene.world.fault = lambda request, number: "lose answer" if number == 1 else ""
    is_sent = lambda request: bool(scene.writes) and request.path == f"{MAPS}/fresh"  # noqa: E731 - a condition
    _answer_reads(scene, monkeypatch, GATEWAY, when=is_sent, times=2)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome, len(scene.writes)) == ("applied", 1)


@pytest.mark.parametrize("times", [1, 100_000])
def test_deletion_that_was_taken_is_no_failure_when_nobody_can_look(scene: Scene, monkeypatch, times):
    run = _start_pruning(scene)
    monkeypatch.setattr(objects, "read_patience", lambda run: 60.0 if times == 1 else 0.05)
    is_deleted = lambda request: any(w.startswith("DELETE") for w in scene.writes) and _is_there(request)  # noqa: E731
    _answer_reads(scene, monkeypatch, UNAVAILABLE, when=is_deleted, times=times)
    scene.work(run)

    (told,) = scene.judge(run)
    outcome = next(item for item in told.items if item.key[3] == "there")
    assert outcome.outcome == ("deleted" if times == 1 else "unknown")


def test_next_worker_waits_until_a_deleted_object_is_gone(scene: Scene):
    """The first was lost while a finalizer held the object; the next one does not say that it is still there."""
    run = _start_pruning(scene, is_held=True)
    _die_at(scene, run, "run.recording")
    looked: list[Request] = []
    send = scene.world.send

    def let_go(request: Request) -> Answer:
        if request.method == "GET" and _is_there(request):
            looked.append(request)
            if len(looked) == 4:
                scene.world.act(Request("PATCH", request.path, {}, MERGE_PATCH, {"metadata": {"finalizers": None}}))
        return send(request)

    scene.world.send = let_go  # type: ignore[method-assign]
    scene.work(run)

    (told,) = scene.judge(run)
    outcome = next(item for item in told.items if item.key[3] == "there")
    assert (outcome.outcome, outcome.detail) == ("deleted", "it is gone")


def test_what_the_plan_does_not_touch_is_no_broken_promise(scene: Scene):
    """Somebody adds a field of their own between review and run: what was approved is what came of it."""
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    scene.world.edit("there", {"data": {"other": "theirs"}})
    scene.work(run)

    (told,) = scene.judge(run)
    assert [(item.outcome, item.detail) for item in told.items] == [("applied", "")]


@pytest.mark.parametrize("point", ["run.answered", "run.intended"])
def test_what_others_changed_beside_the_plan_is_no_broken_promise_of_a_lost_worker(scene: Scene, point):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    scene.world.edit("there", {"data": {"other": "theirs"}})
    _die_at(scene, run, point)
    scene.work(run)

    (told,) = scene.judge(run)
    assert [(item.outcome, item.detail) for item in told.items] == [("applied", "")]


def test_slow_cluster_does_not_cost_the_lease_while_effects_are_compared(scene: Scene, monkeypatch, settings):
    settings.APPLYVIZ_LEASE_SECONDS = 1
    monkeypatch.setattr(calculation, "_BEAT", 0.05)
    run = scene.start(scene.change())
    kept: list[str] = []
    keep, send = Claim.keep, scene.world.send
    monkeypatch.setattr(Claim, "keep", lambda claim: (kept.append("kept"), keep(claim))[1])

    def slowly(request: Request) -> Answer:
        if request.method == "GET" and _is_there(request):
            time.sleep(0.9)
        return send(request)

    monkeypatch.setattr(scene.world, "send", slowly)
    failpoints.hooks[:] = [lambda name: kept.append(name)]
    scene.work(run)

    assert kept[kept.index("run.prepared") :][1:3] == ["kept", "kept"]
    assert (run.state, run.epoch) == ("applied", 1)


def test_answer_that_breaks_off_is_an_answer_of_nobody(scene: Scene, monkeypatch):
    """A dry run that was answered with a success and no body does not confirm a plan."""
    send = scene.world.send

    def cut(request: Request) -> Answer:
        if request.is_dry_run:
            raise UnreachableError("the server answered 201 with nothing", 201)
        return send(request)

    monkeypatch.setattr(scene.world, "send", cut)
    (row,) = scene.change(config_map("fresh", a="1")).changes.all()

    after = read_masked(row).versions.after
    assert after is not None
    assert (row.certainty, after["metadata"]["name"]) == ("estimated", "fresh")


def test_two_workers_in_a_row_tell_what_the_first_was_answered(scene: Scene):
    run = scene.start(scene.change())
    _die_at(scene, run, "run.recorded")
    runs.execute_run(run.pk, sleep=lambda seconds: None)

    (told,) = scene.judge(run)
    assert (told.state, told.epoch, scene.effective) == ("applied", 2, 2)


def _cancel(scene: Scene, run: ApplyRun) -> None:
    runs.cancel_run(run, by=scene.bob)


def _dismiss(scene: Scene, run: ApplyRun) -> None:
    User.objects.filter(pk=scene.bob.pk).update(is_active=False)


@pytest.mark.core(2)
@pytest.mark.parametrize(("stop", "state"), [(_cancel, "canceled"), (_dismiss, "failed")])
@pytest.mark.parametrize(("point", "outcome"), [("run.intended", "failed"), ("run.answered", "applied")])
def test_run_that_may_not_go_on_still_finds_out_what_a_lost_worker_did(scene: Scene, stop, state, point, outcome):
    """What was sent is looked for by reading, and not called unknown because nothing more may be sent."""
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    _die_at(scene, run, point)
    sent = list(scene.writes)
    stop(scene, run)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome, scene.writes) == (outcome, sent)
    assert told.state == ("applied" if outcome == "applied" else state)


def test_run_that_may_not_go_on_and_cannot_look_says_that_nobody_knows(scene: Scene, monkeypatch):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    _die_at(scene, run, "run.answered")
    _cancel(scene, run)
    _answer_reads(scene, monkeypatch, UNAVAILABLE, when=lambda request: True, times=100_000)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, told.items[0].outcome) == ("canceled", "unknown")


@pytest.mark.parametrize("is_back", [True, False])
def test_check_that_was_told_is_not_made_again_by_the_next_worker(scene: Scene, is_back):
    """The worker that found an object moved is lost before the run ends; meanwhile the object may be as it was."""
    run = scene.start(scene.change())
    scene.world.edit("there", {"data": {"x": "by hand"}})
    _die_at(scene, run, "run.finishing")
    if is_back:
        scene.give("there", x="1", w="1")
    scene.work(run)

    (told,) = scene.judge(run)
    outcomes = {item.key[3]: item.outcome for item in told.items}
    assert (told.state, outcomes, scene.writes) == ("stale", {"there": "stale", "fresh": "not-attempted"}, [])
