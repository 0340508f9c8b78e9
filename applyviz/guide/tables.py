"""Compute a table of the guide: one field with many combinations of manifest, last applied and live.

The block names the path of the field, the block `base` has the rest of the object, the same in every version of every
row. Each row has the values of the three versions, of which any may be missing, and the recorded answers: the patch of
the map around the field, without the annotation, and the field after apply, as a server stores it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml
from msgspec import Struct

from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.builtin import bundled
from applyviz.guide import playground
from applyviz.guide.abridging import abridge
from applyviz.guide.given import PlaygroundQuery
from applyviz.guide.pages import Example, PagePart

_GIVEN = ("last-applied", "manifest", "live")
_NOW = "2026-01-01T00:00:59Z"
ABSENT = "—"


class MergeCase(Struct, frozen=True):
    """One row: the values of the field as text, and what the engine computes; `ABSENT` where there is no field.

    - `expected`: the recorded patch and result.
    """

    last_applied: str
    manifest: str
    live: str
    patch: str
    after: str
    expected: tuple[str, str]


class MergeTable(Struct, frozen=True):
    """A table: the kind and the path of its field, the rest of the object as text, and its rows."""

    kind: str
    path: str
    base: str
    rows: tuple[MergeCase, ...]


def print_value(value: JSONValue) -> str:
    """Return a value as compact YAML in one line."""
    if isinstance(value, Mapping | list):
        text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True)
        return text.strip()
    return json.dumps(value)


def print_field(obj: JSONObject, path: tuple[str, ...]) -> str:
    """Return the value at a path as text."""
    above = get_at(obj, path[:-1])
    return print_value(above[path[-1]]) if isinstance(above, Mapping) and path[-1] in above else ABSENT


def build_versions(base: JSONObject, path: tuple[str, ...], row: Mapping[str, JSONValue]) -> dict[str, JSONObject]:
    """Return the object of each version: the base with the value of the row, whose parents every version has."""
    found: dict[str, JSONObject] = {}
    for part in _GIVEN:
        obj: MutableObject = clone(dict(base))
        above = obj
        for name in path[:-1]:
            above = above.setdefault(name, {})
        if part in row:
            above[path[-1]] = row[part]
        found[part] = obj
    return found


def _compute(base: JSONObject, path: tuple[str, ...], row: Mapping[str, JSONValue]) -> MergeCase:
    versions = build_versions(base, path, row)
    gvk = GroupVersionKind.from_object(base)
    kind = bundled().find_kind(gvk)
    patch = patches.compute(versions["last-applied"], versions["manifest"], versions["live"], kind=kind)
    above = get_at(patch.body, path[:-1])
    expected = tuple(print_value(row[part]) if part in row else ABSENT for part in ("patch", "after"))
    last_applied, manifest, live = (print_value(row[part]) if part in row else ABSENT for part in _GIVEN)
    shown = print_value(above) if above else ABSENT
    return MergeCase(last_applied, manifest, live, shown, _estimate(versions, path), (expected[0], expected[1]))


def _estimate(versions: Mapping[str, JSONObject], path: tuple[str, ...]) -> str:
    """Return the field as a server stores it, without defaults that no version names; or the refusal."""
    last_applied, manifest, live = (json.dumps(versions[part]) for part in _GIVEN)
    given = PlaygroundQuery(
        manifest=manifest,
        live=live,
        last_applied=last_applied,
        mode=ApplyMode.CLIENT,
        field_manager=CLIENT_SIDE_MANAGER,
    )
    change = playground.estimate(given, now=_NOW)
    if change.error or change.versions.after is None:
        return change.error
    kind = bundled().find_kind(GroupVersionKind.from_object(change.versions.after))
    known = (versions["live"], versions["manifest"])
    return print_field(abridge(change.versions.after, known=known, before=None, kind=kind), path)


def list_rows(text: str) -> Iterator[Mapping[str, JSONValue]]:
    """Yield the rows of a table.

    - Raises `ManifestError` for a text that is no list of rows.
    """
    rows = yaml.safe_load(text)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ManifestError("expected a list of rows")
    yield from rows


def compute_tables(example: Example) -> tuple[MergeTable, ...]:
    """Return the tables of an example: the blocks `table PATH`, each behind the block `base` that it fills.

    - Raises `ManifestError` for a block that is no table, `MergeError` for a row that cannot be merged.
    """
    found: list[MergeTable] = []
    base = ""
    for block in example.blocks:
        if block.part is PagePart.BASE:
            base = block.text
        elif block.part is PagePart.TABLE:
            if not base or len(block.words) != 1:
                raise ManifestError("expected a block base, then: table PATH")
            obj, path = yaml.safe_load(base), tuple(block.words[0].split("."))
            rows = tuple(_compute(obj, path, row) for row in list_rows(block.text))
            found.append(MergeTable(obj["kind"], block.words[0], base.rstrip("\n"), rows))
    return tuple(found)
