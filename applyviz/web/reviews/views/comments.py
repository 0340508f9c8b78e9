"""Comments: adding, editing and resolving them.

A refused text returns in a form with its error, so that it is not lost.
"""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.records.models import Comment, ObjectChange, Plan
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.reviews.forms.comments import CommentForm, EditForm
from applyviz.web.reviews.pages import review_page
from applyviz.web.reviews.pages.comments import CommentPage, find_place
from applyviz.workflow.approvals import comments
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotValidError
from applyviz.workflow.plans import planner


def _render(request: PageRequest, form: EditForm, page: CommentPage) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, "reviews/comment.html", {"form": form, "page": page}, status=status)


def _refuse(request: PageRequest, found: Plan, form: CommentForm, row: ObjectChange | None) -> HttpResponse:
    back = reverse("reviews:show-plan", args=[found.review.number, found.number])
    if row is not None:
        back = reverse("reviews:show-object", args=[found.review.number, found.number, row.position, "changes"])
    hidden = tuple((name, form.data[name]) for name in ("position", "field") if form.data.get(name))
    address = reverse("reviews:add-comment", args=[found.review.number, found.number])
    return _render(request, form, CommentPage(found.review.title, address, back, hidden, is_new=True))


@requires(Action.COMMENT, "POST")
def add_comment(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Add a comment on the review, an object of a plan or one of its fields."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    form = CommentForm(request.POST)
    is_valid = form.is_valid()
    position = form.cleaned_data.get("position")
    row = None if position is None else review_page.get_row(found, position)
    if not is_valid:
        return _refuse(request, found, form, row)
    try:
        made = comments.add_comment(
            found, by=request.user, text=form.cleaned_data["text"], row=row, field=form.cleaned_data["field"]
        )
    except NotValidError as error:
        form.add_error(None, str(error))
        return _refuse(request, found, form, row)
    return redirect(find_place(made, found, row.position if row is not None else None))


def _get(request: PageRequest, number: int, comment: int) -> tuple[Comment, str]:
    """Return a comment, and its address."""
    found = comments.get_comment(comment, review_number=number, for_user=request.user)
    latest = found.plan or found.review.latest_plan
    assert latest is not None  # a review with a comment has a plan  # noqa: S101
    return found, find_place(found, latest, comments.find_position(found, latest))


@requires(Action.COMMENT, "GET", "POST")
def edit_comment(request: PageRequest, number: int, comment: int) -> HttpResponse:
    """Edit the person's own comment; the earlier text stays readable."""
    found, back = _get(request, number, comment)
    if found.by_id != request.user.pk:
        raise NotAllowedError(_("only the author of a comment can edit it"))
    form = EditForm(request.POST or None, initial={"text": found.text})
    if request.method == "POST" and form.is_valid():
        comments.edit_comment(found, by=request.user, text=form.cleaned_data["text"])
        return redirect(back)
    address = reverse("reviews:edit-comment", args=[number, comment])
    return _render(request, form, CommentPage(found.review.title, address, back))


@requires(Action.COMMENT, "POST")
def resolve_comment(request: PageRequest, number: int, comment: int) -> HttpResponse:
    """Resolve a comment, or reopen it."""
    found, back = _get(request, number, comment)
    comments.resolve_comment(found, by=request.user, is_resolved="reopen" not in request.POST)
    return redirect(back)
