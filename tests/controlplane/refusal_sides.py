"""The two that are asked: a real API server and a sandbox, over plain HTTP with the same bytes."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.sandbox.api.http import HttpFace
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.controlplane.breaking import Place, Wire
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.yaml_files import read_yaml

FOLDER = Path(__file__).parent
_WARNING = re.compile(r'299 - "(.*)"\Z')
_AGENT = "tester/1"
# The user of the server's token: a request for a certificate quotes who asks.
_ADMIN = {"impersonate-user": "admin", "impersonate-group": "system:masters", "impersonate-uid": "admin"}
BROKEN = 0
"""The status of a reply that never came: the server broke down over the request."""


@dataclass(frozen=True)
class Reply:
    """What came back: `body` is the value of a JSON answer, else its text."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()


class Side(Protocol):
    """One that can be asked."""

    def ask(self, wire: Wire) -> Reply:
        """Send one request."""


def _read_reply(status: int, text: bytes, warnings: list[str]) -> Reply:
    try:
        body: Any = json.loads(text)
    except ValueError:
        body = text.decode("utf-8", "replace")
    texts = [w.encode("latin-1").decode("utf-8", "replace") for w in warnings]
    found = tuple(m.group(1).replace('\\"', '"').replace("\\\\", "\\") for w in texts if (m := _WARNING.match(w)))
    return Reply(status, body, found)


class ServerSide:
    """A real API server, over one connection that stays open."""

    def __init__(self, plane: ControlPlane) -> None:
        context = ssl.create_default_context(cadata=plane.authority.decode())
        self._connection = http.client.HTTPSConnection(urlsplit(plane.url).netloc, context=context, timeout=30)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def ask(self, wire: Wire) -> Reply:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": "application/json", "User-Agent": _AGENT}
        if wire.content_type:
            headers["Content-Type"] = wire.content_type
        try:
            self._connection.request(wire.method, f"{wire.path}?{wire.query}", wire.body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            return Reply(BROKEN, "")
        return _read_reply(answer.status, text, answer.headers.get_all("Warning") or [])


class SandboxSide:
    """A fresh sandbox over the same HTTP."""

    def __init__(self) -> None:
        clock = lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)  # noqa: E731
        self._face = HttpFace(Sandbox(MemoryStore(), clock, has_controllers=False), lambda token: "tester", clock)

    def ask(self, wire: Wire) -> Reply:
        headers = {"authorization": "Bearer x", "accept": "application/json", "user-agent": _AGENT, **_ADMIN}
        if wire.content_type:
            headers["content-type"] = wire.content_type
        answer = self._face.handle(wire.method, wire.path, wire.query, headers, wire.body)
        warnings = [value.encode().decode("latin-1") for name, value in answer.headers if name == "Warning"]
        return _read_reply(answer.status, answer.body, warnings)


def load_objects() -> list[dict[str, Any]]:
    """The objects that are broken."""
    found: list[dict[str, Any]] = read_yaml(FOLDER / "refusal-objects.yaml")
    return found


def list_places() -> list[Place]:
    """Where requests about each object go."""
    return [Place(_find_collection(obj), obj, "example.com" in obj["apiVersion"]) for obj in load_objects()]


def _find_collection(obj: dict[str, Any]) -> str:
    if obj["kind"] == "Widget":
        return "/apis/example.com/v1/namespaces/default/widgets"
    if obj["kind"] == "Gadget":
        return "/apis/example.com/v1/gadgets"
    resource = bundled().find_resource(GroupVersionKind.from_object(obj))
    assert resource is not None, obj["kind"]
    return resource.path("default")


def _list_setup() -> Iterator[Wire]:
    definitions = read_yaml(FOLDER / "refusal-definitions.yaml")
    for definition in definitions:
        yield _post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for place in list_places():
        yield _post(place.collection, place.obj)


def _post(path: str, obj: dict[str, Any]) -> Wire:
    return Wire("POST", path, "fieldManager=tester", "application/json", json.dumps(obj).encode())


def prepare(side: Side) -> None:
    """Make the objects live on a fresh server or sandbox; on a server, wait until custom resources are served.

    Raises AssertionError if one exists: a definition of others of the same name has other rules.
    """
    for wire in _list_setup():
        deadline = time.monotonic() + 120
        reply = side.ask(wire)
        while reply.status == 404 and time.monotonic() < deadline:
            time.sleep(0.1)
            reply = side.ask(wire)
        assert reply.status == 201, (wire.path, reply)
