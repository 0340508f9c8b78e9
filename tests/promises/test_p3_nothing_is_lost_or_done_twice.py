"""P3: killing any process at any instant loses no confirmed run, doubles no write, and leaves nothing that hangs.

Threats B6 (every request and message replayed), H3 (redelivery), H5 (half done), H9 (plans that overlap). The kills
themselves, with real processes, are the lane `faults`.
"""

from __future__ import annotations

import random
from typing import Any

import celery
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz import queue, sealing_keys
from applyviz.queue import TaskName
from applyviz.records.models import ApplyRun, Approval, OutboxMessage, Plan
from applyviz.tasks import execute_run, make_plan
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.ops import recovery
from tests.promises.conftest import Scene
from tests.stories import Killed, config_map, let_lease_run_out

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
POINTS = (
    "run.claiming", "run.claimed", "run.prepared", "run.checked", "run.object", "run.intending", "run.intended",
    "run.answered", "run.recording", "run.recorded", "run.concluding", "run.telling", "run.concluded",
    "run.finishing", "run.ending", "run.ended",
)  # fmt: skip


def _kill_at(point: str, time: int) -> list[str]:
    reached: list[str] = []

    def hook(name: str) -> None:
        if name == point:
            reached.append(name)
            if len(reached) == time:
                raise Killed

    failpoints.hooks[:] = [hook]
    return reached


@pytest.mark.core(4)
@pytest.mark.parametrize("time", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_worker_killed_at_a_named_point_loses_and_repeats_nothing(scene: Scene, point, time):
    run = scene.start(scene.change())
    reached = _kill_at(point, time)
    try:
        runs.execute_run(run.pk, sleep=lambda seconds: None)
    except Killed:
        assert len(reached) == time
    failpoints.hooks.clear()
    let_lease_run_out(run)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.effective) == ("applied", 2)


def test_unfinished_runs_are_found_again_and_finished_ones_are_not(scene: Scene):
    run = scene.start(scene.change())
    _kill_at("run.intended", 1)
    with pytest.raises(Killed):
        runs.execute_run(run.pk)
    failpoints.hooks.clear()

    assert runs.find_unfinished(now=timezone.now()) == []
    let_lease_run_out(run)
    assert runs.find_unfinished(now=timezone.now()) == [run.pk]
    scene.work(run)
    assert runs.find_unfinished(now=timezone.now()) == []


@pytest.mark.long
def test_every_request_and_message_may_come_fifty_times(scene: Scene, monkeypatch, django_capture_on_commit_callbacks):
    messages: list[tuple[str, dict[str, int]]] = []
    for name in TaskName:
        monkeypatch.setattr(
            celery.current_app.tasks[name.value],
            "apply_async",
            lambda kwargs, retry, name=name: messages.append((name.value, kwargs)),
        )
    scene.give("there", x="1", w="1")
    with django_capture_on_commit_callbacks(execute=True):
        review = scene.review({"0.yaml": config_map("there", x="2", w="1"), "1.yaml": config_map("fresh", a="1")})
    make_plan(review.plans.get().pk)
    plan = review.plans.get()
    scene.world.exchanges.clear()
    browser = Client()
    browser.force_login(scene.bob)
    confirm = reverse("reviews:confirm-plan", args=[review.number, 1])
    requests: list[tuple[str, dict[str, str]]] = [
        (confirm, {"digest": plan.digest, "then": "wait"}),
        (confirm, {"digest": plan.digest, "then": "apply"}),
        (reverse("reviews:apply-plan", args=[review.number, 1]), {"digest": plan.digest}),
    ]
    with django_capture_on_commit_callbacks(execute=True):
        assert browser.post(*requests[1]).status_code == 302
    run = ApplyRun.objects.get()

    tasks = {TaskName.MAKE_PLAN.value: make_plan, TaskName.EXECUTE_RUN.value: execute_run}
    replayed: list[Any] = [
        *(("request", r) for r in requests),
        *(("message", m) for m in dict.fromkeys(map(str, messages))),
    ]
    known = {str(message): message for message in messages}
    header_line = replayed * 50
    random.Random(20).shuffle(header_line)
    for kind, what in header_line:
        if kind == "request":
            assert browser.post(*what).status_code in (302, 403, 409)
        else:
            name, ids = known[what]
            tasks[name](**ids)

    assert (ApplyRun.objects.count(), Approval.objects.count(), Plan.objects.count()) == (1, 1, 1)
    (told,) = scene.judge(run)
    assert (told.state, len(scene.writes), scene.effective) == ("applied", 2, 2)


