"""One patch as each of the three types, below its answer in the playground."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.objects.paths import render_path
from applyviz.guide.given import PlaygroundQuery
from applyviz.guide.patch_kinds import PatchKind, compare_kinds
from applyviz.web.reviews.pane.requests import BodyLine, print_lines

_MOST = 24
_TITLES: dict[PatchType, str | Promise] = {
    PatchType.STRATEGIC: _("Strategic merge patch"),
    PatchType.MERGE: _("JSON merge patch"),
    PatchType.JSON: _("JSON patch"),
}
_WORDS: dict[FieldOperation, str | Promise] = {
    FieldOperation.SET: _("added"),
    FieldOperation.CHANGED: _("changed"),
    FieldOperation.CLEARED: _("removed"),
    FieldOperation.DEFAULTED: _("defaulted"),
}


class PatchedFieldRow(Struct, frozen=True):
    """One field that a patch changes."""

    word: str | Promise
    path: str


class PatchColumn(Struct, frozen=True):
    """The result of a patch as one type; `lines` is the derived body, for types that do not accept the written one."""

    title: str | Promise
    is_written: bool
    is_same: bool
    error: str
    fields: tuple[PatchedFieldRow, ...]
    more: int
    lines: tuple[BodyLine, ...] = ()
    hidden_lines: int = 0
    has_positions: bool = False


def _present_field(reason: FieldReason) -> PatchedFieldRow:
    return PatchedFieldRow(_WORDS[reason.operation], render_path(reason.path))


def _present(kind: PatchKind) -> PatchColumn:
    is_json = kind.type is PatchType.JSON
    lines, hidden = print_lines(kind.body, is_patch=not is_json) if kind.is_derived else ((), 0)
    return PatchColumn(
        _TITLES[kind.type],
        kind.is_written,
        kind.is_same,
        kind.error,
        tuple(map(_present_field, kind.fields[:_MOST])),
        max(0, len(kind.fields) - _MOST),
        lines,
        hidden,
        has_positions=is_json,
    )


def render_kinds(given: PlaygroundQuery, *, now: str) -> str:
    """Return the comparison as HTML; "" for a question that is no patch, or has no live object.

    - `given` is masked. Raises `PlaygroundQueryError`.
    """
    columns = [_present(kind) for kind in compare_kinds(given, now=now)]
    return render_to_string("playground/_patch_kinds.html", {"columns": columns}) if columns else ""
