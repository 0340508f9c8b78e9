"""A sandbox that simulates workloads, and a clock that the test moves."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.sandbox.api.http import HttpFace
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

START = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
_ROOTS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


class World:
    """A sandbox, its clock, and short ways to apply and to read."""

    def __init__(self, *, simulates: bool = True) -> None:
        self.now = START
        numbers = itertools.count(1)
        self.store = MemoryStore()
        self.sandbox = Sandbox(
            self.store,
            lambda: self.now,
            new_uid=lambda: f"00000000-0000-4000-8000-{next(numbers):012d}",
            simulates_workloads=simulates,
        )
        self.face = HttpFace(self.sandbox, {"token": "alice"}.get, lambda: self.now)

    def send(self, method: str, path: str, body: Any = None, kind: str = "application/json", **query: str) -> Answer:
        return self.sandbox.handle(Request(method, path, query, kind, body), user="tester")

    def apply(self, plural: str, obj: Mapping[str, Any], manager: str = "kubectl") -> dict[str, Any]:
        path = f"{_path(obj['apiVersion'], plural)}/{obj['metadata']['name']}"
        answer = self.send("PATCH", path, obj, APPLY_PATCH, fieldManager=manager, force="true")
        assert answer.is_ok, answer.body
        return dict(answer.body)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def settle(self, seconds: int = 60) -> None:
        """Read once a second, as somebody who watches does."""
        for _ in range(seconds):
            self.wait(1)
            self.send("GET", "/api/v1/namespaces")

    def get(self, plural: str, name: str, version: str = "apps/v1") -> dict[str, Any]:
        answer = self.send("GET", f"{_path(version, plural)}/{name}")
        assert answer.is_ok, answer.body
        return dict(answer.body)

    def items(self, plural: str, version: str = "v1") -> list[dict[str, Any]]:
        answer = self.send("GET", _path(version, plural))
        assert answer.is_ok, answer.body
        return list(answer.body["items"])

    def pods(self) -> list[str]:
        """The words that kubectl shows, one per Pod."""
        response = self.face.handle(
            "GET", "/api/v1/namespaces/default/pods", "", {"authorization": "Bearer token", "accept": TABLE}
        )
        rows = json.loads(response.body)["rows"]
        return [f"{row['cells'][1]} {row['cells'][2]}" for row in rows]

    def events(self) -> set[tuple[str, str]]:
        return {(e["reason"], e["involvedObject"]["kind"]) for e in self.items("events")}

    def conditions(self, plural: str, name: str, version: str = "apps/v1") -> dict[str, tuple[str, str]]:
        held = self.get(plural, name, version)["status"].get("conditions") or ()
        return {c["type"]: (c["status"], c["reason"]) for c in held}


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def _path(version: str, plural: str) -> str:
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/default/{plural}"


def workload(kind: str, name: str = "web", image: str = "shop/web:1", **spec: Any) -> dict[str, Any]:
    """A workload with one container; `pod` adds to the spec of its Pods."""
    pod = {"containers": [{"name": "web", "image": image, **spec.pop("container", {})}], **spec.pop("pod", {})}
    template: dict[str, Any] = {"metadata": {"labels": {"app": name}}, "spec": pod}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    return {
        "apiVersion": _ROOTS[kind],
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**selector, "template": template, **spec},
    }


@pytest.fixture
def world() -> World:
    return World()
