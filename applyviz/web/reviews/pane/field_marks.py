"""The versions of a field, each with a mark: which of last applied, manifest, live and after agree.

Equal values get equal shapes, in the order in which values appear; an absent field gets a dash. Under server-side apply
there is no last applied value: the first mark says whether the field manager of the plan owned the field before.
"""

from __future__ import annotations

from django.utils.functional import Promise
from msgspec import Struct

from applyviz.engine.explain.three_way import Equality
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.web.components.field_strip import LABELS
from applyviz.web.components.values import ABSENT, Shown, ShowValue, show_value

_SHAPES = ("a", "b", "c", "d")


class VersionMark(Struct, frozen=True):
    """One version: its name, its shape (`a` to `d`, `none`), and its value, None where the field is absent.

    - The mark of who owned the field before has no name and no value; its shape is `owned` or `none`.
    """

    name: str | Promise
    shape: str
    value: Shown | None


class Marks(Struct, frozen=True):
    """The four marks of a field."""

    items: tuple[VersionMark, ...]

    @property
    def versions(self) -> tuple[VersionMark, ...]:
        """Return the marks of versions: four under client-side apply, three under server-side apply."""
        return tuple(mark for mark in self.items if mark.name)


def _mark(values: tuple[JSONValue, ...], is_equal: Equality, show: ShowValue) -> tuple[VersionMark, ...]:
    """Return the marks of the last versions, as many as there are values."""
    seen: list[JSONValue] = []
    marks = []
    for label, value in zip(LABELS[-len(values) :], values, strict=True):
        if value is ABSENT:
            marks.append(VersionMark(label, "none", None))
            continue
        at = next((n for n, other in enumerate(seen) if is_equal(value, other)), len(seen))
        if at == len(seen):
            seen.append(value)
        marks.append(VersionMark(label, _SHAPES[at], show(value)))
    return tuple(marks)


def compare_versions(
    last_applied: JSONValue,
    manifest: JSONValue,
    live: JSONValue,
    after: JSONValue,
    is_equal: Equality = is_same_json,
    show: ShowValue = show_value,
) -> Marks:
    """Return the marks of a client-side change."""
    return Marks(_mark((last_applied, manifest, live, after), is_equal, show))


def compare_owned(
    was_yours: bool,
    manifest: JSONValue,
    live: JSONValue,
    after: JSONValue,
    is_equal: Equality = is_same_json,
    show: ShowValue = show_value,
) -> Marks:
    """Return the marks of a server-side change: the first says whether you owned the field before."""
    owned = VersionMark("", "owned" if was_yours else "none", None)
    return Marks((owned, *_mark((manifest, live, after), is_equal, show)))
