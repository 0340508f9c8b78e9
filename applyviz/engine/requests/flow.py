"""The flow type, its outcome, and its errors.

A flow yields requests and receives answers; it does no I/O and reads no clock, so the same flow plans, runs and
replays. Rule: what `kubectl apply` does with each answer (409 and 422 are distinguished by reason first).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import KindSchema, Resource

T = TypeVar("T")
Flow: TypeAlias = Generator[Request, Answer, T]


class Catalog(Protocol):
    """The schemas of kinds, and how the kinds are addressed."""

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None: ...

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None: ...

    def find_preferred(self, group: str, kind: str) -> Resource | None: ...

    def list_resources(self) -> tuple[Resource, ...]: ...


class Verb(StrEnum):
    """The result for one object, in kubectl's words."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    APPLIED = "serverside-applied"
    PRUNED = "pruned"
    PATCHED = "patched"


class FlowOutcome(Struct, frozen=True):
    """The outcome for one object: `obj` as last known, `live` before the first write (None: absent).

    - `calculation`: the steps of its three-way patch; None if there was none, or it was empty.
    """

    verb: Verb
    obj: JSONObject
    live: JSONObject | None = None
    warnings: tuple[str, ...] = ()
    calculation: PatchSteps | None = None

    @property
    def line(self) -> str:
        """The line that kubectl prints: `deployment.apps/web configured`."""
        return f"{self.name} {self.verb}"

    @property
    def name(self) -> str:
        """Kind, group and name as kubectl prints them: `deployment.apps/web`."""
        gvk = GroupVersionKind.from_object(self.obj)
        metadata = self.obj.get("metadata") or {}
        kind = gvk.kind.lower() + (f".{gvk.group}" if gvk.group else "")
        return f"{kind}/{metadata.get('name') or '<unknown>'}"


@dataclass(eq=False)
class AnswerError(ClusterError):
    """An API server refused a request of a flow: the request and its answer."""

    request: Request | None = None
    answer: Answer | None = None


class Deletion(Struct, frozen=True):
    """How objects are deleted: propagation policy, grace period (negative: the server's own), and how
    many seconds to wait until the object is gone before it is re-created."""

    propagation: str = "Background"
    grace_period: int = -1
    timeout: int = 0


def is_not_found(answer: Answer) -> bool:
    """Return whether the server says that the object does not exist."""
    return answer.reason == "NotFound" or (answer.status == 404 and answer.reason in ("", "Unknown"))


def is_conflict(answer: Answer) -> bool:
    """Return whether another write or another field manager conflicts (AlreadyExists does not count)."""
    return answer.reason == "Conflict" or (answer.status == 409 and answer.reason in ("", "Unknown"))


def is_invalid(answer: Answer) -> bool:
    """Return whether the object failed the server's validation."""
    return answer.reason == "Invalid" or (answer.status == 422 and answer.reason in ("", "Unknown"))


def refusal(request: Request, answer: Answer) -> AnswerError:
    """Return the error for an answer other than 2xx."""
    text = answer.message or (f"the server answered {answer.status}" if answer.status else "no answer came")
    return AnswerError(text, answer.status, request, answer)


def run_flow(flow: Flow[T], answer: Callable[[Request], Answer]) -> T:
    """Answer the requests of a flow one by one until it ends; return its result."""
    try:
        request = next(flow)
        while True:
            request = flow.send(answer(request))
    except StopIteration as stop:
        result: T = stop.value
        return result


def send(request: Request) -> Flow[Answer]:
    """Send a request and return its successful answer.

    - Raises `AnswerError` for anything but 2xx.
    """
    answer = yield request
    if not answer.is_ok:
        raise refusal(request, answer)
    return answer
