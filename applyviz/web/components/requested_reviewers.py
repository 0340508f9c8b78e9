"""Requested reviewers as pages show them: each name with a shape and a word for where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from applyviz.web.components.badges import Appearance
from applyviz.workflow.approvals.requested_reviewers import RequestedReviewer

_APPROVED = Appearance("✓", _("approved"), "add")
_AWAITED = Appearance("○", _("awaiting review"), "warn")
_LOST = Appearance("!", _("can no longer approve"), "remove")


@dataclass(frozen=True, slots=True)
class ReviewerRow:
    """One requested reviewer."""

    account: int
    name: str
    style: Appearance


def _choose_style(one: RequestedReviewer) -> Appearance:
    if one.has_approved:
        return _APPROVED
    return _AWAITED if one.can_approve else _LOST


def present_requested(found: Iterable[RequestedReviewer]) -> tuple[ReviewerRow, ...]:
    """Return the rows of requested reviewers, in their order."""
    return tuple(ReviewerRow(one.account, one.name, _choose_style(one)) for one in found)
