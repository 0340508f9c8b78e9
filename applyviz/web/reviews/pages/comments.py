"""Comments: Markdown in a safe subset, with a link to the object or field of each.

Rule: no HTML by the author, no pictures, no headings; links are sent with `noreferrer`. Invisible characters are shown
by their code points, as everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import nh3
from django.db.models import Value
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model import plan as engine
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import CollectedComment, Comment, ObjectChange, Plan
from applyviz.web.components.object_links import link_alone, link_change, link_field
from applyviz.web.reviews.pane.commentable_lines import LineChoice, describe_lines, link_lines, offer_texts
from applyviz.web.templatetags.applyviz import is_hidden
from applyviz.workflow.approvals.collected_comments import list_collected
from applyviz.workflow.approvals.commented_lines import LineText, parse_lines
from applyviz.workflow.approvals.comments import list_comments
from applyviz.workflow.approvals.viewed_objects import name_object
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

_TAGS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "a", "br"}
_CALM = frozenset({FieldOperation.UNCHANGED, FieldOperation.DEFAULTED, FieldOperation.ALLOCATED})
_TOPICS = 200
# Stands for the path of a field where comments on lines are counted; no path begins so.
ON_LINES = "lines"
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).disable(["image", "heading", "lheading", "hr"])


class Earlier(Struct, frozen=True):
    """An earlier text of an edited comment."""

    at: datetime
    html: SafeString


class CommentRow(Struct, frozen=True):
    """One comment."""

    comment: Comment
    html: SafeString
    about: str
    url: str
    earlier: tuple[Earlier, ...]
    edit_url: str
    resolve_url: str


class CommentPage(Struct, frozen=True):
    """The page with the form of one comment: to edit it, or to correct a refused one."""

    title: str
    form_url: str
    back_url: str
    hidden: tuple[tuple[str, str], ...] = ()
    is_new: bool = False


class Topic(Struct, frozen=True):
    """One field that a comment can be about."""

    index: int
    path: str


class CollectedRow(Struct, frozen=True):
    """A comment that its author has not sent; `url` leads to its object in Changes, "" where it is not in the plan."""

    about: str
    html: SafeString
    url: str
    drop_url: str


class CollectedBar(Struct, frozen=True):
    """How many comments a person collected, and where they are sent."""

    count: int
    url: str


class CollectedPage(Struct, frozen=True):
    """Comments that a person collected in a review; `digest`: of the plan whose change they may request, else ""."""

    title: str
    rows: tuple[CollectedRow, ...]
    form_url: str
    back_url: str
    digest: str


class CommentThread(Struct, frozen=True):
    """The comments on one subject, and the form for a new one.

    - `field`: the one field that the thread is about; `texts`: those whose lines it is about, from `first` to `last`;
      None where it is not about lines, empty where the object has none. The form of both sends by htmx, and offers to
      collect.
    - `collected`: what the reader has not sent.
    """

    title: str
    comments_shown: tuple[CommentRow, ...]
    form_url: str
    anchor: str
    position: int | None = None
    topics: tuple[Topic, ...] = ()
    can_say: bool = True
    field: int | None = None
    collected: tuple[CollectedRow, ...] = ()
    texts: tuple[LineChoice, ...] | None = None
    first: int | None = None
    last: int | None = None

    @property
    def is_within(self) -> bool:
        """Return whether the thread stands within the changes of its object."""
        return self.field is not None or self.texts is not None

    @property
    def has_no_lines(self) -> bool:
        """Return whether it is about lines that the object does not have, so that none can be chosen."""
        return self.texts == ()

    @property
    def most_lines(self) -> int:
        """Return the greatest number of a line."""
        return max((one.count for one in self.texts or ()), default=0)

    @property
    def open_count(self) -> int:
        """Return the number of unresolved comments."""
        return sum(remark.comment.resolved_at is None for remark in self.comments_shown)


def render_markdown(text: str) -> SafeString:
    """Render the safe subset of Markdown as HTML."""
    shown = "".join(f"U+{ord(c):04X}" if is_hidden(c) else c for c in text.replace("\r\n", "\n"))
    html = nh3.clean(
        _MARKDOWN.render(shown),
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(html)  # noqa: S308 cleaned in the line above


def find_place(comment: Comment, plan: Plan, position: int | None) -> str:
    """Return the address of a comment: at its object, or at the review."""
    if position is None:
        return f"{reverse('reviews:show-activity', args=[plan.review.number, plan.number])}#comment-{comment.pk}"
    return f"{link_alone(plan, position)}#comment-{comment.pk}"


def _present(
    comment: Comment, plan: Plan, person: Person, *, can_say: bool, about: str = "", url: str = ""
) -> CommentRow:
    here = [plan.review.number, comment.pk]
    return CommentRow(
        comment,
        html=render_markdown(comment.text),
        about=about,
        url=url,
        earlier=tuple(Earlier(datetime.fromisoformat(e["at"]), render_markdown(e["text"])) for e in comment.earlier),
        edit_url=reverse("reviews:edit-comment", args=here) if can_say and comment.by_id == person.pk else "",
        resolve_url=reverse("reviews:resolve-comment", args=here) if can_say else "",
    )


def _can_say(plan: Plan, person: Person) -> bool:
    return access.can(person, Action.COMMENT, access.scopes_of(plan.review))


def present_review_thread(
    plan: Plan,
    comments: Sequence[Comment],
    changes: Sequence[ObjectChange],
    *,
    for_user: Person,
) -> CommentThread:
    """Return all comments of the review; those on an object of this plan link to it."""
    row_of = {name_object(c): c for c in changes} if comments else {}
    can_say = _can_say(plan, for_user)

    def present(comment: Comment) -> CommentRow:
        row = row_of.get(comment.object_key)
        about = f"{row.kind} {row.name}" if row else comment.object_key
        about += f" {_name_part(comment)}" if _name_part(comment) else ""
        url = find_place(comment, plan, row.position) if row else ""
        return _present(comment, plan, for_user, can_say=can_say, about=about, url=url)

    return CommentThread(
        title=_("Comments on this review"),
        comments_shown=tuple(present(comment) for comment in comments),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor="talk",
        can_say=can_say,
    )


def present_field_thread(plan: Plan, row: ObjectChange, path: str, index: int, *, for_user: Person) -> CommentThread:
    """Return the comments on one field of an object, in the scroll of Changes."""
    can_say, key = _can_say(plan, for_user), name_object(row)
    found = list_comments(plan).filter(object_key=key, path=path)
    mine = list_collected(plan, by=for_user).filter(object_key=key, path=path) if can_say else ()
    return CommentThread(
        title=_("Comments on this field"),
        comments_shown=tuple(_present(comment, plan, for_user, can_say=can_say) for comment in found),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor=f"talk-{row.position}-{index}",
        position=row.position,
        can_say=can_say,
        field=index,
        collected=tuple(_present_collected(one, plan, row) for one in mine),
    )


def _name_part(one: Comment | CollectedComment) -> str:
    """Return the field or the lines that a comment is about, in words; "" for the whole object."""
    lines = parse_lines(one.lines)
    return one.path if lines is None else describe_lines(lines)


def _link_part(comment: Comment, plan: Plan, position: int) -> str:
    """Return the address of the lines of a comment, in the plan that its author saw; "" for other comments."""
    lines = parse_lines(comment.lines)
    return link_lines(plan, position, lines) if lines is not None and comment.plan_id == plan.pk else ""


def present_line_thread(
    plan: Plan, row: ObjectChange, change: engine.PlannedObject, text: LineText, *, for_user: Person
) -> CommentThread:
    """Return the comments on lines of an object, in the view of Changes that shows a text of it."""
    can_say, key = _can_say(plan, for_user), name_object(row)
    found = list_comments(plan).filter(object_key=key).exclude(lines="")
    mine = list_collected(plan, by=for_user).filter(object_key=key).exclude(lines="") if can_say else ()

    def present(comment: Comment) -> CommentRow:
        url = _link_part(comment, plan, row.position)
        return _present(comment, plan, for_user, can_say=can_say, about=_name_part(comment), url=url)

    return CommentThread(
        title=_("Comments on lines"),
        comments_shown=tuple(present(comment) for comment in found),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor=f"talk-{row.position}-lines",
        position=row.position,
        can_say=can_say,
        collected=tuple(_present_collected(one, plan, row) for one in mine),
        texts=offer_texts(change, text),
    )


def _present_collected(one: CollectedComment, plan: Plan, row: ObjectChange | None) -> CollectedRow:
    here = [plan.review.number, plan.number]
    name = f"{row.kind} {row.name}" if row else one.object_key
    return CollectedRow(
        about=f"{name} {_name_part(one)}".strip() or _("the review"),
        html=render_markdown(one.text),
        url=link_change(plan, row.position) if row else "",
        drop_url=reverse("reviews:drop-comment", args=[*here, one.pk]),
    )


def present_collected(plan: Plan, changes: Sequence[ObjectChange], *, for_user: Person) -> CollectedPage:
    """Return everything that a person collected in the review of a plan."""
    row_of = {name_object(change): change for change in changes}
    may_request = (
        plan.state == PlanState.COMPLETE
        and plan.review.state == ReviewState.OPEN
        and access.can(for_user, Action.APPROVE, access.scopes_of(plan.review))
    )
    here = [plan.review.number, plan.number]
    return CollectedPage(
        title=plan.review.title,
        rows=tuple(
            _present_collected(one, plan, row_of.get(one.object_key)) for one in list_collected(plan, by=for_user)
        ),
        form_url=reverse("reviews:collected-comments", args=here),
        back_url=reverse("reviews:show-changes", args=here),
        digest=plan.digest if may_request else "",
    )


def present_bar(plan: Plan, *, for_user: Person) -> CollectedBar:
    """Return how many comments a person collected in the review of a plan."""
    url = reverse("reviews:collected-comments", args=[plan.review.number, plan.number])
    return CollectedBar(list_collected(plan, by=for_user).count(), url)


def read_marks(plan: Plan, *, for_user: Person) -> tuple[Counter[tuple[str, str]], CollectedBar]:
    """Return how many comments are open on each field, by object key and path, and what a person collected.

    Those on lines are counted for their object, with `ON_LINES` for a path. One query reads both.
    """
    columns = ("object_key", "path", "lines")
    about = list_comments(plan).filter(resolved_at=None).exclude(path="", lines="")
    found = about.order_by().values_list(*columns, Value(False))
    mine = list_collected(plan, by=for_user).order_by().values_list(*columns, Value(True))
    rows = list(found.union(mine, all=True))
    url = reverse("reviews:collected-comments", args=[plan.review.number, plan.number])
    count = sum(bool(is_mine) for *_about, is_mine in rows)
    marks = ((key, ON_LINES if lines else path) for key, path, lines, is_mine in rows if not is_mine)
    return Counter(marks), CollectedBar(count, url)


def present_object_thread(
    plan: Plan, comments: Sequence[Comment], change: engine.PlannedObject, position: int, *, for_user: Person
) -> CommentThread:
    """Return the comments on one object and its fields."""
    key = "/".join(change.ref.key)
    index_of = {render_path(reason.path): n for n, reason in enumerate(change.fields)}
    can_say = _can_say(plan, for_user)

    def present(comment: Comment) -> CommentRow:
        index = index_of.get(comment.path)
        address = link_field(plan, position, index) if index is not None else _link_part(comment, plan, position)
        return _present(comment, plan, for_user, can_say=can_say, about=_name_part(comment), url=address)

    moving = [n for n, r in enumerate(change.fields) if r.operation not in _CALM]
    return CommentThread(
        title=_("Comments on this object"),
        comments_shown=tuple(present(c) for c in comments if c.object_key == key),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor="object-talk",
        position=position,
        topics=tuple(Topic(n, render_path(change.fields[n].path)) for n in moving[:_TOPICS]),
        can_say=can_say,
    )
