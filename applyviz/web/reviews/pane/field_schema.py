"""The schema of one field (description, type, merge rules of lists and maps), and the field's history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.schema.model import ListType, MapType
from applyviz.web.components.badges import Appearance, style_field
from applyviz.web.components.owners import OwnerChip, is_handed_on, present_owners
from applyviz.web.components.values import Shown, show_value
from applyviz.workflow.live.field_details import FieldFacts, PastMove


class SchemaNote(Struct, frozen=True):
    """One fact about a field."""

    label: str
    text: str


class Wrote(Struct, frozen=True):
    """A field owner and its last write to the object."""

    owner: OwnerChip
    time: str


class PastRow(Struct, frozen=True):
    """The change of the field by one run."""

    at: datetime | None
    run_number: int
    url: str
    by: str
    style: Appearance
    before: Shown | None
    after: Shown | None
    owners_before: tuple[OwnerChip, ...]
    owners_after: tuple[OwnerChip, ...]

    @property
    def has_owner_change(self) -> bool:
        """Return whether the owner changed."""
        return is_handed_on(self.owners_before, self.owners_after)


class FieldSchema(Struct, frozen=True):
    """The details of a field; `has_past`: its history was requested.

    - `is_folded`: the history is what counts, and the schema is folded below it.
    """

    path: str
    description: str
    notes: tuple[SchemaNote, ...]
    owners: tuple[Wrote, ...] = ()
    past: tuple[PastRow, ...] = ()
    has_past: bool = False
    is_folded: bool = False

    @property
    def has_schema(self) -> bool:
        """Return whether a schema says anything of the field."""
        return bool(self.description or self.notes)


def _describe_merge(node: FieldFacts) -> Iterator[str]:
    if node.list_type is ListType.MAP:
        yield _("list with keys %(keys)s") % {"keys": ", ".join(node.list_map_keys)}
    elif node.list_type is ListType.SET:
        yield _("set: unique values, each with its own owners")
    elif node.type == "array":
        yield _("atomic list: owned and replaced as a whole")
    if node.map_type is MapType.ATOMIC:
        yield _("atomic map: owned and replaced as a whole")
    if node.patch_strategy:
        key = f" ({node.patch_merge_key})" if node.patch_merge_key else ""
        yield _("patch strategy %(strategy)s") % {"strategy": ", ".join(node.patch_strategy)} + key


def _list_notes(node: FieldFacts) -> Iterator[SchemaNote]:
    if node.type:
        yield SchemaNote(_("Type"), f"{node.type} ({node.format})" if node.format else node.type)
    for text in _describe_merge(node):
        yield SchemaNote(_("Merges as"), text)
    if node.has_default:
        yield SchemaNote(_("Default"), str(node.default))
    if node.enum:
        yield SchemaNote(_("One of"), ", ".join(str(value) for value in node.enum))


def present_schema(facts: FieldFacts | None, path: FieldPath) -> FieldSchema:
    """Return the details of the field; with an empty description when nothing is known."""
    if facts is None:
        return FieldSchema(render_path(path), "", ())
    return FieldSchema(render_path(path), facts.description, tuple(_list_notes(facts)))


def _present_past(move: PastMove, you: str) -> PastRow:
    path, versions = move.reason.path, move.versions
    return PastRow(
        at=move.at,
        run_number=move.run_number,
        url=reverse("runs:show-result", args=[move.run_number, move.position]),
        by=move.by,
        style=style_field(move.reason),
        before=show_value(versions.in_live.find(path)),
        after=show_value(versions.in_after.find(path)),
        owners_before=present_owners(move.reason.owners_before, you=you),
        owners_after=present_owners(move.reason.owners_after, you=you),
    )


def with_past(about: FieldSchema, owners: tuple[Owner, ...], past: Iterable[PastMove], *, you: str) -> FieldSchema:
    """Return the details with the live owners, their last writes, and the changes by runs."""
    wrote = tuple(Wrote(chip, chip.time) for chip in present_owners(owners, you=you))
    return replace(about, owners=wrote, past=tuple(_present_past(move, you) for move in past), has_past=True)
