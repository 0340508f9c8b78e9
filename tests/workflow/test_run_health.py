"""The live objects of a run, read while a person looks: states, pods that are not ready, events, what is withheld."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.readiness.status import State
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs, worker_requests
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import run_health
from applyviz.workflow.live.run_health import LivePod
from tests.builders import make_person
from tests.memory import start
from tests.stories import config_map, secret
from tests.workloads import BEHIND, READY, WAITING, answer_lists, become, deployment, slow_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow(memory, monkeypatch):
    return slow_team(memory, monkeypatch)


def event(kind, name, reason, message, at="2026-11-20T09:00:00Z", **more):
    about = {"kind": kind, "name": name}
    return {
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Normal",
        "lastTimestamp": at,
        **more,
    }


def pod(name="web-1", *, is_ready=False, spec=None, statuses=(WAITING,), phase="Pending"):
    conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
    status = {"conditions": conditions, "containerStatuses": list(statuses), "phase": phase}
    return {"metadata": {"name": name}, "spec": spec or {}, "status": status}


def look(run: ApplyRun, person) -> run_health.RunHealth:
    return worker_requests.read_run_health(runs.get_run(run.number, for_user=person), by=person)


def test_objects_pods_and_events_are_read_live(slow, memory, monkeypatch):
    run = slow.work(start(slow, deployment(), config_map()))
    become(memory, "web", **{**BEHIND, "replicas": 2, "readyReplicas": 1})
    crash = {
        "name": "web",
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {"terminated": {"reason": "OOMKilled"}},
    }
    events = [
        event("Deployment", "web", "ScalingReplicaSet", "Scaled up", at="2026-11-20T09:00:00Z"),
        event("Pod", "web-2", "BackOff", "Back-off restarting", at="2026-11-20T09:05:00Z", type="Warning", count=7),
        event("ReplicaSet", "web-6d4cf56db6", "SuccessfulCreate", "Created pod", at="2026-11-20T09:01:00Z"),
        event("ReplicaSet", "web-api-6d4cf56db6", "SuccessfulCreate", "Created pod"),
        event("Pod", "other-1", "BackOff", "Not of this object"),
    ]
    pods = [pod("web-1", is_ready=True, statuses=()), pod("web-2", statuses=[crash], phase="Running")]
    answer_lists(memory, monkeypatch, pods, events)

    found = look(run, slow.bob)

    web, settings = found.objects
    assert (web.state, web.ready, web.not_ready) == (State.IN_PROGRESS, 1, 1)
    assert web.pods == (LivePod("web-2", "Running", 3, "CrashLoopBackOff", "web", "back-off 40s", "OOMKilled"),)
    assert [(one.reason, one.about, one.is_warning, one.count) for one in web.events] == [
        ("BackOff", "Pod/web-2", True, 7),
        ("SuccessfulCreate", "ReplicaSet/web-6d4cf56db6", False, 1),
        ("ScalingReplicaSet", "Deployment/web", False, 1),
    ]
    assert (settings.state, settings.pods, settings.events) == (State.CURRENT, (), ())


@pytest.mark.long
def test_what_is_ready_later_is_ready_at_the_next_look(slow, memory, monkeypatch):
    run = slow.work(start(slow, deployment()))
    answer_lists(memory, monkeypatch, [], [])
    assert look(run, slow.bob).objects[0].state is State.IN_PROGRESS

    become(memory, "web", **READY)

    assert look(run, slow.bob).objects[0].state is State.CURRENT


@pytest.mark.core(1)
def test_words_that_may_repeat_a_secret_are_withheld(slow, memory, monkeypatch):
    reading = yaml.safe_load(deployment("reads"))
    reading["spec"]["template"]["spec"]["volumes"] = [{"name": "keys", "secret": {"secretName": "keys"}}]
    run = slow.work(start(slow, deployment("web"), yaml.safe_dump(reading)))
    volumes = {"volumes": [{"name": "keys", "secret": {"secretName": "keys"}}]}
    events = [
        event(kind, name, "Failed", "it is hunter2") for kind, name in (("Pod", "web-1"), ("Deployment", "reads"))
    ]
    answer_lists(memory, monkeypatch, [pod(spec=volumes)], events)

    found = look(run, slow.bob)

    assert {pod.message for one in found.objects for pod in one.pods} == {""}
    assert {(one.reason, one.message) for health in found.objects for one in health.events} == {("Failed", "")}


def test_secrets_are_never_read(slow, memory, monkeypatch):
    run = slow.work(start(slow, secret(password="hunter2"), config_map()))
    asked = []
    plain = memory.send
    monkeypatch.setattr(memory, "send", lambda request: asked.append(request.path) or plain(request))

    found = look(run, slow.bob)

    assert len(found.objects) == 1
    assert [path for path in asked if "/secrets" in path] == []


@pytest.mark.long
def test_what_may_not_be_read_is_named(slow, memory, monkeypatch):
    run = slow.work(start(slow, deployment()))
    answer_lists(memory, monkeypatch, [], [], status=403)

    (web,) = look(run, slow.bob).objects

    assert (web.state, web.unread) == (State.IN_PROGRESS, {"pods": 403, "events": 403})


@pytest.mark.long
def test_a_deleted_object_is_unknown_and_a_hidden_one_is_unread(slow, memory, monkeypatch):
    run = slow.work(start(slow, config_map("a", x="1"), config_map("b", x="1")))
    plain = memory.send

    def send(request):
        if request.path.endswith("/a"):
            return Answer(404, {"kind": "Status", "reason": "NotFound"})
        return Answer(403, {"kind": "Status"}) if request.path.endswith("/b") else plain(request)

    monkeypatch.setattr(memory, "send", send)

    first, second = look(run, slow.bob).objects
    assert (first.state, first.message, first.unread) == (State.UNKNOWN, "not found", {})
    assert (second.state, second.unread) == (State.UNKNOWN, {"object": 403})


@pytest.mark.long
def test_a_status_of_an_unexpected_form_makes_one_object_unknown(slow, memory, monkeypatch):
    run = slow.work(start(slow, config_map("a", x="1"), config_map("b", x="1")))
    plain = memory.send

    def send(request):
        answer = plain(request)
        odd = {"apiVersion": "odd/v1", "kind": "Odd", "status": {"conditions": 5}}
        return Answer(200, {**answer.body, **odd}) if request.path.endswith("/a") else answer

    monkeypatch.setattr(memory, "send", send)

    assert [one.state for one in look(run, slow.bob).objects] == [State.UNKNOWN, State.CURRENT]


@pytest.mark.long
def test_no_more_objects_and_pods_are_read_than_allowed(slow, memory, monkeypatch):
    run = slow.work(start(slow, config_map("a", x="1"), config_map("b", x="1"), deployment()))
    monkeypatch.setattr(run_health, "MOST_OBJECTS", 2)
    answer_lists(memory, monkeypatch, [pod(f"web-{n}") for n in range(25)], [])

    found = look(run, slow.bob)

    web, _first = found.objects
    assert (found.left, len(web.pods), web.not_ready) == (1, 20, 25)


@pytest.mark.long
def test_a_cluster_that_does_not_answer_or_is_another_one_is_a_problem(slow, memory, monkeypatch):
    run = slow.work(start(slow, config_map()))
    plain = memory.send

    def lead_elsewhere(request):
        answer = plain(request)
        is_named = request.path.endswith("/kube-system")
        return Answer(200, {**answer.body, "metadata": {"uid": "another"}}) if is_named else answer

    monkeypatch.setattr(memory, "send", lead_elsewhere)
    assert "is now a different cluster" in look(run, slow.bob).problem

    def fail(request):
        raise UnreachableError("The server did not answer.", 0)

    monkeypatch.setattr(memory, "send", fail)
    assert look(run, slow.bob).objects == ()
    assert look(run, slow.bob).problem


def test_only_who_may_see_the_run_may_look(slow, memory):
    run = slow.work(start(slow, config_map()))
    outsider = make_person("mallory")

    with pytest.raises(NotVisibleError):
        worker_requests.read_run_health(run, by=outsider)
    assert look(run, slow.alice).objects[0].state is State.CURRENT