@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.long)])
def test_overlapping_plans_end_as_one_after_the_other_would(scene: Scene, count):
    scene.give("there", x="0", w="1")
    plans = [scene.plan(config_map("there", x=str(n % 5), w="1")) for n in range(1, count + 1)]
    started = [scene.start(plan) for plan in plans if plan.changes.filter(has_effect=True).exists()]
    scene.world.exchanges.clear()
    asked = started * 12
    random.Random(9).shuffle(asked)
    for run in asked:
        scene.work(run)

    scene.judge(*started)
    assert [run.state for run in started].count("applied") == 1
    assert {run.state for run in started} == {"applied", "stale"}
    assert scene.effective == 1


@pytest.mark.core(2)
@pytest.mark.parametrize("point", ["run.claimed", "run.checked", "run.object", "run.concluded"])
def test_plans_that_share_two_objects_are_never_each_half_done(scene: Scene, settings, point):
    """While the first is on its way, the second is asked for, and its worker dies after one object."""
    settings.APPLYVIZ_RUN_PARALLEL = 1
    for name in ("one", "two"):
        scene.give(name, x="0")
    first = scene.plan(config_map("one", x="a"), config_map("two", x="a"))
    second = scene.plan(config_map("two", x="b"), config_map("one", x="b"))
    runs_of = [scene.start(plan) for plan in (first, second)]
    scene.world.exchanges.clear()

    def meanwhile(name: str) -> None:
        if name != point:
            return
        _kill_at("run.concluded", 1)
        try:
            runs.execute_run(runs_of[1].pk, sleep=lambda seconds: None)
        except Killed:
            let_lease_run_out(runs_of[1])
        failpoints.hooks.clear()

    failpoints.hooks[:] = [meanwhile]
    for run in (*runs_of, *runs_of):
        scene.work(run)

    scene.judge(*runs_of)
    live = {scene.world.find(f"/api/v1/namespaces/default/configmaps/{name}")["data"]["x"] for name in ("one", "two")}
    assert (len(live), [run.state for run in runs_of]) == (1, ["applied", "stale"])


def test_run_that_waits_for_another_is_asked_for_when_that_ends(scene: Scene, monkeypatch):
    plans = [scene.plan(config_map("there", x=str(n))) for n in (1, 2)]
    first, second = (scene.start(plan) for plan in plans)
    scene.work(second)
    assert (second.state, second.epoch) == ("queued", 0)
    OutboxMessage.objects.all().delete()

    scene.work(first)

    assert [message.ids for message in OutboxMessage.objects.all()] == [{"run_id": second.pk}]


def test_run_that_waits_for_another_can_be_canceled(scene: Scene):
    plans = [scene.plan(config_map("there", x=str(n))) for n in (1, 2)]
    _, second = (scene.start(plan) for plan in plans)
    runs.cancel_run(second, by=scene.bob)

    assert (scene.work(second).state, scene.writes) == ("canceled", [])


@pytest.mark.core(2)
@pytest.mark.parametrize("keys", ["none that fits", "rotated"])
@pytest.mark.parametrize("point", ["", "run.intended", "run.answered"])
def test_keys_that_are_exchanged_meanwhile(scene: Scene, settings, keys, point):
    """Without the key of what was sealed nothing is sent; a rotation keeps what is on its way working."""
    run = scene.start(scene.change())
    if point:
        _kill_at(point, 1)
        with pytest.raises(Killed):
            runs.execute_run(run.pk)
        failpoints.hooks.clear()
        let_lease_run_out(run)
    before, old = len(scene.writes), list(settings.APPLYVIZ_OPENING_KEYS)
    new = sealing_keys.make_opening_key()
    settings.APPLYVIZ_OPENING_KEYS = [new] if keys == "none that fits" else [new, *old]
    scene.work(run)
    settings.APPLYVIZ_OPENING_KEYS = [new, *old]

    (told,) = scene.judge(run)
    assert told.state == ("failed" if keys == "none that fits" else "applied")
    assert (len(scene.writes) == before) == (keys == "none that fits")


@pytest.mark.core(2)
@pytest.mark.parametrize(
    "part", ["notifications.send_pending", "anchors.anchor_pending", "checkpoints.publish_due", "outbox.resend"]
)
def test_sweep_of_which_a_part_breaks_still_finds_runs(scene: Scene, monkeypatch, part):
    """What somebody stored may break one part each time, and a full disk another: no run waits for their mend."""
    run = scene.start(scene.change())
    _kill_at("run.claimed", 1)
    with pytest.raises(Killed):
        scene.work(run)
    failpoints.hooks.clear()
    let_lease_run_out(run)
    asked: list[dict[str, int]] = []
    monkeypatch.setattr(queue, "send", lambda name, **ids: asked.append(ids) or True)

    def breaks(**_: object) -> None:
        raise RuntimeError("poison")

    monkeypatch.setattr(f"applyviz.workflow.ops.recovery.{part}", breaks)
    recovery.recover()

    assert {"run_id": run.pk} in asked
