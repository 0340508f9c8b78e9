"""Comments: adding, collecting, sending, editing and resolving them.

A refused text returns in a form with its error, so that it is not lost.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.records.models import CollectedComment, Comment, ObjectChange, Plan
from applyviz.web.components.object_links import link_alone
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.forms.comments import CommentForm, EditForm, LinesForm, SendForm
from applyviz.web.reviews.pages.comments import (
    CommentPage,
    CommentThread,
    find_place,
    present_bar,
    present_collected,
    present_field_thread,
    present_line_thread,
)
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.web.reviews.pane.commentable_lines import has_lines
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.approvals import collected_comments, comments
from applyviz.workflow.approvals.commented_lines import LineText
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.plans import live_values


def _render(request: PageRequest, form: EditForm, page: CommentPage) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, "reviews/comment.html", {"form": form, "page": page}, status=status)


def _refuse(request: PageRequest, found: Plan, form: CommentForm, row: ObjectChange | None) -> HttpResponse:
    back = reverse("reviews:show-plan", args=[found.review.number, found.number])
    if row is not None:
        back = link_alone(found, row.position)
    hidden = tuple(
        (name, form.data[name]) for name in ("position", "field", "side", "first", "last") if form.data.get(name)
    )
    address = reverse("reviews:add-comment", args=[found.review.number, found.number])
    return _render(request, form, CommentPage(found.review.title, address, back, hidden, is_new=True))


@requires_plan(Action.COMMENT, "POST")
def add_comment(request: PageRequest, plan: Plan) -> HttpResponse:
    """Add a comment on the review, an object of a plan, one of its fields or lines of it."""
    form = CommentForm(request.POST)
    form.is_valid()
    position = form.cleaned_data.get("position")
    row = None if position is None else live_values.get_row(plan, position)
    lines = form.cleaned_data.get("lines")
    if lines is not None and row is not None and not has_lines(live_values.read_change(plan, row.position), lines):
        form.add_error("last", _("The object has no such line."))
    if form.errors:
        return _refuse(request, plan, form, row)
    add = collected_comments.collect_comment if form.cleaned_data["collect"] else comments.add_comment
    field = form.cleaned_data["field"]
    try:
        content = comments.check_content(form.cleaned_data["text"], row, field, lines)
        made = add(plan, by=request.user, content=content)
    except NotValidError as error:
        form.add_error(None, str(error))
        return _refuse(request, plan, form, row)
    if is_fragment(request) and row is not None and field is not None:
        return _render_thread(request, plan, row.position, field, is_part=True)
    if is_fragment(request) and row is not None and lines is not None:
        return _render_line_thread(request, plan, row.position, LinesForm({"text": lines.text}), is_part=True)
    if isinstance(made, CollectedComment):
        return redirect("reviews:collected-comments", plan.review.number, plan.number)
    return redirect(find_place(made, plan, row.position if row is not None else None))


class ShownThread(Struct, frozen=True):
    """A thread of an object, what it is about in words, and whether it is the part that a change sent back."""

    thread: CommentThread
    about: str
    position: int
    is_part: bool


def _render_any(request: PageRequest, plan: Plan, shown: ShownThread) -> HttpResponse:
    """A thread as a fragment of Changes, after a change with what counts the collected comments; or as a page."""
    context: dict[str, object] = {
        "thread": shown.thread,
        "is_part": shown.is_part,
        "collected": present_bar(plan, for_user=request.user),
    }
    if is_fragment(request):
        return render(request, "reviews/changes/_field_thread.html", context)
    back = reverse("reviews:show-changes", args=[plan.review.number, plan.number])
    page = CommentPage(plan.review.title, "", f"{back}?at={shown.position}#object-{shown.position}")
    return render(request, "reviews/field_comments.html", {**context, "page": page, "path": shown.about})


def _render_thread(request: PageRequest, plan: Plan, position: int, index: int, *, is_part: bool) -> HttpResponse:
    """The comments on one field."""
    row, change = live_values.get_row(plan, position), live_values.read_change(plan, position)
    if index >= len(change.fields):
        raise NotVisibleError(f"object {position} has no field {index}")
    path = render_path(change.fields[index].path)
    thread = present_field_thread(plan, row, path, index, for_user=request.user)
    return _render_any(request, plan, ShownThread(thread, path, position, is_part))


@requires_plan(Action.VIEW)
def show_thread(request: PageRequest, plan: Plan, position: int, index: int) -> HttpResponse:
    """Show the comments on one field with the form for a new one, in the scroll of Changes or as a page."""
    return _render_thread(request, plan, position, index, is_part=False)


def _render_line_thread(
    request: PageRequest, plan: Plan, position: int, form: LinesForm, *, is_part: bool
) -> HttpResponse:
    """The comments on lines of one object, with those chosen that the form names."""
    row, change = live_values.get_row(plan, position), live_values.read_change(plan, position)
    if not form.is_valid():
        raise NotVisibleError(f"object {position} has no such lines")
    chosen = form.cleaned_data
    thread = present_line_thread(plan, row, change, LineText(chosen["text"]), for_user=request.user)
    thread = replace(thread, first=chosen["first"], last=chosen["last"])
    return _render_any(request, plan, ShownThread(thread, f"{row.kind}/{row.name}", position, is_part))


@requires_plan(Action.VIEW)
def show_line_thread(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Show the comments on lines of one object with the form for a new one, in Changes or as a page."""
    return _render_line_thread(request, plan, position, LinesForm(request.GET), is_part=False)


@requires_plan(Action.COMMENT, "GET", "POST")
def show_collected(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show what this person collected in a review, and send it with one comment on the review."""
    form = SendForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            sent = collected_comments.send_collected(plan, by=request.user, **form.cleaned_data)
        except (NotPossibleError, NotValidError) as error:
            form.add_error(None, str(error))
        else:
            text = ngettext("%(n)d comment sent.", "%(n)d comments sent.", len(sent)) % {"n": len(sent)}
            messages.success(request, text)
            return redirect("reviews:show-activity", plan.review.number, plan.number)
    page = present_collected(plan, list_changes(plan), for_user=request.user)
    status = 422 if form.errors else 200
    return render(request, "reviews/collected_comments.html", {"form": form, "page": page}, status=status)


@requires_plan(Action.COMMENT, "POST")
def drop_comment(request: PageRequest, plan: Plan, comment: int) -> HttpResponse:
    """Remove a collected comment that was not sent."""
    collected_comments.drop_comment(plan, comment, by=request.user)
    return redirect("reviews:collected-comments", plan.review.number, plan.number)


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
