"""The chart of activity above the history: one bar for each day, which leads to the entries of that day."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.workflow.evidence.daily_counts import count_days
from applyviz.workflow.evidence.name_filters import HistoryFilter
from applyviz.workflow.foundation.access import Visitor

_DAYS, _MOST_DAYS, _AFTER = 30, 90, 14
_BASE, _LARGEST = 44.0, 40.0


class DayBar(Struct, frozen=True):
    """One day with entries; places are texts, `slot` is the width of the whole day."""

    label: str
    url: str
    x: str
    slot: str
    bar_x: str
    width: str
    y: str
    height: str
    is_chosen: bool


class DailyActivity(Struct, frozen=True):
    """The chart: bars of the days with entries, and the words that say its numbers."""

    label: str
    bars: tuple[DayBar, ...]
    most: int
    first: str
    middle: str
    last: str
    whole_url: str


def choose_days(since: date | None, until: date | None, today: date) -> tuple[date, date]:
    """Return the first and last day of the chart: the last 30 days, or days around the chosen period, at most 90."""
    last = today
    if until is not None and until <= today - timedelta(days=_DAYS):
        last = min(today, until + timedelta(days=_AFTER))
    first = last - timedelta(days=_DAYS - 1)
    if since is not None and since < first:
        first = max(since, last - timedelta(days=_MOST_DAYS - 1))
    return first, last


def _link(chosen: HistoryFilter, **period: date) -> str:
    kept = {name: str(value) for name, value in chosen.items() if name not in ("since", "until")}
    query = urlencode({**kept, **{name: day.isoformat() for name, day in period.items()}})
    return f"{reverse('history:list-entries')}?{query}"


def _draw(
    day: date, count: int, most: int, at: int, step: float, url: str, chosen: tuple[date | None, date | None]
) -> DayBar:
    height = max(2.0, _LARGEST * count / most)
    since, until = chosen
    text = ngettext("%(day)s: %(n)d entry", "%(day)s: %(n)d entries", count)
    return DayBar(
        label=text % {"day": date_format(day, "j M"), "n": count},
        url=url,
        x=f"{at * step:.3f}%",
        slot=f"{step:.3f}%",
        bar_x=f"{(at + 0.15) * step:.3f}%",
        width=f"{step * 0.7:.3f}%",
        y=f"{_BASE - height:.1f}",
        height=f"{height:.1f}",
        is_chosen=bool(since or until) and (since or day) <= day <= (until or day),
    )


def present_days(wanted: HistoryFilter, chosen: HistoryFilter, *, for_user: Visitor | None) -> DailyActivity:
    """Return the chart of the entries that match a filter.

    - `wanted` is the filter with widened names, `chosen` as the person wrote it.
    """
    period = chosen.get("since"), chosen.get("until")
    first, last = choose_days(*period, clock.host_today())
    counts = count_days(wanted, first=first, last=last, for_user=for_user)
    number, most = (last - first).days + 1, max(counts.values(), default=0)
    step, total = 100 / number, sum(counts.values())
    words = ngettext("%(n)d entry in %(days)d days", "%(n)d entries in %(days)d days", total)
    return DailyActivity(
        label=words % {"n": total, "days": number},
        bars=tuple(
            _draw(day, count, most, (day - first).days, step, _link(chosen, since=day, until=day), period)
            for day, count in sorted(counts.items())
            if count
        ),
        most=most,
        first=date_format(first, "j M"),
        middle=date_format(first + timedelta(days=number // 2), "j M"),
        last=_("today") if last == clock.host_today() else date_format(last, "j M"),
        whole_url=_link(chosen) if any(period) else "",
    )
