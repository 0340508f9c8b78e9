"""Anchors: entries of the global chain that name the ends of run chains and so vouch for everything before them.

The end of a run anchors its chain at once. The recovery task anchors chains of long runs and of entries added after
the end. Publishing a checkpoint anchors everything first, so that one published line covers the whole trail.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from applyviz import clock
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
    """Return whether any run chain has grown since it was last anchored."""
    return ChainEnd.objects.exclude(chain=trail.GLOBAL).filter(sequence__gt=F("anchored")).exists()


def _tie(chains: list[int]) -> None:
    with transaction.atomic():
        heads = {str(head.chain): f"{head.sequence}:{head.hash}" for head in map(trail.lock_chain, chains)}
        trail.record(AuditAction.HISTORY_ANCHORED, by=None, about=trail.AuditSubject(), detail={"heads": heads})
        ChainEnd.objects.filter(chain__in=chains).update(anchored=F("sequence"), anchored_at=clock.host_now())


def anchor_pending(*, older_than: timedelta | None = None) -> int:
    """Anchor all run chains that have grown since they were last anchored; return how many.

    - `older_than` skips chains that were anchored more recently.
    """
    tied = 0
    before = None if older_than is None else clock.host_now() - older_than
    while chains := _find_loose(before):
        _tie(chains)
        tied += len(chains)
    return tied
