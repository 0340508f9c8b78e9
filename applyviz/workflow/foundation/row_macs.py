"""MACs of grants and memberships: a row that was inserted or changed past the use cases gives no right.

A MAC covers what the row says and the audit entry that records it, under `APPLYVIZ_APPROVAL_KEY`, which web processes
and workers hold and the database does not. The end of a row is not covered, because ending takes rights away;
`audit.right_macs` compares it with the audit log.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Grant, TeamMember

RightRow = Grant | TeamMember
_Row = TypeVar("_Row", Grant, TeamMember)
_GIVEN = ("since", "by_id", "confirmed_by_id", "is_sole")
_COVERED: dict[type[RightRow], tuple[str, ...]] = {
    Grant: ("role", "person_id", "team_id", "cluster_pattern", "namespace_pattern", "is_cluster_scoped", *_GIVEN),
    TeamMember: ("team_id", "person_id", *_GIVEN),
}
ACTIONS: dict[type[RightRow], AuditAction] = {
    Grant: AuditAction.ROLE_GRANTED,
    TeamMember: AuditAction.TEAM_CHANGED,
}
"""The action of the audit entry that records a row."""


def _plain(value: Any) -> JSONValue:
    is_moment = isinstance(value, datetime)
    plain: JSONValue = value.astimezone(UTC).isoformat(timespec="microseconds") if is_moment else value
    return plain


def _make(row: RightRow, key: str) -> str:
    covered = [_plain(getattr(row, name)) for name in _COVERED[type(row)]]
    recorded: list[JSONValue] = [row.entry.pk, row.entry.hash] if row.entry is not None else []
    text = f"applyviz {type(row).__name__} {canonical_json([*covered, recorded])}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()


def vouch(row: RightRow, entry: AuditEntry | None) -> None:
    """Set the audit entry and the MAC of a row before it is stored."""
    if not settings.APPLYVIZ_APPROVAL_KEY:
        raise ImproperlyConfigured("APPLYVIZ_APPROVAL_KEY: it is not set here; web processes and workers hold it")
    row.entry = entry
    row.mac = _make(row, settings.APPLYVIZ_APPROVAL_KEY)


def find_fault(row: RightRow) -> str:
    """Return why a row is not genuine; "" when it is."""
    if row.entry is not None and row.entry.action != ACTIONS[type(row)]:
        return "its audit entry records something else"
    keys = (settings.APPLYVIZ_APPROVAL_KEY, *settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS)
    if not row.mac or not any(hmac.compare_digest(_make(row, key), row.mac) for key in keys if key):
        return "it was not made by this installation"
    return ""


def keep_genuine(rows: Iterable[_Row]) -> list[_Row]:
    """Return the rows that this installation made; they come with their entry (`select_related("entry")`)."""
    return [row for row in rows if not find_fault(row)]
