"""Read model of field owners over time: when, observed by what, number of fields per owner, changed fields."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.engine.objects.owners import Owner
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.workflow.live.ownership_history import FieldOwner, Moment, OwnerChange, OwnersOverTime, Source

SHOWN, PATHS_SHOWN = 20, 6


@dataclass(frozen=True, slots=True)
class OwnershipRow:
    """One field owner with its number of fields, gains and losses."""

    owner: OwnerChip
    count: int
    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class OwnerChangeRow:
    """One field whose owner changed."""

    path: str
    before: tuple[OwnerChip, ...]
    after: tuple[OwnerChip, ...]


@dataclass(frozen=True, slots=True)
class MomentRow:
    """One moment at which owners changed."""

    at: datetime
    where: str
    url: str
    is_there: bool
    holdings: tuple[OwnershipRow, ...]
    handovers: tuple[OwnerChangeRow, ...]
    more: int


@dataclass(frozen=True, slots=True)
class OwnerTimes:
    """The moments, newest first; `is_cut`: there are older ones."""

    rows: tuple[MomentRow, ...]
    is_cut: bool


def _chip(owner: FieldOwner) -> OwnerChip:
    return present_owner(Owner(owner.manager, owner.operation, "", owner.subresource, ""))


def _where(moment: Moment) -> tuple[str, str]:
    reading = moment.reading
    if reading.source is Source.RUN and reading.run is not None:
        url = reverse("runs:show-result", args=[reading.run, reading.position])
        return _("run %(number)d") % {"number": reading.run}, url
    url = reverse("reviews:show-object", args=[reading.review, reading.plan, reading.position, "owners"])
    return _("#%(review)d · plan %(plan)d") % {"review": reading.review, "plan": reading.plan}, url


def _present_handover(one: OwnerChange) -> OwnerChangeRow:
    return OwnerChangeRow(one.path, tuple(_chip(o) for o in one.before), tuple(_chip(o) for o in one.after))


def _present_moment(moment: Moment) -> MomentRow:
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


def present_owner_times(found: OwnersOverTime) -> OwnerTimes:
    """Return the newest moments."""
    rows = tuple(_present_moment(moment) for moment in found.moments[:SHOWN])
    return OwnerTimes(rows, found.is_cut or len(found.moments) > SHOWN)
