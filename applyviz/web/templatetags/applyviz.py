"""Filters of the templates: characters that a reader would not see are shown by their number.

Rule: Unicode format characters, controls and line separators can hide or reorder text (bidirectional
overrides above all), so no text of a manifest is printed without this filter.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

from django import template
from django.utils.formats import date_format
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime

from applyviz.web.templatetags.skeletons import noted_on_marks

register = template.Library()

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cn"})
_PLAIN_CONTROLS = frozenset("\n\t")


def is_hidden(character: str) -> bool:
    """Whether a reader would not see this character, or would see others moved by it."""
    if character in _PLAIN_CONTROLS:
        return False
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in "\u00a0\u3164\u115f\u1160\uffa0"


def _find_hidden(text: str) -> list[str]:
    """Return the characters of a text that are hidden, each once."""
    return [character for character in set(text) if is_hidden(character)]


# Forms without seconds are shown as "3 min ago" where scripts run (static/js/frame/moments.js).
_RELATIVE = frozenset({"", "short"})
_FORMATS = {"": "j M Y H:i T", "s": "j M Y H:i:s T", "short": "j M H:i T", "clock": "H:i:s T"}


@register.filter
def moment_text(at: datetime | None, form: str = "") -> str:
    """A moment as people read it, with its time zone; `form` is "", "s" (with seconds), "short" or "clock"."""
    if at is None:
        return ""
    return date_format(localtime(at), _FORMATS[form])


def _read_moment(text: str) -> datetime | None:
    """A moment as clusters write it; None for what is none, or names no zone."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


@register.simple_tag
def moment(at: datetime | str | None, form: str = "") -> SafeString:
    """Return a moment as a `time` element.

    - None gives nothing, and a text that is no moment stays as it is.
    - Where scripts run, the forms without seconds say how long ago it was; their tooltip is the moment itself.
    """
    if isinstance(at, str):
        read = _read_moment(at)
        if read is None:
            return visible(at)
        at = read
    if at is None:
        return mark_safe("")
    machine = localtime(at).isoformat(timespec="seconds")
    relative = mark_safe(" data-relative") if form in _RELATIVE else ""
    return format_html('<time datetime="{}"{}>{}</time>', machine, relative, moment_text(at, form))


def _name_hidden(character: str) -> SafeString:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, code)
    return format_html('<span class="invisible" title="{}">{}</span>', name.lower(), code)


@register.filter
@noted_on_marks
def visible(value: object) -> SafeString:
    """Escape a text and show its invisible characters as `U+202E`."""
    text = str(value)
    if text.isprintable() and text.isascii():
        return conditional_escape(text)
    shown = {ord(character): _name_hidden(character) for character in _find_hidden(text)}
    return mark_safe(escape(text).translate(shown))  # noqa: S308 escaped first


@register.filter
@noted_on_marks
def visible_text(value: object) -> str:
    """As `visible` without tags, for attributes and for text in pictures; the template escapes it."""
    text = str(value)
    if text.isprintable() and text.isascii():
        return text
    return text.translate({ord(c): f"U+{ord(c):04X}" for c in _find_hidden(text)})


@register.filter
@noted_on_marks
def ticked(value: object) -> SafeString:
    """As `visible`, and what stands between backticks is set as code."""
    return mark_safe(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", visible(value)))  # noqa: S308 escaped by `visible`


# Each passes over a tag as a whole: what looks ahead for the end of a tag at every place takes quadratic time.
_AFTER_SIGN = re.compile(r"<[^>]*>|(?<=[\w\"\]])(?P<sign>[./]|&amp;|[-:](?=\w))")
_BEFORE_CAPITAL = re.compile(r"<[^>]*>|(?P<sign>(?<=[a-z])(?=[A-Z]))")


def _break_lines(where: re.Pattern[str], shown: SafeString) -> SafeString:
    """Let a line break wherever a pattern finds a sign; `shown` holds no `<` but those of tags."""
    broken = where.sub(lambda found: found[0] if found["sign"] is None else f"{found[0]}<wbr>", shown)
    return mark_safe(broken)  # noqa: S308 escaped by `visible`


@register.filter
@noted_on_marks
def breakable(value: object) -> SafeString:
    """As `visible`, and a line may break after a dot, a slash, a dash, a colon or an ampersand."""
    return _break_lines(_AFTER_SIGN, visible(value))


@register.filter
def wrap_camel_case(value: object) -> SafeString:
    """As `visible`, and a line may break inside a word before a capital letter."""
    return _break_lines(_BEFORE_CAPITAL, visible(value))
