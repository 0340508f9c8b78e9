"""Requested reviewers as pages show them: each name with a shape and a word for where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.enums import ReviewState
from applyviz.records.models import Review
from applyviz.web.components.badges import Appearance
from applyviz.workflow.approvals.requested_reviewers import RequestedReviewer

_APPROVED = Appearance("✓", _("approved"), "add")
_AWAITED = Appearance("○", _("awaiting review"), "warn")
_MISSED = Appearance("·", _("did not review"), "calm")
_LOST = Appearance("!", _("can no longer approve"), "remove")


class ReviewerRow(Struct, frozen=True):
    """One person who can be asked; `style`: the state of the request, None for a person who was not asked."""

    account: int
    name: str
    style: Appearance | None


def _choose_style(one: RequestedReviewer, *, is_open: bool) -> Appearance:
    if one.has_approved:
        return _APPROVED
    if not is_open:
        return _MISSED
    return _AWAITED if one.can_approve else _LOST


def present_requested(review: Review, found: Iterable[RequestedReviewer]) -> tuple[ReviewerRow, ...]:
    """Return the rows of the requested reviewers, in their order; none is awaited once the review is closed."""
    is_open = review.state == ReviewState.OPEN
    return tuple(ReviewerRow(one.account, one.name, _choose_style(one, is_open=is_open)) for one in found)
