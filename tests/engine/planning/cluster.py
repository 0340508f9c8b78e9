"""A cluster in a box for planning tests, with a clock that stands and a record of what was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

NOW = "2026-06-01T00:00:00Z"


@dataclass
class Box:
    """A sandbox, asked by planners and written to by tests."""

    sandbox: Sandbox = field(default_factory=lambda: Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC)))
    asked: list[Request] = field(default_factory=list)
    intercept: Callable[[Request], Answer | None] = lambda request: None

    def handle(self, request: Request) -> Answer:
        """What the server itself answers."""
        return self.sandbox.handle(request)

    def send(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.intercept(request) or self.handle(request)

    def send_all(self, requests: Sequence[Request]) -> list[Answer]:
        return [self.send(request) for request in requests]

    def plan(self, text: str, options: ApplyOptions | None = None, **context: object) -> PlannedSet:
        documents = take_patches_apart(parse_manifests(text.encode(), "app.yaml")).documents
        surroundings = replace(PlanningContext(bundled(), NOW), **context)
        planner = SetPlanner(documents, options=options or ApplyOptions(), context=surroundings)
        list(drive(planner, self.send_all))
        return planner.plan()

    def plan_one(self, text: str, options: ApplyOptions | None = None, **context: object) -> PlannedObject:
        (change,) = self.plan(text, options, **context).changes
        return change

    def run(self, plan: PlannedSet) -> None:
        """Send what a plan holds, filling holes from live as it is then, and from what the server said last."""
        for change in plan.changes:
            live = self.find(change)
            for request in change.requests:
                answer = self.handle(placeholders.fill(request, live))
                assert answer.is_ok, answer
                live = None if request.method == "DELETE" else answer.body

    def find(self, change: PlannedObject) -> dict | None:
        """The live object of a change, as a runner reads it just before."""
        resource = bundled().find_resource(change.ref.gvk)
        if resource is None or change.versions.live is None:
            return None
        return self.get(resource.path(change.ref.namespace, change.ref.name))

    def apply(self, text: str, options: ApplyOptions | None = None) -> None:
        self.run(self.plan(text, options))

    def get(self, path: str) -> dict:
        answer = self.handle(Request("GET", path))
        assert answer.is_ok, answer
        return answer.body
