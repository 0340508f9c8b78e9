"""The world of the model: a cluster in memory behind a wire that remembers, and people with changing rights.

What makes it quick and changes nothing of what is tested: the cluster keeps its objects in this process, and
manifests are parsed here, once per text, instead of in a child process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from applyviz.clusters import connect
from applyviz.clusters.errors import NotSentError
from applyviz.engine.channels.reading import take_channel_apart
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Answer, Request
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Cluster
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.sandboxed import ReadFiles
from applyviz.sources.wire import encode_file
from applyviz.workflow.plans.source_runs import parsed_sources
from tests.faults.history import Exchange

MAPS = "/api/v1/namespaces/default/configmaps"
NO_FAULT: Callable[[Request, int], str] = lambda request, number: ""  # noqa: E731 - a default, not a function of its own


@lru_cache(maxsize=512)
def _parse(name: str, data: bytes) -> ParsedFile:
    return take_patches_apart(take_channel_apart(parse_manifests(data, name)))


def read_here(bundle: SourceBundle, **_: Any) -> tuple[ParsedFile, ...]:
    """What the reading child answers, without the child."""
    return tuple(_parse(file.name, file.data) for file in bundle.files)


def read_files_here(bundle: SourceBundle) -> ReadFiles:
    """Read files as a worker does, without its child process."""
    files = read_here(bundle)
    return ReadFiles(files, tuple(encode_file(file).rstrip() for file in files))


class World:
    """One cluster in memory, and everything that the product sent to it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.sandbox = Sandbox(self.store, lambda: datetime.now(UTC))
        self.uid = str(self.act(Request("GET", "/api/v1/namespaces/kube-system")).body["metadata"]["uid"])
        self._start = (dict(self.store._objects), dict(self.store._meta), self.store._revision)
        self.exchanges: list[Exchange] = []
        self.sent = 0
        self.on_write: Callable[[Exchange], None] = lambda exchange: None
        self.fault = NO_FAULT

    def wire_up(self, monkeypatch: Any) -> None:
        """Put this cluster where the product connects to."""
        monkeypatch.setattr(connect, "open_transport", self._open)
        monkeypatch.setattr(parsed_sources, "read_files", read_files_here)

    def _open(self, cluster: Cluster) -> World:
        return self

    def begin_anew(self) -> None:
        """As it was at the start."""
        objects, meta, revision = self._start
        self.store._objects, self.store._meta, self.store._revision = dict(objects), dict(meta), revision
        self.exchanges.clear()
        self.sent, self.fault = 0, NO_FAULT

    def act(self, request: Request) -> Answer:
        """Somebody else asks the cluster."""
        if request.method == "GET" and request.path in ("/api", "/apis"):
            return Answer(200, self.sandbox.discover(request.path))
        return self.sandbox.handle(request, user="somebody")

    def find(self, path: str) -> Any:
        """The stored object, None when there is none."""
        answer = self.act(Request("GET", path))
        return answer.body if answer.is_ok and "/namespaces/" in path else None

    def edit(self, name: str, data: dict[str, Any]) -> None:
        """Somebody edits a ConfigMap."""
        self.act(Request("PATCH", f"{MAPS}/{name}", {"fieldManager": "kubectl-edit"}, MERGE_PATCH, data))

    def apply_as(self, manager: str, name: str, data: dict[str, str]) -> None:
        """Somebody applies a ConfigMap with force, and owns its fields from then on."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        query = {"fieldManager": manager, "force": "true"}
        self.act(Request("PATCH", f"{MAPS}/{name}", query, APPLY_PATCH, body))

    def go_back(self, name: str, data: dict[str, str]) -> None:
        """The server is restored from a backup: the same object with older content, and versions that come again."""
        key = next(key for key in self.store._objects if key.plural == "configmaps" and key.name == name)
        live = self.store._objects[key]
        older = str(int(live["metadata"]["resourceVersion"]) - 1)
        self.store._objects[key] = {**live, "data": data, "metadata": {**live["metadata"], "resourceVersion": older}}
        self.store._revision = int(older)

    def delete(self, name: str) -> None:
        """Somebody deletes a ConfigMap."""
        self.act(Request("DELETE", f"{MAPS}/{name}"))

    def send(self, request: Request) -> Answer:
        """The product asks the cluster: remembered, and lost when the fault says so."""
        is_write = request.is_write and not request.is_dry_run
        seen = Exchange(
            self.uid,
            time.time(),
            request.method,
            request.path,
            request.query,
            request.content_type,
            request.body,
            is_write,
        )
        self.exchanges.append(seen)
        if not is_write:
            answer = self.act(request)
            seen.status, seen.is_delivered = answer.status, True
            return answer
        return self._write(request, seen)

    def _write(self, request: Request, seen: Exchange) -> Answer:
        self.sent += 1
        fault = self.fault(request, self.sent)
        if fault == "refuse connection":
            self.exchanges.remove(seen)
            raise NotSentError("no connection", is_retryable=True)
        seen.intents = tuple(
            detail["request digest"]
            for detail in AuditEntry.objects.filter(action=AuditAction.OBJECT_INTENT).values_list("detail", flat=True)
        )
        self.on_write(seen)
        if fault == "lose request":
            raise UnreachableError("the connection broke")
        seen.before, revision = self.find(seen.place), self.store.revision()
        answer = self.sandbox.handle(request, user="applyviz")
        seen.status, seen.is_effective = answer.status, self.store.revision() != revision
        seen.after = self.find(seen.place)
        if fault == "lose answer":
            raise UnreachableError("the connection broke")
        seen.is_delivered = True
        return answer

    def close(self) -> None:
        """Nothing is held open."""
