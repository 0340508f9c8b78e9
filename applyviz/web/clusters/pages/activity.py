"""The activity of clusters over some days: runs, changes outside review, freezes and drifted fields, as a picture.

Everything is limited to what the reader may see. Places are percentages, so that the picture fits any width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import FindingSort, RunState
from applyviz.records.models import Cluster, LiveFinding, PolicyVersion
from applyviz.workflow import policies, runs
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.scopes import fits
from applyviz.workflow.plans.live_history import show_findings
from applyviz.workflow.policies import rules_from_json
from applyviz.workflow.policies.windows import Freeze

_HEIGHT, _BASE = 40, 42
_LARGEST_BAR = 36
_BAD = (RunState.FAILED, RunState.STALE)


class ChartMark(Struct, frozen=True):
    """A bar, a shade or a sign; all places are texts."""

    x: str
    y: str = ""
    width: str = ""
    height: str = ""
    title: str = ""


class ActivityStrip(Struct, frozen=True):
    """The picture of one cluster, and the sentence that says its numbers."""

    label: str
    runs: tuple[ChartMark, ...]
    failed: tuple[ChartMark, ...]
    outside: tuple[ChartMark, ...]
    freezes: tuple[ChartMark, ...]
    drift: str
    first: str
    middle: str


class _Days(Struct, frozen=True):
    """The days of a picture, the last one is today."""

    first: date
    count: int

    @property
    def step(self) -> float:
        return 100 / self.count

    def find(self, at: datetime) -> int:
        return (localtime(at).date() - self.first).days

    def scale(self, day: float) -> str:
        return f"{day * self.step:.2f}%"

    def centre(self, day: int) -> str:
        return f"{(day + 0.5) * self.step:.2f}%"

    def name(self, day: int) -> str:
        return date_format(self.first + timedelta(days=day), "j M")


def _draw_runs(
    days: _Days, found: Mapping[int, Counter[bool]], most: int
) -> tuple[tuple[ChartMark, ...], tuple[ChartMark, ...]]:
    unit = min(7.0, _LARGEST_BAR / max(most, 1))
    width = f"{days.step * 0.48:.2f}%"
    bars: list[ChartMark] = []
    failed: list[ChartMark] = []
    for day, counts in sorted(found.items()):
        total, bad = sum(counts.values()), counts[True]
        title = ngettext("%(n)d run", "%(n)d runs", total) % {"n": total}
        x = days.scale(day + 0.26)
        for marks, number in ((bars, total), (failed, bad)):
            if number:
                height = number * unit
                marks.append(
                    ChartMark(x, f"{_BASE - height:.1f}", width, f"{height:.1f}", f"{days.name(day)}: {title}")
                )
    return tuple(bars), tuple(failed)


def _draw_freezes(days: _Days, freezes: Iterable[Freeze]) -> tuple[ChartMark, ...]:
    marks = []
    for freeze in freezes:
        begin, end = max(0, days.find(freeze.starts_at)), min(days.count, days.find(freeze.ends_at) + 1)
        if begin < end and end > 0 and begin < days.count:
            marks.append(ChartMark(days.scale(begin), "2", days.scale(end - begin), str(_HEIGHT), freeze.reason))
    return tuple(marks)


def _count_drift(days: _Days, found: Iterable[LiveFinding]) -> list[int]:
    """The fields that had drifted on each day, as scans saw them come and go."""
    totals = [0] * days.count
    for finding in found:
        end = days.count if finding.gone_at is None else days.find(finding.gone_at)
        for day in range(max(0, days.find(finding.first_seen)), min(days.count, end)):
            totals[day] += len(finding.fields)
    return totals


def _draw_drift(totals: Sequence[int]) -> str:
    """A line in a field of 100 by 40 units; "" when nothing drifted."""
    most = max(totals, default=0)
    if not most:
        return ""
    unit, step = min(5.0, _LARGEST_BAR / most), 100 / len(totals)
    return " ".join(f"{(day + 0.5) * step:.2f},{_HEIGHT - 2 - count * unit:.1f}" for day, count in enumerate(totals))


def _describe(name: str, days: _Days, found: Mapping[int, Counter[bool]], outside: int, drifted: int) -> str:
    total = sum(sum(counts.values()) for counts in found.values())
    failed = sum(counts[True] for counts in found.values())
    parts = [
        ngettext("%(n)d run", "%(n)d runs", total) % {"n": total},
        _("%(n)d failed") % {"n": failed},
        ngettext("%(n)d change outside review", "%(n)d changes outside review", outside) % {"n": outside},
        ngettext("%(n)d drifted field now", "%(n)d drifted fields now", drifted) % {"n": drifted},
    ]
    return _("%(name)s, last %(days)d days: %(facts)s") % {"name": name, "days": days.count, "facts": ", ".join(parts)}


def _list_freezes(cluster: Cluster, in_force: Iterable[PolicyVersion]) -> list[Freeze]:
    return [
        freeze
        for version in in_force
        if fits(version.cluster_pattern, cluster.slug)
        for freeze in rules_from_json(version.rules).freezes
    ]


def present_activity(clusters: Sequence[Cluster], *, for_user: Person, days: int = 30) -> dict[int, ActivityStrip]:
    """Return the strip of each cluster, by its primary key; the number of queries does not grow with clusters."""
    span = _Days(localtime(clock.now()).date() - timedelta(days=days - 1), days)
    since = clock.now() - timedelta(days=days)
    ran: dict[int, dict[int, Counter[bool]]] = {}
    started = runs.list_runs(for_user=for_user).filter(plan__target__cluster__in=clusters, created_at__gte=since)
    for cluster_id, at, state in started.values_list("plan__target__cluster_id", "created_at", "state"):
        if 0 <= (day := span.find(at)) < days:
            ran.setdefault(cluster_id, {}).setdefault(day, Counter())[state in _BAD] += 1
    sorts = [FindingSort.CHANGED, FindingSort.MISSING, FindingSort.DRIFTED]
    found = LiveFinding.objects.filter(cluster__in=clusters, sort__in=sorts)
    found = show_findings(access.limit_findings(found, for_user), for_user)
    findings: dict[int, list[LiveFinding]] = {}
    for finding in found.only("cluster_id", "sort", "first_seen", "gone_at", "changed_at", "fields"):
        findings.setdefault(finding.cluster_id, []).append(finding)
    in_force = tuple(policies.list_in_force())
    return {
        one.pk: _present(one, span, ran.get(one.pk, {}), findings.get(one.pk, []), _list_freezes(one, in_force))
        for one in clusters
    }


def _present(
    cluster: Cluster,
    days: _Days,
    ran: Mapping[int, Counter[bool]],
    findings: Sequence[LiveFinding],
    freezes: Sequence[Freeze],
) -> ActivityStrip:
    outside = [f for f in findings if f.sort != FindingSort.DRIFTED]
    seen = [day for f in outside if 0 <= (day := days.find(f.changed_at or f.first_seen)) < days.count]
    drift = _count_drift(days, [f for f in findings if f.sort == FindingSort.DRIFTED])
    bars, failed = _draw_runs(days, ran, max((sum(counts.values()) for counts in ran.values()), default=0))
    return ActivityStrip(
        label=_describe(cluster.name, days, ran, len(seen), drift[-1]),
        runs=bars,
        failed=failed,
        outside=tuple(ChartMark(days.centre(day)) for day in sorted(set(seen))),
        freezes=_draw_freezes(days, freezes),
        drift=_draw_drift(drift),
        first=days.name(0),
        middle=days.name(days.count // 2),
    )
