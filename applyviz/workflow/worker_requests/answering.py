"""Answering a worker request: claim, read, act and answer in one transaction; nothing after its deadline."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from applyviz import audit_origin, clock, sealing_keys
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import WorkerRequest
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.leases import find_lease_end
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.foundation.worker_questions import RefusedError, vouch_stored
from applyviz.workflow.worker_requests import handlers

logger = logging.getLogger(__name__)
_MAX_ATTEMPTS = 3
_LOST = timedelta(seconds=3)
_KEPT = timedelta(minutes=10)
_COMPARED_KEPT = timedelta(days=1)


class _TooLateError(Exception):
    """Another worker has the request, or it has expired: roll back."""


class _ForgedError(Exception):
    """This installation did not store the question, or it changed since it was claimed: roll back."""


def _claim(worker_request_id: int) -> WorkerRequest | None:
    now = clock.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    mine = WorkerRequest.objects.filter(
        free, pk=worker_request_id, state=WorkerRequestState.WAITING, expires_at__gt=now
    )
    if not mine.update(lease_until=find_lease_end(now), attempts=F("attempts") + 1):
        return None
    return WorkerRequest.objects.select_related("asked_by", "cluster").get(pk=worker_request_id)


def _require_genuine(worker_request: WorkerRequest) -> None:
    fault = row_macs.find_fault(worker_request)
    if fault:
        raise _ForgedError(fault)


def _find_mine(worker_request: WorkerRequest, now: datetime) -> QuerySet[WorkerRequest]:
    """Return the row of a claimed worker request while this worker may answer it."""
    return WorkerRequest.objects.filter(
        pk=worker_request.pk, state=WorkerRequestState.WAITING, attempts=worker_request.attempts, expires_at__gt=now
    )


def _end(worker_request: WorkerRequest, state: WorkerRequestState, **answer: object) -> None:
    now = clock.now()
    with transaction.atomic():
        ended = {"state": state, "finished_at": now, "lease_until": None, "sealed": None}
        if not _find_mine(worker_request, now).update(**ended, **answer):
            raise _TooLateError
        vouch_stored(worker_request.pk)


def _store_answer(worker_request: WorkerRequest, state: WorkerRequestState, **answer: object) -> None:
    """Store the answer to the question that was claimed; a MAC is never made for this answer and another question."""
    with transaction.atomic():
        stored = _find_mine(worker_request, clock.now()).select_for_update().first()
        if stored is None:
            raise _TooLateError
        _require_genuine(stored)
        if stored.mac != worker_request.mac:
            raise _ForgedError("another question took its number")
        _end(worker_request, state, **answer)


def _write_answer(worker_request: WorkerRequest, answer: JSONValue) -> dict[str, object]:
    """Return the columns of an answer, encrypted for the requester if they gave a key."""
    if not worker_request.reply_to:
        return {"result": answer}
    location = worker_request.answer_location
    return {"sealed_result": sealing_keys.seal(json.dumps(answer).encode(), worker_request.reply_to, location)}


def _answer(worker_request: WorkerRequest) -> None:
    secret = worker_request.sealed.open_bytes() if worker_request.sealed is not None else b""
    asked = handlers.Asked(worker_request.asked_by, worker_request.cluster, worker_request.question, secret)
    act = handlers.prepare(WorkerRequestKind(worker_request.kind), asked)
    with transaction.atomic():
        _store_answer(worker_request, WorkerRequestState.DONE, **_write_answer(worker_request, act()))


def _refuse(worker_request: WorkerRequest, refused: RefusedError) -> None:
    result = {"detail": refused.detail} if refused.detail else None
    _store_answer(
        worker_request, WorkerRequestState.REFUSED, reasons=list(refused.reasons), status=refused.status, result=result
    )


def _work(worker_request: WorkerRequest) -> None:
    """Answer a claimed worker request, or refuse it and say why."""
    _require_genuine(worker_request)
    if worker_request.attempts > _MAX_ATTEMPTS:
        _refuse(worker_request, RefusedError(("it was interrupted several times",), 409))
        return
    try:
        _answer(worker_request)
    except ApplyVizError as error:
        _refuse(worker_request, RefusedError.of(error))
    except (_TooLateError, _ForgedError):
        raise
    except Exception as error:
        log_unexpected(logger, f"worker request {worker_request.pk} stopped", error)
        _refuse(worker_request, RefusedError((f"an unexpected error ({type(error).__name__})",), 500))


def _refuse_forged(worker_request: WorkerRequest, fault: str) -> None:
    """Refuse a question that was changed with a sentence that says nothing of any answer, and remove what is there."""
    reasons = [f"the question is forged: {fault}"]
    _end(worker_request, WorkerRequestState.REFUSED, reasons=reasons, status=409, result=None, sealed_result=None)


def answer_worker_request(worker_request_id: int) -> None:
    """Answer a worker request; does nothing when it is answered, expired, or claimed by another worker.

    - The audit origin of its acts is that of the requester.
    - A question that this installation did not store is refused, also one that was changed while it was answered.
    """
    worker_request = _claim(worker_request_id)
    if worker_request is None:
        return
    token = audit_origin.current.set(audit_origin.Origin(**worker_request.origin))
    try:
        try:
            _work(worker_request)
        except _ForgedError as error:
            _refuse_forged(worker_request, str(error))
    except _TooLateError:
        logger.warning("worker request %s was answered elsewhere, or too late", worker_request_id)
    finally:
        audit_origin.current.reset(token)


def find_unfinished(*, now: datetime) -> list[int]:
    """Return pending worker requests without a worker."""
    lost = Q(lease_until__lt=now) | Q(lease_until=None, created_at__lt=now - _LOST)
    return list(
        WorkerRequest.objects.filter(lost, state=WorkerRequestState.WAITING, expires_at__gt=now).values_list(
            "pk", flat=True
        )
    )


def end_late(*, now: datetime) -> None:
    """Expire worker requests without an answer in time, and delete old answers."""
    late = WorkerRequest.objects.filter(state=WorkerRequestState.WAITING, expires_at__lte=now)
    late.update(state=WorkerRequestState.EXPIRED, finished_at=now, sealed=None)
    WorkerRequest.objects.exclude(kind=WorkerRequestKind.COMPARE).filter(finished_at__lt=now - _KEPT).delete()
    WorkerRequest.objects.filter(finished_at__lt=now - _COMPARED_KEPT).delete()
