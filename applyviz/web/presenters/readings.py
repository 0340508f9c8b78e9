"""What can only be said by reading every change of a plan: changes that are the same, and the risks.

A complete plan never changes, so a reading is kept. Values are compared as the masked documents have them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.hazards.model import HazardKind, Severity
from applyviz.engine.hazards.sentences import title
from applyviz.engine.objects.values import canonical_json
from applyviz.engine.planning.plan import ObjectChange, Operation
from applyviz.records.models import ObjectChange as ChangeRow
from applyviz.web.presenters.fields import render_short
from applyviz.web.presenters.objects import SameChange
from applyviz.web.presenters.values import ABSENT, find_value, show_value
from applyviz.workflow.changes import read_masked

ALIKE_FROM = 3
_MOVING = frozenset({FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED})
_LOUDNESS = {Severity.DANGER: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class FoundRisk:
    """One kind of hazard in a plan, and the first object that has it."""

    severity: Severity
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a plan says as a whole."""

    same: tuple[SameChange, ...] = ()
    risks: tuple[FoundRisk, ...] = ()


def _written(value: object) -> str:
    return "" if value is ABSENT else canonical_json(value)


def _moving(change: ObjectChange) -> list[FieldReason]:
    return [r for r in change.fields if r.operation in _MOVING and r.reason is not Reason.BOOKKEEPING]


def _sign(change: ObjectChange) -> frozenset[tuple[object, ...]]:
    versions = change.versions
    return frozenset(
        (r.path, r.operation, _written(find_value(versions.live, r.path)), _written(find_value(versions.after, r.path)))
        for r in _moving(change)
    )


def _describe(change: ObjectChange) -> str:
    moving = _moving(change)
    first = moving[0]
    live = show_value(find_value(change.versions.live, first.path))
    after = show_value(find_value(change.versions.after, first.path))
    is_short = all(v is None or not v.is_long for v in (live, after))
    text = render_short(first.path)
    if is_short:
        text += f": {live.text if live else _('not set')} → {after.text if after else _('gone')}"
    more = len(moving) - 1
    if more:
        text += ngettext(" and %(count)d more field", " and %(count)d more fields", more) % {"count": more}
    return text


def find_same(changes: Iterable[tuple[int, ObjectChange]]) -> tuple[SameChange, ...]:
    """Groups of updates whose fields move from the same values to the same values."""
    alike: dict[frozenset[tuple[object, ...]], list[tuple[int, ObjectChange]]] = {}
    for position, change in changes:
        signature = _sign(change) if change.operation is Operation.UPDATE else frozenset()
        if signature:
            alike.setdefault(signature, []).append((position, change))
    return tuple(
        SameChange(_describe(group[0][1]), frozenset(p for p, _change in group))
        for group in alike.values()
        if len(group) >= ALIKE_FROM
    )


def find_risks(changes: Iterable[tuple[int, ObjectChange]]) -> tuple[FoundRisk, ...]:
    """One line per kind of hazard, the loudest first."""
    found: dict[tuple[HazardKind, Severity], list[tuple[int, ObjectChange]]] = {}
    for position, change in changes:
        for kind, severity in dict.fromkeys((h.kind, h.severity) for h in change.hazards):
            if severity is not Severity.INFO:
                found.setdefault((kind, severity), []).append((position, change))
    ordered = sorted(found.items(), key=lambda pair: (_LOUDNESS[pair[0][1]], pair[1][0][0]))
    return tuple(
        FoundRisk(
            severity,
            f"{where[0][1].ref.name}: {title(kind)}" if len(where) == 1 else f"{title(kind)} × {len(where)}",  # noqa: RUF001 drawn
            where[0][0],
        )
        for (kind, severity), where in ordered
    )


@lru_cache(maxsize=64)
def read_plan(plan_id: int, digest: str) -> Reading:
    """Read a complete plan once; the digest keeps readings of different databases apart."""
    rows = ChangeRow.objects.filter(plan_id=plan_id, plan__digest=digest).exclude(operation=Operation.UNCHANGED)
    changes = [(row.position, read_masked(row)) for row in rows.defer("sealed").iterator(chunk_size=100)]
    return Reading(find_same(changes), find_risks(changes))
