"""Asking a worker: the question is a row, its message an id; the answer is waited for a moment, then looked for again.

The same question of the same person is asked once while it is under way, and for a few seconds after: a page that
said that it is busy finds the answer when it is loaded again. What changes something is asked each time anew.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from applyviz import audit_origin
from applyviz.engine.objects.errors import ApplyVizError, ClusterError
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.queue import TaskName
from applyviz.records.enums import WorkerRequestKind, WorkerRequestState
from applyviz.records.models import Cluster, WorkerRequest
from applyviz.records.sealing import Sealed, can_open
from applyviz.workflow.foundation import clock, outbox
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError, WorkflowError
from applyviz.workflow.worker_requests import handlers

FRESH = timedelta(seconds=5)
"""How long an answer serves the same question again; plans never change, and neither do answers about them."""
PATIENCE = timedelta(seconds=60)
"""When nobody answers any more; a worker that comes later does nothing."""
WAIT_SECONDS, _PEEK_SECONDS = 2.0, 0.4
_STEP_SECONDS = 0.05
_KEPT = frozenset({WorkerRequestKind.COMPARE})

pause: Callable[[float], None] = time.sleep
"""How the time between two looks passes; tests let a worker work in it."""


class UnfinishedError(WorkflowError):
    """A worker has not answered: not yet, or not at all."""

    def __init__(self, worker_request: WorkerRequest) -> None:
        super().__init__(f"{worker_request}")
        self.worker_request = worker_request


class WaitingError(UnfinishedError):
    """A worker has the question; look again in a moment."""

    status = 202


class UnansweredError(UnfinishedError):
    """No worker answered in time."""

    status = 503

    def __str__(self) -> str:
        text = _("No worker picked this up within %(count)d s. Check that a worker is running.")
        return text % {"count": int(PATIENCE.total_seconds())}


class RefusedError(WorkflowError):
    """The worker refused; `reasons` are why, each a sentence, `detail` what a server said in its own words."""

    def __init__(self, reasons: tuple[str, ...], status: int, detail: str = "") -> None:
        super().__init__("; ".join(reasons))
        self.reasons, self.status, self.detail = reasons, status, detail

    @classmethod
    def of(cls, error: ApplyVizError) -> RefusedError:
        """What a use case refused, or a cluster, or a file that cannot be taken."""
        reasons = tuple(getattr(error, "reasons", ())) or (str(error),)
        status = error.status if isinstance(error, WorkflowError) else 409
        return cls(reasons, status, error.detail if isinstance(error, ClusterError) else "")


@dataclass(frozen=True, slots=True)
class WorkerQuestion:
    """What is asked; `content` holds ids and names, `secret` what only a worker may read."""

    kind: WorkerRequestKind
    by: Person | None = None
    cluster: Cluster | None = None
    content: JSONObject = field(default_factory=dict)
    secret: bytes = b""
    reply_to: str = ""

    @property
    def key(self) -> str:
        """The same for the same question of the same person."""
        asker, at = self.by.pk if self.by else None, self.cluster.pk if self.cluster else None
        text = canonical_json([self.kind.value, asker, at, self.content])
        return hashlib.sha256(text.encode()).hexdigest()


def _answer_here(question: WorkerQuestion) -> JSONValue:
    """The answer by this process itself, refused in the same words as by a worker."""
    try:
        return handlers.prepare(
            question.kind, handlers.Asked(question.by, question.cluster, question.content, question.secret)
        )()
    except WorkflowError:
        raise
    except ApplyVizError as error:
        raise RefusedError.of(error) from error


def write_down(question: WorkerQuestion, *, patience: timedelta = PATIENCE) -> WorkerRequest:
    """Keep the question, and send a worker its id."""
    now = clock.now()
    with transaction.atomic():
        worker_request = WorkerRequest.objects.create(
            kind=question.kind,
            key=question.key,
            asked_by=question.by,
            cluster=question.cluster,
            question=question.content,
            sealed=Sealed.of_bytes(question.secret) if question.secret else None,
            reply_to=question.reply_to,
            origin=asdict(audit_origin.current.get()),
            created_at=now,
            expires_at=now + patience,
        )
        outbox.post(TaskName.ANSWER_WORKER_REQUEST, worker_request_id=worker_request.pk)
    return worker_request


def _find_same(question: WorkerQuestion, after: int) -> WorkerRequest | None:
    """The last worker request of this question that still counts; `after`: one whose answer the person saw already."""
    found = WorkerRequest.objects.filter(key=question.key, pk__gt=after).order_by("-id").first()
    if found is None or found.finished_at is None:
        return found
    is_kept = question.kind in _KEPT and found.state == WorkerRequestState.DONE
    return found if is_kept or found.finished_at > clock.now() - FRESH else None


def look(worker_request: WorkerRequest) -> WorkerRequest:
    """How the worker request is now; one past its time has expired."""
    worker_request = WorkerRequest.objects.select_related("cluster").get(pk=worker_request.pk)
    now = clock.now()
    if worker_request.state != WorkerRequestState.WAITING or worker_request.expires_at > now:
        return worker_request
    late = WorkerRequest.objects.filter(pk=worker_request.pk, state=WorkerRequestState.WAITING)
    late.update(state=WorkerRequestState.EXPIRED, finished_at=now, sealed=None)
    return WorkerRequest.objects.select_related("cluster").get(pk=worker_request.pk)


def wait(worker_request: WorkerRequest, seconds: float = WAIT_SECONDS) -> WorkerRequest:
    """Look again and again for so many seconds, or until it is finished."""
    deadline = time.monotonic() + seconds
    found = look(worker_request)
    while found.state == WorkerRequestState.WAITING and time.monotonic() < deadline:
        pause(_STEP_SECONDS)
        found = look(found)
    return found


def read_answer(worker_request: WorkerRequest) -> JSONValue:
    """The answer; raises `WaitingError`, `UnansweredError` or `RefusedError` when there is none."""
    if worker_request.state == WorkerRequestState.DONE:
        return worker_request.result
    if worker_request.state == WorkerRequestState.REFUSED:
        raise RefusedError(
            tuple(worker_request.reasons), worker_request.status, (worker_request.result or {}).get("detail", "")
        )
    raise (
        WaitingError(worker_request)
        if worker_request.state == WorkerRequestState.WAITING
        else UnansweredError(worker_request)
    )


def ask(question: WorkerQuestion, *, after: int = 0) -> JSONValue:
    """The answer to something that is only read, this process's own where it can open.

    - Raises `WaitingError` when it takes longer than a moment, `UnansweredError`, or what the use case refuses.
    """
    if can_open():
        return _answer_here(question)
    return read_answer(wait(_find_same(question, after) or write_down(question)))


def send(question: WorkerQuestion) -> JSONValue:
    """The answer to something that is done; asked anew each time. Raises as `ask` does."""
    return _answer_here(question) if can_open() else read_answer(wait(write_down(question)))


def peek(question: WorkerQuestion) -> JSONValue | None:
    """The answer if it is there; else a worker is asked, and waited for no longer than is noticed."""
    if can_open():
        return _answer_here(question)
    same = _find_same(question, 0)
    found = look(same) if same is not None else wait(write_down(question), _PEEK_SECONDS)
    return found.result if found.state == WorkerRequestState.DONE else None


def find_worker_request(number: int, *, by: Person) -> WorkerRequest:
    """A worker request of this very person or of nobody in particular; `NotVisibleError` for any other."""
    mine = Q(asked_by=by) | Q(asked_by=None, kind__in=_KEPT)
    found = WorkerRequest.objects.filter(mine, pk=number).first()
    if found is None:
        raise NotVisibleError(f"there is no worker request {number}")
    return look(found)
