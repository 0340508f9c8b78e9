"""The pods that a plan restarts, by workload, from the stored figures.

A workload that a conflict blocks restarts once the conflict is resolved; one with strategy Recreate is down meanwhile.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.planning.model.summary import PlanSummary, Restart

SHOWN = 9
DRAWN = 12


class RestartRow(Struct, frozen=True):
    """One workload, or the rest of them as one row.

    - `pods` is 0 when the number is unknown; at most `DRAWN` are drawn.
    """

    name: str
    kind: str
    pods: int
    note: str = ""
    is_pending: bool = False
    is_stopped: bool = False

    @property
    def drawn(self) -> range:
        """Return one mark per pod."""
        return range(min(self.pods, DRAWN))


def _row(one: Restart, *, is_stopped: bool, is_pending: bool) -> RestartRow:
    note = _("stops before it starts again") if is_stopped else _("once resolved") if is_pending else ""
    note = _("replaced") if one.is_new else note
    return RestartRow(one.ref.name, one.ref.gvk.kind, one.pods, note, is_pending, is_stopped)


def list_restarts(summary: PlanSummary) -> tuple[RestartRow, ...]:
    """Return the workloads with most pods first; the rest as one row."""
    stopped = frozenset(summary.stopped)
    rows = [_row(one, is_stopped=one.ref in stopped, is_pending=False) for one in summary.restarts]
    rows += [_row(one, is_stopped=one.ref in stopped, is_pending=True) for one in summary.pending]
    rows.sort(key=lambda row: (not row.is_stopped, -row.pods, row.is_pending))
    if len(rows) <= SHOWN + 1:
        return tuple(rows)
    rest = rows[SHOWN:]
    names = ", ".join(row.name for row in rest[:4]) + (" …" if len(rest) > 4 else "")
    text = ngettext("%(n)d more", "%(n)d more", len(rest)) % {"n": len(rest)}
    pods = sum(row.pods for row in rest) if all(row.pods for row in rest) else 0
    return (*rows[:SHOWN], RestartRow(text, "", pods, names, all(row.is_pending for row in rest)))


def count_pods(summary: PlanSummary) -> str:
    """Return how many pods restart, how many once conflicts are resolved, and of how many workloads all of them do."""
    now = sum(one.pods for one in summary.restarts)
    later = now + sum(one.pods for one in summary.pending)
    text = _("%(now)d · %(later)d once resolved") % {"now": now, "later": later} if later > now else str(now)
    uncounted = sum(not one.pods for one in summary.restarts)
    if not uncounted:
        return text
    others = ngettext("all of %(n)d workload", "all of %(n)d workloads", uncounted) % {"n": uncounted}
    return _("%(counted)s, and %(others)s") % {"counted": text, "others": others} if later else others
