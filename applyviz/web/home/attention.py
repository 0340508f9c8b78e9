"""The reviews, runs and clusters that need a person, by urgency, each with one act; and those that wait on others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import IntEnum

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.web.clusters.pages.findings import DriftRow
from applyviz.web.reviews.pages.review_list import ReviewRow, Share

Text = str | Promise
SHOWN = 8
_VIEW = _("View")


class Urgency(IntEnum):
    """The order of the list: who was asked by name, what is broken, what waits for an approval, drift, the rest."""

    ASKED = 0
    BROKEN = 1
    APPROVAL = 2
    DRIFT = 3
    REQUESTED = 4
    CALM = 5


_TONES = {
    Urgency.ASKED: "warn",
    Urgency.BROKEN: "remove",
    Urgency.APPROVAL: "warn",
    Urgency.DRIFT: "warn",
    Urgency.REQUESTED: "change",
    Urgency.CALM: "calm",
}


class NextAction(Struct, frozen=True):
    """The next step of a review, whether this person can take it, and its action; `url` "" is the review itself."""

    what: Text
    is_yours: bool = False
    urgency: Urgency = Urgency.CALM
    act: Text = _VIEW
    url: str = ""


class Waiting(Struct, frozen=True):
    """A review with what it waits for."""

    review: ReviewRow
    next: NextAction

    @property
    def tone(self) -> str:
        """The tone of its bar."""
        return _TONES[self.next.urgency]


class AttentionRow(Struct, frozen=True):
    """One line: a title, why it is there, and one act."""

    tone: str
    title: Text
    number: int
    what: Text
    where: str
    shares: tuple[Share, ...]
    at: datetime | None
    act: Text
    url: str
    is_first: bool = False


def _present_review(waiting: Waiting, is_first: bool) -> AttentionRow:
    review = waiting.review
    return AttentionRow(
        waiting.tone,
        review.title,
        review.number,
        waiting.next.what,
        review.target,
        review.shares,
        review.updated_at,
        waiting.next.act,
        waiting.next.url or review.url,
        is_first,
    )


def _present_drift(row: DriftRow) -> AttentionRow:
    counts = ", ".join(f"{count} {style.word}" for style, count in row.counts)
    scanned = gettext("scanned before run %(number)d") % {"number": row.later_run} if row.later_run else ""
    return AttentionRow(
        _TONES[Urgency.DRIFT],
        gettext("%(name)s differs from what was applied") % {"name": row.name},
        0,
        counts,
        " · ".join(filter(None, ("; ".join(row.named), scanned))),
        (),
        row.at,
        _("View changes"),
        row.url,
    )


def order_attention(waiting: Iterable[Waiting], drifted: Sequence[DriftRow]) -> tuple[AttentionRow, ...]:
    """Return what needs attention, the most urgent first; only the first act is primary."""
    mine = sorted(waiting, key=lambda one: one.next.urgency)
    urgent = [one for one in mine if one.next.urgency < Urgency.DRIFT]
    rest = [one for one in mine if one.next.urgency >= Urgency.DRIFT]
    rows = [_present_review(one, n == 0) for n, one in enumerate(urgent)]
    rows += [_present_drift(row) for row in drifted]
    return (*rows, *(_present_review(one, not rows and n == 0) for n, one in enumerate(rest)))
