"""Read model of field owners over time: when, observed by what, number of fields per owner, changed fields."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.owners import Owner
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.workflow.live.ownership_history import (
    FieldOwner,
    OwnerChange,
    OwnershipEvent,
    OwnershipPeriod,
    OwnersOverTime,
    Source,
)

SHOWN, PATHS_SHOWN = 20, 6


class OwnershipRow(Struct, frozen=True):
    """One field owner with its number of fields, gains and losses."""

    owner: OwnerChip
    count: int
    gained: int
    lost: int


class OwnerChangeRow(Struct, frozen=True):
    """One field whose owner changed."""

    path: str
    before: tuple[OwnerChip, ...]
    after: tuple[OwnerChip, ...]


class MomentRow(Struct, frozen=True):
    """One moment at which owners changed."""

    at: datetime
    where: str
    url: str
    is_there: bool
    holdings: tuple[OwnershipRow, ...]
    handovers: tuple[OwnerChangeRow, ...]
    more: int


class PeriodRow(Struct, frozen=True):
    """One owner as a bar over time; places are percentages, written as texts."""

    owner: OwnerChip
    x: str
    width: str
    most: int
    since: datetime
    until: datetime | None


class OwnerTimes(Struct, frozen=True):
    """The moments, newest first, and a bar for each owner; `is_cut`: there are older moments."""

    rows: tuple[MomentRow, ...]
    is_cut: bool
    periods: tuple[PeriodRow, ...] = ()


def _chip(owner: FieldOwner) -> OwnerChip:
    return present_owner(Owner(owner.manager, owner.operation, "", owner.subresource, ""))


def _where(moment: OwnershipEvent) -> tuple[str, str]:
    reading = moment.reading
    if reading.source is Source.RUN and reading.run is not None:
        url = reverse("runs:show-result", args=[reading.run, reading.position])
        return _("run %(number)d") % {"number": reading.run}, url
    changes = reverse("reviews:show-changes", args=[reading.review, reading.plan])
    text = _("#%(review)d · plan %(plan)d") % {"review": reading.review, "plan": reading.plan}
    return text, f"{changes}?only={reading.position}&view=owners"


def _present_handover(one: OwnerChange) -> OwnerChangeRow:
    return OwnerChangeRow(one.path, tuple(_chip(o) for o in one.before), tuple(_chip(o) for o in one.after))


def _present_moment(moment: OwnershipEvent) -> MomentRow:
    where, url = _where(moment)
    return MomentRow(
        moment.at,
        where,
        url,
        moment.is_there,
        tuple(OwnershipRow(_chip(h.owner), h.fields, h.gained, h.lost) for h in moment.holdings),
        tuple(_present_handover(one) for one in moment.handovers[:PATHS_SHOWN]),
        moment.handover_count - len(moment.handovers[:PATHS_SHOWN]),
    )


def _present_periods(periods: Sequence[OwnershipPeriod], last: datetime) -> tuple[PeriodRow, ...]:
    """Return one bar per time that an owner had fields, on one axis from the first of them until now."""
    if not periods:
        return ()
    first = min(period.since for period in periods)
    whole = max((last - first).total_seconds(), 1.0)

    def scale(at: datetime) -> float:
        return (at - first).total_seconds() / whole * 100

    rows = []
    for period in periods[:SHOWN]:
        x = min(scale(period.since), 99.0)
        width = max(scale(period.until or last) - x, 1.0)
        rows.append(
            PeriodRow(_chip(period.owner), f"{x:.2f}%", f"{width:.2f}%", period.most, period.since, period.until)
        )
    return tuple(rows)


def present_owner_times(found: OwnersOverTime) -> OwnerTimes:
    """Return the newest moments."""
    rows = tuple(_present_moment(moment) for moment in found.moments[:SHOWN])
    periods = _present_periods(found.periods, clock.now())
    return OwnerTimes(rows, found.is_cut or len(found.moments) > SHOWN, periods)
