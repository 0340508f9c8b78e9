"""Compute a table of the guide: one field with many combinations of manifest, last applied and live.

The block names the kind and the path of the field; each row has the values of the three versions, of which any may be
missing, and the recorded answers: the patch of the map around the field, and the field after apply. The answers are
computed by the three-way patch that a review sends, without the annotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from applyviz.engine.merge import patches
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.pages import Block

_GIVEN = ("last-applied", "manifest", "live")
ABSENT = "—"


@dataclass(frozen=True, slots=True)
class MergeCase:
    """One row: the values of the field as text, and what the engine computes; `ABSENT` where there is no field.

    - `expected`: the recorded patch and result.
    """

    last_applied: str
    manifest: str
    live: str
    patch: str
    after: str
    expected: tuple[str, str]


@dataclass(frozen=True, slots=True)
class MergeTable:
    """A table: the kind and the path of its field, and its rows."""

    kind: str
    path: str
    rows: tuple[MergeCase, ...]


def _print(value: JSONValue) -> str:
    """Return a value as compact YAML in one line."""
    if isinstance(value, Mapping | list):
        text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True)
        return text.strip()
    return json.dumps(value)


def _print_field(obj: JSONObject, path: tuple[str, ...]) -> str:
    above = get_at(obj, path[:-1])
    return _print(above[path[-1]]) if isinstance(above, Mapping) and path[-1] in above else ABSENT


def _build(gvk: GroupVersionKind, path: tuple[str, ...], row: Mapping[str, JSONValue], part: str) -> JSONObject:
    """Return the object of one version; the maps above the field exist in every version."""
    value: JSONValue = {path[-1]: row[part]} if part in row else {}
    for name in reversed(path[:-1]):
        value = {name: value}
    found = dict(value) if isinstance(value, Mapping) else {}
    metadata = {"name": "web", **as_mapping(found.pop("metadata", None))}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **found}


def _compute(gvk: GroupVersionKind, path: tuple[str, ...], row: Mapping[str, JSONValue]) -> MergeCase:
    versions = {part: _build(gvk, path, row, part) for part in _GIVEN}
    kind = bundled().find_kind(gvk)
    patch = patches.compute(versions["last-applied"], versions["manifest"], versions["live"], kind=kind)
    after = patches.apply(versions["live"], patch.body, patch.content_type, kind=kind)
    above = get_at(patch.body, path[:-1])
    expected = (_print(row["patch"]) if "patch" in row else ABSENT, _print(row["after"]) if "after" in row else ABSENT)
    last_applied, manifest, live = (_print(row[part]) if part in row else ABSENT for part in _GIVEN)
    shown = _print(above) if above else ABSENT
    return MergeCase(last_applied, manifest, live, shown, _print_field(after, path), expected)


def _read_rows(text: str) -> Iterator[Mapping[str, JSONValue]]:
    rows = yaml.safe_load(text)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ManifestError("expected a list of rows")
    yield from rows


def compute_table(block: Block) -> MergeTable:
    """Return the table of a block: `table API_VERSION KIND PATH`.

    - Raises `ManifestError` for a block that is no table, `MergeError` for a row that cannot be merged.
    """
    if len(block.words) != 3:
        raise ManifestError("expected: table API_VERSION KIND PATH")
    api_version, kind, dotted = block.words
    group, _slash, version = api_version.rpartition("/")
    gvk, path = GroupVersionKind(group, version, kind), tuple(dotted.split("."))
    return MergeTable(kind, dotted, tuple(_compute(gvk, path, row) for row in _read_rows(block.text)))
