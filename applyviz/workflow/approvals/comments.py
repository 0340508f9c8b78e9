"""Comments on a review, on an object of a plan, or on a field or lines of it; their authors may edit them.

An edit keeps the earlier text, and nothing is deleted. The audit trail records who commented, edited or resolved, and
where; it holds no text.
"""

from __future__ import annotations

from copy import copy

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.paths import render_path
from applyviz.records.enums import AuditAction
from applyviz.records.models import Comment, ObjectChange, Plan
from applyviz.workflow.approvals.commented_lines import CommentedLines
from applyviz.workflow.approvals.viewed_objects import name_object
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.plans import changes

LONGEST = 10_000


class CommentContent(Struct, frozen=True):
    """The text of a comment and what it is about, checked and in the form in which both are stored."""

    text: str
    object_key: str = ""
    path: str = ""
    lines: str = ""


def _render_field(row: ObjectChange | None, field: int | None) -> str:
    if field is None:
        return ""
    fields = changes.read_masked(row).fields if row is not None else ()
    if field >= len(fields):
        raise NotValidError(_("the object has no field %(field)s") % {"field": field})
    return render_path(fields[field].path)


def _render_lines(row: ObjectChange | None, lines: CommentedLines | None) -> str:
    if lines is None:
        return ""
    if row is None or not 1 <= lines.first <= lines.last:
        raise NotValidError(_("the first line comes before the last one"))
    return str(lines)


def _check_text(text: str) -> str:
    text = text.strip()
    if not text:
        raise NotValidError(_("enter a comment"))
    if len(text) > LONGEST:
        raise NotValidError(_("a comment can have at most %(most)s characters") % {"most": f"{LONGEST:,}"})
    return text


def check_content(
    text: str, row: ObjectChange | None = None, field: int | None = None, lines: CommentedLines | None = None
) -> CommentContent:
    """Return the content of a comment on a review, on an object (`row`) of a plan, or on a field or lines of it.

    - Raises `NotValidError` for an empty or too long text, a field that does not exist, or lines of no object.
    """
    key = name_object(row) if row is not None else ""
    return CommentContent(_check_text(text), key, _render_field(row, field), _render_lines(row, lines))


def add_comment(plan: Plan, *, by: Person, content: CommentContent) -> Comment:
    """Add a comment to the review of a plan."""
    access.require(by, Action.COMMENT, access.scopes_of(plan.review))
    with transaction.atomic():
        return store_comment(plan, by=by, content=content)


def store_comment(plan: Plan, *, by: Person, content: CommentContent) -> Comment:
    """Store a comment of an author who was checked, with its audit entry, in the caller's transaction."""
    comment = Comment(
        review=plan.review,
        plan=plan,
        by=by,
        object_key=content.object_key,
        path=content.path,
        lines=content.lines,
        text=content.text,
        created_at=clock.host_now(),
    )
    row_macs.vouch(comment)
    comment.save(force_insert=True)
    row = find_row(plan, content.object_key)
    trail.record(
        AuditAction.COMMENT_ADDED,
        by=by,
        about=trail.AuditSubject(
            cluster=plan.target.cluster.slug,
            review=plan.review.number,
            plan=plan.number,
            ref=changes.ref_of(row) if row is not None else None,
        ),
        detail={"comment": comment.pk, "field": content.path, **({"lines": content.lines} if content.lines else {})},
    )
    return comment


def find_row(plan: Plan, object_key: str) -> ObjectChange | None:
    """Return the row of a commented object in a plan; None for the review itself, or an object that is not in it."""
    if not object_key:
        return None
    group, kind, namespace, name = object_key.split("/", 3)
    rows = plan.changes.filter(group=group, kind=kind, namespace=namespace, name=name)
    return rows.defer("document", "found_risks", "sealed").order_by("position").first()


def list_comments(plan: Plan) -> QuerySet[Comment]:
    """Return the comments of the review of a plan, oldest first."""
    return Comment.objects.filter(review=plan.review_id).select_related("by", "plan", "resolved_by")


def get_comment(number: int, *, review_number: int, for_user: Visitor) -> Comment:
    """Return one comment of a review; raises `NotVisibleError` when it does not exist or this person may not see it."""
    missing = NotVisibleError(f"there is no comment {number} in review {review_number}")
    rows = Comment.objects.select_related("review", "plan__target__cluster", "by")
    comment = rows.filter(pk=number, review__number=review_number).first()
    if comment is None or not access.can(for_user, Action.VIEW, access.scopes_of(comment.review)):
        raise missing
    return comment


def find_position(comment: Comment, plan: Plan) -> int | None:
    """Return the position in a plan of a commented object; None for a review comment or an object not in the plan."""
    row = find_row(plan, comment.object_key)
    return row.position if row is not None else None


def _record(action: AuditAction, comment: Comment, *, by: Person) -> None:
    plan = comment.plan
    about = trail.AuditSubject(
        cluster=plan.target.cluster.slug if plan else "",
        review=comment.review.number,
        plan=plan.number if plan else None,
    )
    trail.record(action, by=by, about=about, detail={"comment": comment.pk, "field": comment.path})


def edit_comment(comment: Comment, *, by: Person, text: str) -> None:
    """Edit the person's own comment; the earlier text is kept and shown.

    - Raises `NotAllowedError` for comments of others, `NotPossibleError` when it was edited at the same moment, or was
      changed in the database.
    """
    access.require(by, Action.COMMENT, access.scopes_of(comment.review))
    if comment.by_id != by.pk:
        raise NotAllowedError(_("only the author of a comment can edit it"))
    if row_macs.find_fault(comment):  # an edit would confirm what was changed
        raise NotPossibleError(_("this comment was changed outside of this installation"))
    text = _check_text(text)
    if text == comment.text:
        return
    now = clock.host_now()
    earlier = [*comment.earlier, {"at": (comment.edited_at or comment.created_at).isoformat(), "text": comment.text}]
    with transaction.atomic():
        rows = Comment.objects.filter(pk=comment.pk, edited_at=comment.edited_at)
        edited = copy(comment)
        edited.text, edited.edited_at, edited.earlier = text, now, earlier
        row_macs.vouch(edited)
        if not rows.update(text=text, edited_at=now, earlier=earlier, mac=edited.mac):
            raise NotPossibleError(_("this comment changed since you opened it; reload and try again"))
        _record(AuditAction.COMMENT_EDITED, comment, by=by)


def resolve_comment(comment: Comment, *, by: Person, is_resolved: bool = True) -> None:
    """Mark a comment as resolved, or reopen it; everyone who may comment may do so.

    - Raises `NotPossibleError` when the comment is already in that state.
    """
    access.require(by, Action.COMMENT, access.scopes_of(comment.review))
    with transaction.atomic():
        rows = Comment.objects.filter(pk=comment.pk, resolved_at__isnull=is_resolved)
        values = {"resolved_by": by, "resolved_at": clock.host_now()} if is_resolved else {}
        if not rows.update(**(values or {"resolved_by": None, "resolved_at": None})):
            raise NotPossibleError(
                _("this comment is already resolved") if is_resolved else _("this comment is already open")
            )
        action = AuditAction.COMMENT_RESOLVED if is_resolved else AuditAction.COMMENT_REOPENED
        _record(action, comment, by=by)
