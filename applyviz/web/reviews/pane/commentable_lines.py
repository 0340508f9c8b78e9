"""Lines that a comment can be about: how many a text of an object has, their words and their address.

The diff counts the lines of its default display, whose two sides leave out what the server manages; a version as YAML
counts all of its lines, as its page does. Objects are masked.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pane.diff_lines import count_sides
from applyviz.web.reviews.pane.yaml_document import PAGE, VERSION_WORDS, count_lines
from applyviz.workflow.approvals.commented_lines import CommentedLines, LineText

Text = str | Promise
_DIFF: dict[LineText, Text] = {
    LineText.DIFF_AFTER: gettext_lazy("after apply, in the diff"),
    LineText.DIFF_LIVE: gettext_lazy("live, in the diff"),
}


class LineChoice(Struct, frozen=True):
    """One text whose lines can be chosen, and how many it has."""

    value: str
    word: Text
    count: int


def _name(text: LineText) -> Text:
    return _DIFF.get(text) or VERSION_WORDS[text.version]


def offer_texts(change: PlannedObject, text: LineText) -> tuple[LineChoice, ...]:
    """Return the texts to choose lines of, where one of them is shown: both sides of a diff, the chosen one first."""
    if text not in _DIFF:
        return tuple(LineChoice(text.value, _name(text), count) for count in (_count(change, text),) if count)
    found = [LineChoice(one.value, _name(one), _count(change, one)) for one in _DIFF]
    return tuple(sorted((one for one in found if one.count), key=lambda one: one.value != text.value))


def _count(change: PlannedObject, text: LineText) -> int:
    if text not in _DIFF:
        return count_lines(change, text.version)
    live, after = count_sides(change)
    return after if text is LineText.DIFF_AFTER else live


def has_lines(change: PlannedObject, lines: CommentedLines) -> bool:
    """Return whether an object has these lines."""
    return 1 <= lines.first <= lines.last <= _count(change, lines.text)


def describe_lines(lines: CommentedLines) -> str:
    """Return the lines in words."""
    known = {"first": lines.first, "last": lines.last, "text": _name(lines.text)}
    if lines.first == lines.last:
        return _("line %(first)d, %(text)s") % known
    return _("lines %(first)d to %(last)d, %(text)s") % known


def link_lines(plan: Plan, position: int, lines: CommentedLines) -> str:
    """Return the address of the lines: their object alone, in the view that shows them."""
    marked = f"#lines-{lines.text}-{lines.first}-{lines.last}"
    if lines.text in _DIFF:
        return f"{link_alone(plan, position, 'diff')}{marked}"
    start = f"&start={lines.first}" if lines.first > PAGE else ""
    return f"{link_alone(plan, position, 'yaml')}&version={lines.text.version}{start}{marked}"
