"""Facts that the next plan of a review takes over from earlier plans: its authors, and that its commits are recorded.

Rule: it is taken over from genuine rows alone. Whoever changed or removed them in the database would otherwise have the
next plan confirmed with fewer authors, or without the people behind its commits.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from applyviz.records.models import Following, Plan, Review, SourceRevision
from applyviz.sources.git.addresses import locate
from applyviz.sources.git.model import GIT
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.errors import NotPossibleError

_READ = ("review_id", "number", "revision_id", "requested_by_id", "authors", "followed", "created_at", "mac")


def _require(is_genuine: bool) -> None:
    if not is_genuine:
        raise NotPossibleError(_("the earlier plans of this review were changed in the database: create a new review"))


def list_genuine(review: Review, number: int, revision: SourceRevision) -> tuple[Plan, ...]:
    """Return all plans before this number, newest first.

    - Raises `NotPossibleError` if one is missing or was changed in the database, as were the files that the latest one
      shares with the next.
    """
    found = tuple(review.plans.only(*_READ).order_by("-number"))
    _require([plan.number for plan in found] == list(range(number - 1, 0, -1)))
    _require(len(row_macs.keep_genuine(found)) == len(found))
    _require(all(plan.revision_id != revision.pk for plan in found) or not row_macs.find_fault(revision))
    return found


def locate_repository(revision: SourceRevision) -> str:
    """Return host and path of the repository that files came from; "" without one."""
    return locate(str(revision.provenance.get(GIT, {}).get("repository", "")))


def list_followings(review: Review, location: str) -> list[Following]:
    """Return when a review followed branches of a repository, newest first.

    - Raises `NotPossibleError` if any of its followings was changed in the database.
    """
    rows = list(Following.objects.filter(review=review).order_by("-pk"))
    _require(len(row_macs.keep_genuine(rows)) == len(rows))
    return [row for row in rows if row.location == location]


def find_followed(earlier: Sequence[Plan], review: Review, revision: SourceRevision) -> str:
    """Return the repository whose commits are recorded for the next plan: it comes from there, and followed a branch.

    - Raises `NotPossibleError` if that it did was removed from the database.
    """
    location = locate_repository(revision)
    if not location:
        return ""
    is_followed = bool(list_followings(review, location))
    _require(is_followed or all(plan.followed != location for plan in earlier))
    return location if is_followed else ""
