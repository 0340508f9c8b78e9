"""What people said: Markdown in a safe subset, with a link to the object or field that it is about.

Rule: no HTML of the writer's, no pictures, no headings; links leave with `noreferrer`. Characters that a reader
would not see are shown by their number, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning import plan as engine
from applyviz.records.models import Comment, ObjectChange, Plan
from applyviz.web.templatetags.applyviz import is_hidden
from applyviz.workflow.viewing import name_object

_TAGS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "a", "br"}
_CALM = frozenset({FieldOperation.UNCHANGED, FieldOperation.DEFAULTED})
_TOPICS = 200
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).disable(["image", "heading", "lheading", "hr"])


@dataclass(frozen=True, slots=True)
class Remark:
    """One comment."""

    number: int
    by: str
    at: datetime
    html: SafeString
    about: str = ""
    url: str = ""
    plan_number: int | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """One field that a comment may be about."""

    index: int
    path: str


@dataclass(frozen=True, slots=True)
class Talk:
    """The comments on one thing, and the form for another."""

    title: str
    remarks: tuple[Remark, ...]
    form_url: str
    anchor: str
    position: int | None = None
    topics: tuple[Topic, ...] = ()


def render_markdown(text: str) -> SafeString:
    """The safe subset of Markdown as HTML."""
    shown = "".join(f"U+{ord(c):04X}" if is_hidden(c) else c for c in text.replace("\r\n", "\n"))
    html = nh3.clean(
        _MARKDOWN.render(shown),
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(html)  # noqa: S308 cleaned in the line above


def _present(comment: Comment, *, about: str = "", url: str = "") -> Remark:
    return Remark(
        number=comment.pk,
        by=comment.by.get_username(),
        at=comment.created_at,
        html=render_markdown(comment.text),
        about=about,
        url=url,
        plan_number=comment.plan.number if comment.plan else None,
    )


def present_review_talk(
    plan: Plan, comments: Sequence[Comment], changes: Sequence[ObjectChange], *, url_of: Callable[[int], str]
) -> Talk:
    """Everything said in the review; what is about an object of this plan leads there."""
    places = {name_object(c): c for c in changes} if comments else {}

    def present(comment: Comment) -> Remark:
        row = places.get(comment.object_key)
        about = f"{row.kind} {row.name}" if row else comment.object_key
        about += f" {comment.path}" if comment.path else ""
        return _present(comment, about=about, url=f"{url_of(row.position)}#comment-{comment.pk}" if row else "")

    return Talk(
        title=_("Comments on this review"),
        remarks=tuple(present(comment) for comment in comments),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor="talk",
    )


def present_object_talk(
    plan: Plan, comments: Sequence[Comment], change: engine.ObjectChange, position: int, *, url: str
) -> Talk:
    """What was said of one object and its fields."""
    key = "/".join(change.ref.key)
    places = {render_path(reason.path): n for n, reason in enumerate(change.fields)}

    def present(comment: Comment) -> Remark:
        index = places.get(comment.path)
        return _present(comment, about=comment.path, url=f"{url}?show=all#field-{index}" if index is not None else "")

    moving = [n for n, r in enumerate(change.fields) if r.operation not in _CALM]
    return Talk(
        title=_("Comments on this object"),
        remarks=tuple(present(c) for c in comments if c.object_key == key),
        form_url=reverse("reviews:add-comment", args=[plan.review.number, plan.number]),
        anchor="object-talk",
        position=position,
        topics=tuple(Topic(n, render_path(change.fields[n].path)) for n in moving[:_TOPICS]),
    )
