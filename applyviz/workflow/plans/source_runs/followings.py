"""The end of following a branch: by a person, by what happened, or because manifests no longer come from the branch."""

from __future__ import annotations

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction
from applyviz.records.git_enums import FollowEnd
from applyviz.records.models import Following, Review, SourceRevision
from applyviz.sources.git.model import GIT
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import git_sources
from applyviz.workflow.plans.source_runs import earlier_plans


def find_branch(revision: SourceRevision) -> str:
    """Return the branch that a review of these manifests can follow; "" if they are not from one branch alone."""
    if git_sources.find_again(revision) is None:
        return ""
    facts = revision.provenance.get(GIT, {})
    return str(facts.get("ref", "")) if facts.get("ref_kind") == "branch" else ""


def is_followed(revision: SourceRevision, following: Following) -> bool:
    """Return whether manifests come from the branch that is followed, and from nowhere else."""
    is_there = earlier_plans.locate_repository(revision) == following.location
    return is_there and find_branch(revision) == following.branch


def describe_subject(review: Review) -> trail.AuditSubject:
    """Return what the audit entries about a following are about."""
    target = review.targets.select_related("cluster").first()
    return trail.AuditSubject(cluster=target.cluster.slug if target else "", review=review.number)


def end_following(
    following: Following, reason: FollowEnd, *, by: Person | None, successor: Review | None = None
) -> bool:
    """End a following in the caller's transaction; return False if it ended already. A forged one stays forged."""
    is_genuine = not row_macs.find_fault(following)
    following.ended_at, following.end_reason, following.ended_by = clock.now(), reason, by
    if is_genuine:
        row_macs.vouch(following)
    ended = Following.objects.filter(pk=following.pk, ended_at=None).update(
        ended_at=following.ended_at,
        end_reason=reason,
        ended_by=by,
        mac=following.mac,
        successor=successor,
        due_at=None,
        lease_until=None,
    )
    if not ended:
        return False
    detail: dict[str, JSONValue] = {
        "branch": following.branch,
        "why": reason.value,
        "requester": following.by.get_username(),
        **({"next review": successor.number} if successor is not None else {}),
    }
    trail.record(AuditAction.FOLLOWING_ENDED, by=by, about=describe_subject(following.review), detail=detail)
    return True


def end_left(review: Review, revision: SourceRevision, *, by: Person) -> None:
    """End the followings of a review whose next manifests come from elsewhere, in the caller's transaction.

    - Otherwise the next push would replace these manifests, or fetch files that nobody chose.
    """
    for following in Following.objects.filter(review=review, ended_at=None).select_related("by", "review"):
        if not is_followed(revision, following):
            end_following(following, FollowEnd.OTHER_MANIFESTS, by=by)
