"""Comments that a person collects while reading, and sends together as one review.

Rule: only its author sees a collected comment. Collecting is no act on the review; the audit trail records sending it.
All are sent in one transaction, each about the plan that its author saw.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.models import CollectedComment, Comment, Plan
from applyviz.workflow.approvals import approving
from applyviz.workflow.approvals.comments import CommentContent, check_content, store_comment
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.foundation.locks import lock_review

MOST = 200


def list_collected(plan: Plan, *, by: Person) -> QuerySet[CollectedComment]:
    """Return what a person collected in the review of a plan, oldest first."""
    found = CollectedComment.objects.filter(plan__review=plan.review_id, by=by)
    return found.select_related("plan__review", "plan__target__cluster", "by")


def collect_comment(plan: Plan, *, by: Person, content: CommentContent) -> CollectedComment:
    """Keep a comment until its author sends it; raises `NotPossibleError` when `MOST` are kept."""
    access.require(by, Action.COMMENT, access.scopes_of(plan.review))
    with transaction.atomic():
        lock_review(plan.review_id)
        if list_collected(plan, by=by).count() >= MOST:
            raise NotPossibleError(_("you collected %(most)d comments; send them first") % {"most": MOST})
        return CollectedComment.objects.create(
            plan=plan,
            by=by,
            object_key=content.object_key,
            path=content.path,
            lines=content.lines,
            text=content.text,
            created_at=clock.host_now(),
        )


def drop_comment(plan: Plan, number: int, *, by: Person) -> None:
    """Remove one of a person's own collected comments; raises `NotVisibleError` for any other."""
    removed, _rows = list_collected(plan, by=by).filter(pk=number).delete()
    if not removed:
        raise NotVisibleError(f"there is no collected comment {number}")


def send_collected(plan: Plan, *, by: Person, note: str = "", digest: str = "") -> tuple[Comment, ...]:
    """Send all collected comments of a review, and a comment on the review itself (`note`), in one transaction.

    - `digest`: also request changes of the plan with this digest, with the note as the reason.
    - Raises `NotPossibleError` when there is nothing to send, and what requesting changes raises.
    """
    access.require(by, Action.COMMENT, access.scopes_of(plan.review))
    with transaction.atomic():
        lock_review(plan.review_id)
        found = list(list_collected(plan, by=by))
        if not found and not note.strip():
            raise NotPossibleError(_("you collected no comments"))
        if digest:
            approving.request_changes(plan, by=by, digest=digest, note=note)
        elif note.strip():
            store_comment(plan, by=by, content=check_content(note))
        sent = tuple(
            store_comment(one.plan, by=by, content=CommentContent(one.text, one.object_key, one.path, one.lines))
            for one in found
        )
        CollectedComment.objects.filter(pk__in=[one.pk for one in found]).delete()
    return sent
