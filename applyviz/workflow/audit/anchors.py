"""Ties the chains of runs to the global one: an entry that names their heads vouches for everything before them.

The end of a run ties its chain at once; the sweep ties what runs for long, or was added after the end, and
publishing a head ties everything first, so that one published line holds the whole history.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from applyviz.records.enums import AuditAction
from applyviz.records.models import ChainEnd
from applyviz.workflow.audit import trail

EVERY = timedelta(minutes=1)
_MOST = 500


def _find_loose(before: datetime | None) -> list[int]:
    loose = ChainEnd.objects.exclude(chain=trail.GLOBAL).filter(sequence__gt=F("anchored"))
    if before is not None:
        loose = loose.filter(Q(anchored_at=None) | Q(anchored_at__lt=before))
    return list(loose.order_by("chain").values_list("chain", flat=True)[:_MOST])


def has_pending() -> bool:
    """Whether any chain of a run went on since it was last named."""
    return ChainEnd.objects.exclude(chain=trail.GLOBAL).filter(sequence__gt=F("anchored")).exists()


def _tie(chains: list[int]) -> None:
    with transaction.atomic():
        heads = {str(head.chain): f"{head.sequence}:{head.hash}" for head in map(trail.lock_chain, chains)}
        trail.record(AuditAction.HISTORY_ANCHORED, by=None, about=trail.AuditSubject(), detail={"heads": heads})
        ChainEnd.objects.filter(chain__in=chains).update(anchored=F("sequence"), anchored_at=timezone.now())


def anchor_pending(*, older_than: timedelta | None = None) -> int:
    """Name the heads of all chains that went on since they were last named; gives how many those were.

    - `older_than` leaves out chains that were named less long ago.
    """
    tied = 0
    before = None if older_than is None else timezone.now() - older_than
    while chains := _find_loose(before):
        _tie(chains)
        tied += len(chains)
    return tied
