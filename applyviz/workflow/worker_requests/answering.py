"""A worker carries an errand out: claim, read, act and answer in one transaction; nothing when its time is over."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from applyviz import audit_origin, hpke
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import ErrandKind, ErrandState
from applyviz.records.models import Errand
from applyviz.workflow.foundation import clock
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.worker_requests import handlers
from applyviz.workflow.worker_requests.asking import RefusedError

logger = logging.getLogger(__name__)
_MOST_ATTEMPTS = 3
_LOST = timedelta(seconds=3)
_KEPT = timedelta(minutes=10)
_COMPARED_KEPT = timedelta(days=1)


class _TooLateError(Exception):
    """Somebody else has it, or its time is over: what was done is rolled back."""


def _claim(errand_id: int) -> Errand | None:
    now = clock.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    mine = Errand.objects.filter(free, pk=errand_id, state=ErrandState.WAITING, expires_at__gt=now)
    end = now + timedelta(seconds=settings.APPLYVIZ_LEASE_SECONDS)
    if not mine.update(lease_until=end, attempts=F("attempts") + 1):
        return None
    return Errand.objects.select_related("asked_by", "cluster").get(pk=errand_id)


def _settle(errand: Errand, state: ErrandState, **answer: object) -> None:
    now = clock.now()
    mine = Errand.objects.filter(pk=errand.pk, state=ErrandState.WAITING, attempts=errand.attempts, expires_at__gt=now)
    if not mine.update(state=state, finished_at=now, lease_until=None, sealed=None, **answer):
        raise _TooLateError


def _write_answer(errand: Errand, answer: JSONValue) -> dict[str, object]:
    """The columns of an answer: sealed for who asked, where they gave a key for it."""
    if not errand.reply_to:
        return {"result": answer}
    return {"sealed_result": hpke.seal(json.dumps(answer).encode(), errand.reply_to)}


def _answer(errand: Errand) -> None:
    secret = errand.sealed.open_bytes() if errand.sealed is not None else b""
    asked = handlers.Asked(errand.asked_by, errand.cluster, errand.question, secret)
    act = handlers.prepare(ErrandKind(errand.kind), asked)
    with transaction.atomic():
        _settle(errand, ErrandState.DONE, **_write_answer(errand, act()))


def _refuse(errand: Errand, refused: RefusedError) -> None:
    said = {"detail": refused.detail} if refused.detail else None
    _settle(errand, ErrandState.REFUSED, reasons=list(refused.reasons), status=refused.status, result=said)


def carry_out(errand_id: int) -> None:
    """Answer an errand; nothing happens when another worker has it, it is answered, or its time is over.

    - What it does counts as done from where the person asked.
    """
    errand = _claim(errand_id)
    if errand is None:
        return
    held = audit_origin.current.set(audit_origin.Origin(**errand.origin))
    try:
        if errand.attempts > _MOST_ATTEMPTS:
            _refuse(errand, RefusedError(("it was interrupted several times",), 409))
            return
        _answer(errand)
    except _TooLateError:
        logger.warning("errand %s was answered elsewhere, or too late", errand_id)
    except ApplyVizError as error:
        _refuse_quietly(errand, RefusedError.of(error))
    except Exception as error:
        log_unexpected(logger, f"errand {errand_id} stopped", error)
        _refuse_quietly(errand, RefusedError((f"an unexpected error ({type(error).__name__})",), 500))
    finally:
        audit_origin.current.reset(held)


def _refuse_quietly(errand: Errand, refused: RefusedError) -> None:
    try:
        _refuse(errand, refused)
    except _TooLateError:
        logger.warning("errand %s was answered elsewhere, or too late", errand.pk)


def find_unfinished(*, now: datetime) -> list[int]:
    """Errands that no worker has in hand, while somebody waits for them."""
    lost = Q(lease_until__lt=now) | Q(lease_until=None, created_at__lt=now - _LOST)
    return list(Errand.objects.filter(lost, state=ErrandState.WAITING, expires_at__gt=now).values_list("pk", flat=True))


def end_late(*, now: datetime) -> None:
    """End what nobody answered in time, and forget what was answered some time ago."""
    late = Errand.objects.filter(state=ErrandState.WAITING, expires_at__lte=now)
    late.update(state=ErrandState.EXPIRED, finished_at=now, sealed=None)
    Errand.objects.exclude(kind=ErrandKind.COMPARE).filter(finished_at__lt=now - _KEPT).delete()
    Errand.objects.filter(finished_at__lt=now - _COMPARED_KEPT).delete()
