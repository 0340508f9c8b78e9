"""P1 once more: whichever right goes in whichever state, and whatever is sent again, nothing unapproved is written.

Threats B6 (replay of requests and messages), B7 (rights), B8 (target swap).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client

from applyviz.queue import TaskName
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, Approval, Cluster, OutboxMessage, Review
from applyviz.tasks import execute_run, make_plan
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.clusters.impersonation import MappingDraft
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.errors import WorkflowError
from tests.builders import grant_role, make_person, make_policy, take_roles
from tests.model.world import World, read_files_here
from tests.promises.conftest import Scene
from tests.stories import Killed, config_map, let_lease_run_out

pytestmark = [pytest.mark.promises, pytest.mark.django_db]


def _close(scene: Scene, name: str) -> None:
    person = scene.person(name)
    person.is_active = False
    person.save()


def _narrow(scene: Scene, name: str, role: Role) -> None:
    take_roles(scene.person(name))
    grant_role(scene.person(name), role, namespace="elsewhere")


def _map(scene: Scene) -> None:
    dana = make_person("dana", Role.ADMINISTRATOR)
    impersonation.map_identity(scene.cluster, MappingDraft("jane"), by=dana)


TAKEN: dict[str, Callable[[Scene], object]] = {
    "requester loses the role": lambda s: take_roles(s.person("alice")),
    "requester keeps it elsewhere": lambda s: _narrow(s, "alice", Role.AUTHOR),
    "requester's account is closed": lambda s: _close(s, "alice"),
    "approver loses the role": lambda s: take_roles(s.person("bob")),
    "approver keeps it elsewhere": lambda s: _narrow(s, "bob", Role.APPROVER),
    "approver's account is closed": lambda s: _close(s, "bob"),
    "starter loses the role": lambda s: take_roles(s.person("olga")),
    "starter's account is closed": lambda s: _close(s, "olga"),
    "requester is mapped to somebody": _map,
    "policy asks for more": lambda s: make_policy(approvals=2),
    "policy lets a team ask alone": lambda s: make_policy(asking_teams=("sre",)),
}
STATES = ("planned", "approved", "started", "taken up by a worker that died")


@pytest.mark.core(4)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("what", list(TAKEN))
def test_right_that_goes_in_any_state_keeps_everything_from_being_written(scene, what, state):
    make_person("olga", Role.OPERATOR)
    plan = scene.change()
    if state != "planned":
        approving.approve_plan(plan, by=scene.bob, digest=plan.digest)
    if state in STATES[2:]:
        run = runs.start_run(plan, by=scene.person("olga"), digest=plan.digest)
        if state == STATES[3]:
            failpoints.hooks.append(_die)
            with pytest.raises(Killed):
                scene.work(run)
            failpoints.hooks.clear()
            let_lease_run_out(run)
    TAKEN[what](scene)

    for act in (
        lambda: approving.approve_plan(plan, by=scene.person("bob"), digest=plan.digest),
        lambda: runs.start_run(plan, by=scene.person("olga"), digest=plan.digest),
    ):
        try:
            act()
        except WorkflowError:
            continue
    for found in ApplyRun.objects.all():
        scene.work(found)

    assert scene.writes == []


def _die(point: str) -> None:
    if point == "run.prepared":
        raise Killed


def test_target_swapped_in_the_row_of_the_cluster_gets_nothing(scene, monkeypatch):
    run = scene.start(scene.change())
    other = World()
    other.wire_up(monkeypatch)
    Cluster.objects.filter(pk=scene.cluster.pk).update(uid=other.uid, server="https://elsewhere.example")

    assert scene.work(run).state == "failed"
    assert [e for e in other.exchanges if e.is_write] == []
    assert scene.writes == []


@pytest.mark.parametrize("times", [4, pytest.param(50, marks=pytest.mark.long)])
def test_replayed_requests_and_messages_apply_once(scene, monkeypatch, times):
    """All requests and messages of a whole story, each sent again many times, in any order."""
    monkeypatch.setattr("applyviz.workflow.plans.intake.read_files", read_files_here)
    alice, bob = Client(), Client()
    alice.force_login(scene.alice)
    bob.force_login(scene.bob)
    opening = {"title": "x", "cluster": scene.cluster.slug, "namespace": "default", "mode": "server"}
    opening |= {"field_manager": "applyviz", "text": config_map("there", x="1")}
    requests: list[Callable[[], Any]] = [lambda: alice.post("/reviews/new/", opening)]
    assert requests[0]().status_code == 302
    plan = Review.objects.get().plans.get()
    make_plan(plan.pk)
    plan.refresh_from_db()
    base = f"/reviews/{plan.review.number}/plans/1"
    consent, start = {"digest": plan.digest, "then": "wait"}, {"digest": plan.digest}
    requests += [
        lambda: bob.post(f"{base}/confirm/", consent),
        lambda: bob.post(f"{base}/apply/", start),
        lambda: bob.post(f"{base}/confirm/", {**consent, "then": "apply"}),
        lambda: alice.post(f"{base}/apply/", start),
        lambda: alice.post(f"{base}/replan/", {}),
    ]
    assert [requests[1]().status_code, requests[2]().status_code] == [302, 302]
    messages = {(row.task, tuple(sorted(row.ids.items()))) for row in OutboxMessage.objects.all()}
    tasks = {TaskName.MAKE_PLAN: make_plan, TaskName.EXECUTE_RUN: execute_run}
    assert {task for task, _ in messages} == set(tasks)
    deeds: list[Callable[[], object]] = [
        *requests,
        *(partial(tasks[TaskName(task)], **dict(ids)) for task, ids in messages),
    ]
    again = deeds * times
    random.Random(6).shuffle(again)

    for deed in again:
        deed()

    assert scene.effective == 1
    run = ApplyRun.objects.get()
    assert (run.state, Approval.objects.get().run_id) == ("applied", run.pk)
    scene.judge(run)
