"""How many entries of the history match a filter on each of some days.

One statement with a part for each day: each part reads the index of the moments, and none of the entries. A word search
reads its few entries instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta

from django.db.models import Count, IntegerField, Q, QuerySet, Value
from django.utils.timezone import localtime

from applyviz import clock
from applyviz.records import full_text
from applyviz.records.models import AuditEntry
from applyviz.workflow.evidence.history import find_filtered, reveals_content, words_of
from applyviz.workflow.evidence.name_filters import HistoryFilter
from applyviz.workflow.foundation.access import Visitor, visible_entries
from applyviz.workflow.plans.live_history import SILENT, TELLING

_FEW = 5_000


def _count_each(entries: QuerySet[AuditEntry], days: list[date]) -> Counter[date]:
    parts = [
        entries.order_by()
        .filter(at__gte=clock.find_start(day), at__lt=clock.find_start(day + timedelta(days=1)))
        .annotate(day=Value(number, IntegerField()))
        .values("day")
        .annotate(n=Count("pk"))
        for number, day in enumerate(days)
    ]
    found = parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]
    return Counter({days[row["day"]]: row["n"] for row in found})


def count_days(
    chosen: HistoryFilter, *, first: date, last: date, for_user: Visitor | None = None
) -> Mapping[date, int]:
    """Return the entries of each day from `first` to `last` that match `chosen` without its own period.

    - Entries that would reveal something of a Secret that is hidden from a reader are left out for every reader.
    """
    plain = {name: value for name, value in chosen.items() if name not in ("since", "until")}
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    entries = find_filtered({**plain, "since": first, "until": last})
    if for_user is not None:
        entries = visible_entries(entries, for_user).exclude(TELLING if reveals_content(plain) else SILENT)
    words = words_of(plain)
    if not words:
        return _count_each(entries, days)
    with full_text.searching():
        numbers = full_text.find_numbers(words, most=_FEW)
        if numbers is None:
            return _count_each(entries.filter(full_text.match(words, is_common=True)), days)
        moments = entries.filter(Q(id__in=numbers)).values_list("at", flat=True)
        return Counter(localtime(at).date() for at in moments)
