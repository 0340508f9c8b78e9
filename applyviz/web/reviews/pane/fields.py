"""One row per field: its change, values, owners before and after, and reason.

Values come from masked versions and are looked up by path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.diff.structural import is_same_at
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.explain.three_way import Equality
from applyviz.engine.objects.known_names import NAMING
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, element_value, render_path
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.components.badges import Appearance, is_filling, style_field
from applyviz.web.components.field_paths import name_element
from applyviz.web.components.owners import OwnerChip, is_handed_on, present_owners
from applyviz.web.components.values import ABSENT, Shown, ShowValue, ValueTexts
from applyviz.web.reviews.pane import field_marks
from applyviz.web.reviews.pane.blocked_removals import BlockedRemovalRow
from applyviz.web.reviews.pane.diff_lines import DiffRow, diff_values
from applyviz.web.reviews.pane.resolutions import NOTHING, ConflictPage, ConflictRow
from applyviz.workflow.plans.changes import find_root


class FieldFilter(StrEnum):
    """The rows of an object that are shown."""

    CHANGES = "changes"
    CONFLICTS = "conflicts"
    KEPT = "kept"
    REMOVED = "removed"
    DEFAULTED = "defaulted"
    ALL = "all"


_SHOWN_BY: dict[FieldFilter, frozenset[FieldOperation]] = {
    FieldFilter.CHANGES: frozenset(
        {
            FieldOperation.SET,
            FieldOperation.CHANGED,
            FieldOperation.CLEARED,
            FieldOperation.CONFLICT,
            FieldOperation.NOT_REMOVED,
        }
    ),
    FieldFilter.CONFLICTS: frozenset({FieldOperation.CONFLICT}),
    FieldFilter.KEPT: frozenset({FieldOperation.KEPT, FieldOperation.NOT_REMOVED}),
    FieldFilter.REMOVED: frozenset({FieldOperation.CLEARED, FieldOperation.NOT_REMOVED}),
    FieldFilter.DEFAULTED: frozenset({FieldOperation.DEFAULTED, FieldOperation.ALLOCATED}),
    FieldFilter.ALL: frozenset(FieldOperation),
}

_NO_MARKS = field_marks.Marks(())

FILTER_WORDS: dict[FieldFilter, str | Promise] = {
    FieldFilter.CHANGES: _("Changes"),
    FieldFilter.CONFLICTS: _("Conflicts"),
    FieldFilter.KEPT: _("Kept (not in manifest)"),
    FieldFilter.REMOVED: _("Removed"),
    FieldFilter.DEFAULTED: _("Server defaults"),
    FieldFilter.ALL: _("All fields"),
}


class FilterChoice(Struct, frozen=True):
    """One filter with its number of rows."""

    value: str
    word: str | Promise
    count: int
    is_current: bool


class FieldRow(Struct, frozen=True):
    """One field as pages, the change record and the API show it.

    - `marks` are its versions and which of them agree; `versions` those that have a value of their own.
    """

    index: int
    path: str
    style: Appearance
    live: Shown | None
    after: Shown | None
    is_changed: bool
    why: str
    rule: str
    marks: field_marks.Marks
    owners_before: tuple[OwnerChip, ...]
    owners_after: tuple[OwnerChip, ...]
    is_conflict: bool
    conflicts: tuple[str, ...]
    position: str
    about_url: str
    lines: tuple[DiffRow, ...] = ()
    conflict_row: ConflictRow | None = None
    release: BlockedRemovalRow | None = None
    is_resolved: bool = False
    can_ignore: bool = False

    @property
    def versions(self) -> tuple[field_marks.VersionMark, ...]:
        """Return the versions of the field with their values."""
        return self.marks.versions

    @property
    def has_owner_change(self) -> bool:
        """Return whether the owner changes."""
        return is_handed_on(self.owners_before, self.owners_after)


def render_short(path: FieldPath) -> str:
    """Return a path for people: dots between plain fields, an angle before names from data."""
    text = ""
    was_field = False
    for element in path:
        name = name_element(element)
        is_field = element[0] == "f" and "." not in name and "/" not in name
        between = "." if is_field and was_field else " › "  # noqa: RUF001 the angle is drawn
        text += (between if text else "") + name
        was_field = is_field
    return text


def _repeats_key(path: FieldPath) -> bool:
    """Return whether a field only repeats a key of its list entry."""
    return len(path) > 1 and path[-2][0] == "k" and path[-1][2:] in element_value(path[-2])


def _falls_back(change: PlannedObject, reason: FieldReason, chosen: FieldFilter) -> bool:
    """Return whether a default replaces a live value: a change, not the filling of a gap."""
    return (
        chosen is FieldFilter.CHANGES
        and reason.operation is FieldOperation.DEFAULTED
        and change.versions.in_live.find(reason.path) is not ABSENT
    )


def _is_identity(change: PlannedObject, reason: FieldReason) -> bool:
    """Return whether a field only identifies the created or deleted object, so that it is not a change."""
    is_there_throughout = change.versions.live is not None and change.versions.after is not None
    return reason.path in NAMING and not is_there_throughout


def select_reasons(change: PlannedObject, chosen: FieldFilter) -> list[tuple[int, FieldReason]]:
    """Return the reasons that match a filter, each with its position in the change; pages count only these.

    - An object in error has none: nothing of it is written, so there is no object after the apply to compare with.
    """
    if change.operation is Operation.ERROR:
        return []
    shown = _SHOWN_BY[chosen]
    found = [(n, r) for n, r in enumerate(change.fields) if r.operation in shown or _falls_back(change, r, chosen)]
    if chosen is FieldFilter.ALL:
        return found
    if chosen is FieldFilter.KEPT:  # what others set comes first, before many defaults
        found.sort(key=lambda one: one[1].reason is Reason.LIVE_ONLY)
    if chosen is FieldFilter.REMOVED:
        found = [one for one in found if not is_filling(one[1])]
    # The key of an entry goes without saying where the entry has another row.
    shown_entries = {r.path[:-1] for _n, r in found if not _repeats_key(r.path)}
    return [
        (n, r)
        for n, r in found
        if r.reason is not Reason.BOOKKEEPING
        and not (_repeats_key(r.path) and r.path[:-1] in shown_entries)
        and not _is_identity(change, r)
    ]


def _present_marks(
    change: PlannedObject, reason: FieldReason, mode: ApplyMode, you: str, show: ShowValue
) -> field_marks.Marks:
    versions = change.versions
    manifest, live, after = (
        finder.find(reason.path) for finder in (versions.in_manifest, versions.in_live, versions.in_after)
    )
    is_equal = find_equality(change, reason)
    if mode is ApplyMode.CLIENT:
        last_applied = versions.in_last_applied.find(reason.path)
        return field_marks.compare_versions(last_applied, manifest, live, after, is_equal, show)
    return field_marks.compare_owned(_is_yours(reason.owners_before, you), manifest, live, after, is_equal, show)


def find_equality(change: PlannedObject, reason: FieldReason) -> Equality:
    """Return when two values of the field are equal: quantities by amount, where the schema has quantities."""
    return partial(is_same_at, find_root(change.ref.gvk), reason.path)


def _is_yours(owners: tuple[Owner, ...], you: str) -> bool:
    return any(o.manager == you and o.operation == "Apply" for o in owners)


def name_conflicts(change: PlannedObject) -> dict[FieldPath, tuple[str, ...]]:
    """Return the messages of the conflicts at each path."""
    found: dict[FieldPath, tuple[str, ...]] = {}
    for conflict in change.conflicts:
        found[conflict.path] = (*found.get(conflict.path, ()), conflict.message)
    return found


def _find_values(change: PlannedObject, reason: FieldReason) -> tuple[JSONValue, JSONValue]:
    """Return the values of a field before and after.

    - A leaf that is new may stand where fields were before, as `{}` does in place of a map: they have their own rows.
    """
    live, after = change.versions.in_live.find(reason.path), change.versions.in_after.find(reason.path)
    return (
        ABSENT if reason.operation is FieldOperation.SET else live,
        ABSENT if reason.operation is FieldOperation.CLEARED else after,
    )


class RowParts(NamedTuple):
    """The optional parts of rows.

    - `has_versions`: rows include the marks of their versions, which an opened row shows. Without them, a row with
      differing lines has no values.
    - `has_lines`: rows of long values include the differing lines.
    """

    has_versions: bool = True
    has_lines: bool = True


WITH_ALL_PARTS = RowParts()


def present_rows(
    change: PlannedObject,
    reasons: Iterable[tuple[int, FieldReason]],
    *,
    options: ApplyOptions,
    explain: Callable[[FieldReason], str],
    url_of: Callable[[int], str],
    resolution: ConflictPage = NOTHING,
    show: ShowValue | None = None,
    parts: RowParts = WITH_ALL_PARTS,
) -> Iterator[FieldRow]:
    """Yield the row of each reason; `explain` returns its sentence, and `url_of` the address of what opening shows.

    - `show` returns the text of a value.
    """
    conflicts = name_conflicts(change)
    show = show or ValueTexts().show
    for index, reason in reasons:
        yield _present_row(change, index, reason, conflicts, options, explain, url_of, resolution, show, parts)


def _present_row(
    change: PlannedObject,
    index: int,
    reason: FieldReason,
    conflicts: Mapping[FieldPath, tuple[str, ...]],
    options: ApplyOptions,
    explain: Callable[[FieldReason], str],
    url_of: Callable[[int], str],
    resolution: ConflictPage,
    show: ShowValue,
    parts: RowParts,
) -> FieldRow:
    """Return one row, with everything that opening it shows; `conflicts` are those of the object by path."""
    you = options.field_manager
    live, after = _find_values(change, reason)
    is_absent = (live is ABSENT, after is ABSENT)
    # An amount that is stored in another spelling is another text, and a StatefulSet restarts its pods for it.
    is_same = all(is_absent) or (not any(is_absent) and is_same_json(live, after))
    path = render_path(reason.path)
    has_lines = parts.has_lines and not is_same
    lines = diff_values(str(element_value(reason.path[-1])), live, after) if has_lines else ()
    has_texts = parts.has_versions or not lines
    return FieldRow(
        index=index,
        path=path,
        style=style_field(reason),
        live=show(live) if has_texts else None,
        after=show(after) if has_texts else None,
        is_changed=not is_same,
        why=explain(reason),
        rule=reason.reason.value,
        marks=_present_marks(change, reason, options.mode, you, show) if parts.has_versions else _NO_MARKS,
        owners_before=present_owners(reason.owners_before, you=you),
        owners_after=present_owners(reason.owners_after, you=you),
        is_conflict=reason.operation is FieldOperation.CONFLICT,
        conflicts=conflicts.get(reason.path, ()),
        position=str(reason.position) if reason.position.line else "",
        about_url=url_of(index),
        conflict_row=resolution.conflict_rows.get(path),
        release=resolution.blocked_removals.get(path),
        is_resolved=path in resolution.resolved_paths,
        can_ignore=not is_same and not reason.position.line,
        lines=lines,
    )
