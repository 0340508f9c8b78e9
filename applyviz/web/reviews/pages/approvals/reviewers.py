"""The page on which an author asks people for a review: who can be asked, and who was."""

from __future__ import annotations

from collections.abc import Collection

from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import ReviewState
from applyviz.records.models import Review
from applyviz.web.components.requested_reviewers import ReviewerRow, present_requested
from applyviz.workflow.approvals import quorum, requested_reviewers
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

SHOWN = 30
SEARCHED = 9
"""A list of more people than this has a field to find a name."""


class ReviewerList(Struct, frozen=True):
    """The people to choose from, those who were asked first, and the number of those that are not listed."""

    rows: tuple[ReviewerRow, ...]
    more: int


class ReviewersPage(Struct, frozen=True):
    """The page, or the sheet beside the review; `people_url` is where an administrator gives people the role."""

    review_number: int
    title: str
    options: tuple[ReviewerRow, ...]
    is_open: bool
    back_url: str
    form_url: str
    people_url: str

    @property
    def accounts(self) -> tuple[int, ...]:
        """Return the accounts of everyone who can be chosen."""
        return tuple(one.account for one in self.options)

    @property
    def asked(self) -> tuple[int, ...]:
        """Return the accounts that were asked before."""
        return tuple(one.account for one in self.options if one.style is not None)

    @property
    def has_search(self) -> bool:
        """Return whether the list is long enough to look for a name."""
        return len(self.options) > SEARCHED

    def select(self, wanted: str, checked: Collection[str]) -> ReviewerList:
        """Return who is listed: everyone who is checked, and the first ones with the wanted name."""
        found = [one for one in self.options if wanted.casefold() in one.name.casefold()]
        listed = {one.account for one in found[:SHOWN]}
        rows = tuple(one for one in self.options if one.account in listed or str(one.account) in checked)
        return ReviewerList(rows, len(found) - len(listed))


def _list_asked(review: Review) -> tuple[ReviewerRow, ...]:
    plan = review.latest_plan
    if plan is None:
        return ()
    return present_requested(review, requested_reviewers.find_reviewers(plan, quorum.count_quorum(plan)))


def present_reviewers(review: Review, *, for_user: Person) -> ReviewersPage:
    """Return the page of a review."""
    asked, plan = _list_asked(review), review.latest_plan
    options = list(asked)
    known = {one.account for one in asked}
    for person in () if plan is None else requested_reviewers.list_askable(plan):
        if person.pk not in known:
            options.append(ReviewerRow(person.pk, person.get_username(), None))
    return ReviewersPage(
        review_number=review.number,
        title=review.title,
        options=tuple(options),
        is_open=review.state == ReviewState.OPEN,
        back_url=reverse("reviews:show-latest-overview", args=[review.number]),
        form_url=reverse("reviews:request-reviewers", args=[review.number]),
        people_url=reverse("settings:list-people") if access.can(for_user, Action.MANAGE) else "",
    )
