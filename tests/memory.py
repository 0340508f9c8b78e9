"""A cluster in this process that several threads ask, for tests of runs whose objects go on side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from applyviz.clusters import connect
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.records.enums import ClusterKind
from applyviz.records.models import ApplyRun, Cluster
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.stories import Team, config_map


def named(request: Request) -> str:
    """The name of the object that a write is about."""
    return request.body["metadata"]["name"] if request.method == "POST" else request.path.rpartition("/")[2]


class Memory:
    """A cluster in this process that several threads ask; `before(request)` may wait, answer or raise."""

    def __init__(self, *, has_controllers: bool = True) -> None:
        self.sandbox = Sandbox(MemoryStore(), lambda: datetime.now(UTC), has_controllers=has_controllers)
        self.lock, self.inside, self.most = threading.Lock(), 0, 0
        self.sent: list[str] = []
        self.effective: list[str] = []
        self.before: Callable[[Request], Answer | None] = lambda request: None
        self.after = lambda request: None

    def send(self, request: Request) -> Answer:
        if not request.is_write or request.is_dry_run:
            with self.lock:
                if request.path in ("/api", "/apis"):
                    return Answer(200, self.sandbox.discover(request.path))
                return self.sandbox.handle(request)
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.sent.append(named(request))
        try:
            found = self.before(request)
            if found is not None:
                return found
            with self.lock:
                answer = self.sandbox.handle(request)
                if answer.is_ok:
                    self.effective.append(named(request))
            self.after(request)
            return answer
        finally:
            with self.lock:
                self.inside -= 1

    def close(self) -> None:
        """Nothing is held open."""


def wire_up(team: Team, memory: Memory, monkeypatch) -> Team:
    """The team works on that cluster, as on a live one."""
    monkeypatch.setattr(connect, "open_transport", lambda cluster: memory)
    uid = memory.send(Request("GET", "/api/v1/namespaces/kube-system")).body["metadata"]["uid"]
    Cluster.objects.filter(pk=team.cluster.pk).update(kind=ClusterKind.LIVE, uid=uid)
    team.cluster.refresh_from_db()
    return team


def start(team: Team, *texts: str, **rules: object) -> ApplyRun:
    """Bob starts a run with these rules; no worker has picked it up yet."""
    run = team.start(team.plan(*texts))
    run.rules = {**run.rules, "at_once": 4, **rules}
    run.save(update_fields=["rules"])
    return run


def many(count: int, **data: str) -> list[str]:
    """So many ConfigMaps of one step."""
    return [config_map(f"object-{n:02}", **(data or {"a": "1"})) for n in range(count)]
