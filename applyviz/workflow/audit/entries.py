"""Entries of the audit log by what they record: the one list that its checks and pages read."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry


def list_entries(*actions: AuditAction) -> QuerySet[AuditEntry]:
    """Return the entries that record one of these actions, oldest first."""
    return AuditEntry.objects.filter(action__in=actions).order_by("pk")


def stream_entries(*actions: AuditAction) -> Iterator[AuditEntry]:
    """Yield the same entries without holding all of them."""
    return list_entries(*actions).iterator(chunk_size=2_000)


def name_action(action: str) -> str:
    """Return the words for an action; that of another version keeps its stored name."""
    return str(AuditAction(action).label) if action in AuditAction.values else action
