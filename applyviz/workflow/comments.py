"""Comments on a review, on an object of a plan, or on one field of it; never changed, never deleted.

The text is what the person wrote. The history tells that somebody commented and on what, and holds no text.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from applyviz.engine.objects.paths import render_path
from applyviz.records.enums import AuditAction
from applyviz.records.models import Comment, ObjectChange, Plan
from applyviz.workflow import access, audit, changes
from applyviz.workflow.access import Action, Person
from applyviz.workflow.errors import NotValidError
from applyviz.workflow.viewing import name_object

LONGEST = 10_000


def _render_field(row: ObjectChange | None, field: int | None) -> str:
    if field is None:
        return ""
    fields = changes.read_masked(row).fields if row is not None else ()
    if field >= len(fields):
        raise NotValidError(f"the object has no field {field}")
    return render_path(fields[field].path)


def add_comment(
    plan: Plan, *, by: Person, text: str, row: ObjectChange | None = None, field: int | None = None
) -> Comment:
    """Say something about a review, about an object (`row`) of a plan, or about its field with that place.

    - Raises `NotValidError` without text, for a text that is too long, and for a field that is not there.
    """
    access.require(by, Action.COMMENT, access.places_of(plan.review))
    text = text.strip()
    if not text:
        raise NotValidError("a comment needs a text")
    if len(text) > LONGEST:
        raise NotValidError(f"a comment has at most {LONGEST:,} characters")
    path = _render_field(row, field)
    with transaction.atomic():
        comment = Comment.objects.create(
            review=plan.review,
            plan=plan,
            by=by,
            object_key=name_object(row) if row is not None else "",
            path=path,
            text=text,
            created_at=timezone.now(),
        )
        audit.record(
            AuditAction.COMMENT_ADDED,
            by=by,
            about=audit.Subject(
                cluster=plan.target.cluster.slug,
                review=plan.review.number,
                plan=plan.number,
                ref=changes.ref_of(row) if row is not None else None,
            ),
            detail={"comment": comment.pk, "field": path},
        )
    return comment


def list_comments(plan: Plan) -> QuerySet[Comment]:
    """All that was said in the review of a plan, the oldest first."""
    return Comment.objects.filter(review=plan.review_id).select_related("by", "plan")
