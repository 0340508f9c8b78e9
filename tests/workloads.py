"""A cluster whose controllers are the test: Deployments become ready, fail or stay behind when it says so."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.workflow import runs
from tests.memory import Memory, named, wire_up
from tests.stories import Team

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments/"


def deployment(name: str = "web", image: str = "web:1") -> str:
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    return yaml.safe_dump(body)


def become(memory: Memory, name: str, **status: object) -> None:
    """The controller of a cluster reports."""
    path = f"{DEPLOYMENTS}{name}"
    live = memory.sandbox.handle(Request("GET", path)).body
    body = {"status": {"observedGeneration": live["metadata"]["generation"], **status}}
    answer = memory.sandbox.handle(Request("PATCH", f"{path}/status", {}, MERGE_PATCH, body))
    assert answer.is_ok, answer.message


READY = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
BEHIND = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 0, "readyReplicas": 0}
STUCK = {
    "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "it took too long"}
    ]
}


def slow_team(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team on that cluster: Deployments are not ready by themselves."""
    memory.after = lambda request: become(memory, named(request), **BEHIND) if "deployments" in request.path else None
    return wire_up(Team(), memory, monkeypatch)


def scaler() -> str:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    return yaml.safe_dump(body)


def work_with_clock(run, pause):
    """A worker whose pauses call `pause(seconds)` instead of passing."""
    runs.execute_run(run.pk, sleep=pause)
    run.refresh_from_db()
    return run


def answer_lists(memory, monkeypatch, pods, events, *, status=200):
    """Pods and events as a cluster lists them, or (`status`) refuses to."""
    asked = []
    plain = memory.send

    def send(request):
        plural = request.path.rpartition("/")[2]
        if request.method != "GET" or plural not in ("pods", "events"):
            return plain(request)
        asked.append((plural, dict(request.query)))
        if status != 200:
            return Answer(status, {"kind": "Status", "reason": "Forbidden"})
        return Answer(200, {"items": pods if plural == "pods" else events})

    monkeypatch.setattr(memory, "send", send)
    return asked


WAITING = {"name": "web", "image": "web:2", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}


def stuck_pod(**spec):
    return {"metadata": {"name": "web-1"}, "spec": spec, "status": {"containerStatuses": [WAITING]}}
