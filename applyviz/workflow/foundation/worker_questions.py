"""Questions to workers: the question is a row and its message an id; the page waits a moment, then polls.

The same question of the same person is sent once while it is pending, and for a few seconds afterwards, so that a
reloaded page finds the answer. A question with side effects is sent every time.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import asdict

from applyviz import audit_origin, clock
from applyviz.engine.objects.errors import ApplyVizError, ClusterError
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.queue import TaskName
from applyviz.records.models import Cluster, WorkerRequest
from applyviz.records.sealing import Unsealed
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState
from applyviz.workflow.foundation import outbox, row_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError, WorkflowError

AGAIN = timedelta(seconds=2)
"""The shortest time between two messages that send the same question to workers."""
FRESH = timedelta(seconds=5)
"""How long an answer serves the same question; plans never change, so answers about them do not either."""
PATIENCE = timedelta(seconds=60)
"""After this time a question expires; a worker that comes later does nothing."""
WAIT_SECONDS, _PEEK_SECONDS = 2.0, 0.4
_STEP_SECONDS = 0.05
_KEPT = frozenset({WorkerRequestKind.COMPARE})

pause: Callable[[float], None] = time.sleep
"""The pause between two polls; tests let a worker work in it."""


class UnfinishedError(WorkflowError):
    """No worker has answered, or not yet."""

    def __init__(self, worker_request: WorkerRequest) -> None:
        super().__init__(f"{worker_request}")
        self.worker_request = worker_request


class WaitingError(UnfinishedError):
    """A worker request is pending; poll again in a moment."""

    status = 202


class UnansweredError(UnfinishedError):
    """No worker answered in time."""

    status = 503

    def __str__(self) -> str:
        text = _("No worker picked this up within %(count)d s. Check that a worker is running.")
        return text % {"count": int(PATIENCE.total_seconds())}


class RefusedError(WorkflowError):
    """The worker refused; `reasons` are sentences, `detail` is the original text of a server."""

    def __init__(self, reasons: tuple[str, ...], status: int, detail: str = "") -> None:
        super().__init__("; ".join(reasons))
        self.reasons, self.status, self.detail = reasons, status, detail

    @classmethod
    def of(cls, error: ApplyVizError) -> RefusedError:
        """Return the refusal for an error of a use case, a cluster or a file."""
        reasons = tuple(getattr(error, "reasons", ())) or (str(error),)
        status = error.status if isinstance(error, WorkflowError) else 409
        return cls(reasons, status, error.detail if isinstance(error, ClusterError) else "")


class WorkerQuestion(Struct, frozen=True):
    """A question; `content` holds ids and names, `secret` what only a worker may read."""

    kind: WorkerRequestKind
    by: Person | None = None
    cluster: Cluster | None = None
    content: JSONObject = field(default_factory=dict)
    secret: bytes = b""
    reply_to: str = ""

    @property
    def key(self) -> str:
        """Return the same key for the same question of the same person."""
        asker, at = self.by.pk if self.by else None, self.cluster.pk if self.cluster else None
        text = canonical_json([self.kind.value, asker, at, self.content])
        return hashlib.sha256(text.encode()).hexdigest()


def store_question(question: WorkerQuestion, *, patience: timedelta = PATIENCE) -> WorkerRequest:
    """Store the question, and send its id to a worker."""
    now = clock.now()
    with transaction.atomic():
        worker_request = WorkerRequest.objects.create(
            kind=question.kind,
            key=question.key,
            asked_by=question.by,
            cluster=question.cluster,
            question=question.content,
            sealed=Unsealed.of_bytes(question.secret) if question.secret else None,
            reply_to=question.reply_to,
            origin=asdict(audit_origin.current.get()),
            created_at=now,
            expires_at=now + patience,
        )
        vouch_stored(worker_request.pk)
        outbox.post(TaskName.ANSWER_WORKER_REQUEST, worker_request_id=worker_request.pk)
    return worker_request


def vouch_stored(number: int) -> None:
    """Set the MAC of a stored worker request as the database returns it, in the caller's transaction.

    - What is encrypted is known only then, and a database may write a number in another way.
    """
    row = WorkerRequest.objects.get(pk=number)
    row_macs.vouch(row)
    WorkerRequest.objects.filter(pk=number).update(mac=row.mac)


def is_forged(worker_request: WorkerRequest) -> bool:
    """Return whether an answered worker request was inserted or changed in the database; False without an answer."""
    has_answer = worker_request.state in (WorkerRequestState.DONE, WorkerRequestState.REFUSED)
    return has_answer and bool(row_macs.find_fault(worker_request))


def _find_same(question: WorkerQuestion, after: int) -> WorkerRequest | None:
    """Return the last valid worker request of this question; `after`: one whose answer the person has seen.

    - A request that is pending, or that was sent a moment ago, is valid whatever the person has seen.
    """
    found = WorkerRequest.objects.filter(key=question.key).order_by("-id").first()
    if found is None or is_forged(found):
        return None
    if found.finished_at is None or found.created_at > clock.now() - AGAIN:
        return found
    if found.pk <= after:
        return None
    is_kept = question.kind in _KEPT and found.state == WorkerRequestState.DONE
    return found if is_kept or found.finished_at > clock.now() - FRESH else None


def refresh(worker_request: WorkerRequest) -> WorkerRequest:
    """Return the current row of a worker request; one past its deadline has expired."""
    worker_request = WorkerRequest.objects.select_related("cluster").get(pk=worker_request.pk)
    now = clock.now()
    if worker_request.state != WorkerRequestState.WAITING or worker_request.expires_at > now:
        return worker_request
    late = WorkerRequest.objects.filter(pk=worker_request.pk, state=WorkerRequestState.WAITING)
    late.update(state=WorkerRequestState.EXPIRED, finished_at=now, sealed=None)
    return WorkerRequest.objects.select_related("cluster").get(pk=worker_request.pk)


def wait(worker_request: WorkerRequest, seconds: float = WAIT_SECONDS) -> WorkerRequest:
    """Poll for so many seconds, or until it is finished."""
    deadline = time.monotonic() + seconds
    found = refresh(worker_request)
    while found.state == WorkerRequestState.WAITING and time.monotonic() < deadline:
        pause(_STEP_SECONDS)
        found = refresh(found)
    return found


def read_answer(worker_request: WorkerRequest) -> JSONValue:
    """Return the answer; raises `WaitingError`, `UnansweredError` or `RefusedError` when there is none."""
    if is_forged(worker_request):
        raise RefusedError((_("the answer of the worker was changed in the database"),), 409)
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


def ask_worker(question: WorkerQuestion, *, after: int = 0) -> JSONValue:
    """Return a worker's answer to a question without side effects; raises as `read_answer` does.

    - `after`: a worker request whose answer the person has seen.
    """
    return read_answer(wait(_find_same(question, after) or store_question(question)))


def peek(question: WorkerQuestion) -> JSONValue | None:
    """Return the answer if it exists; else ask a worker and wait only briefly."""
    same = _find_same(question, 0)
    found = refresh(same) if same is not None else wait(store_question(question), _PEEK_SECONDS)
    return found.result if found.state == WorkerRequestState.DONE and not is_forged(found) else None


def find_worker_request(number: int, *, by: Person) -> WorkerRequest:
    """Return a worker request of this person or of no person; raises `NotVisibleError` for any other."""
    mine = Q(asked_by=by) | Q(asked_by=None, kind__in=_KEPT)
    found = WorkerRequest.objects.filter(mine, pk=number).first()
    if found is None:
        raise NotVisibleError(f"there is no worker request {number}")
    return refresh(found)
