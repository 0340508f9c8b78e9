"""The four marks of a field: which of last applied, manifest, live and after agree.

Equal values get equal shapes, in the order in which values appear; an absent field gets a dash. Under server-side apply
there is no last applied value: the first mark says whether the field manager of the plan owned the field before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.web.components.values import ABSENT

_SHAPES = ("a", "b", "c", "d")
LABELS: tuple[str | Promise, ...] = (_("last applied"), _("manifest"), _("live"), _("after"))
SHORT: tuple[str | Promise, ...] = (_("last"), _("manifest"), _("live"), _("after"))
OWNED_BEFORE, NOT_OWNED_BEFORE = _("previously owned by you"), _("not previously owned by you")


@dataclass(frozen=True, slots=True)
class VersionMark:
    """One of the four: its shape (`a` to `d`, `none`, `owned`) and which version it stands for."""

    shape: str
    label: str | Promise
    short: str | Promise


@dataclass(frozen=True, slots=True)
class Marks:
    """The four marks, and their text for people who do not see shapes."""

    items: tuple[VersionMark, ...]
    text: str | Promise


Equality = Callable[[JSONValue, JSONValue], bool]


def _shape_values(values: tuple[JSONValue, ...], is_equal: Equality) -> list[str]:
    seen: list[JSONValue] = []
    shapes = []
    for value in values:
        if value is ABSENT:
            shapes.append("none")
            continue
        at = next((n for n, other in enumerate(seen) if is_equal(value, other)), None)
        if at is None:
            at = len(seen)
            seen.append(value)
        shapes.append(_SHAPES[at])
    return shapes


def _describe(marks: tuple[VersionMark, ...]) -> str | Promise:
    words = {
        "none": _("unset"),
        "a": _("value 1"),
        "b": _("value 2"),
        "c": _("value 3"),
        "d": _("value 4"),
    }
    return format_lazy(
        ", ".join("{}" for _mark in marks), *(format_lazy("{} {}", m.label, words[m.shape]) for m in marks)
    )


def compare_versions(
    last_applied: JSONValue, manifest: JSONValue, live: JSONValue, after: JSONValue, is_equal: Equality = is_same_json
) -> Marks:
    """Return the marks of a client-side change."""
    shapes = _shape_values((last_applied, manifest, live, after), is_equal)
    items = tuple(VersionMark(*row) for row in zip(shapes, LABELS, SHORT, strict=True))
    return Marks(items, _describe(items))


def compare_owned(
    was_yours: bool, manifest: JSONValue, live: JSONValue, after: JSONValue, is_equal: Equality = is_same_json
) -> Marks:
    """Return the marks of a server-side change: the first says whether you owned the field before."""
    shapes = ["owned" if was_yours else "none", *_shape_values((manifest, live, after), is_equal)]
    owned = OWNED_BEFORE if was_yours else NOT_OWNED_BEFORE
    items = tuple(VersionMark(*row) for row in zip(shapes, (owned, *LABELS[1:]), (_("owned"), *SHORT[1:]), strict=True))
    return Marks(items, format_lazy("{}, {}", owned, _describe(items[1:])))
