"""Convert lines like `kubectl-edit (Update): .data.theme` to managedFields.

One line per field owner: manager, in parentheses operation and subresource (`Apply` by default), then the paths as the
API server prints them. A path must exist in the live object, because keys with dots are ambiguous otherwise, or be that
of a map which the schema declares: the server leaves an empty map out, and its owner keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from applyviz.engine.objects.fieldsets import from_paths
from applyviz.engine.objects.paths import FieldPath, fields, render_path
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.ownership.managed_fields import with_entries
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.topology import Topology, of_root
from applyviz.engine.schema.walk import list_leaves
from applyviz.guide.given import PlaygroundQueryProblem

_LINE = re.compile(
    r"^(?P<manager>\S+)(?: \((?P<operation>Apply|Update)(?: (?P<subresource>\S+))?\))?:(?P<paths>\s.*|)$"
)
# An unclosed bracket or quote takes the rest of the line, so that no part of it is read twice.
_PATH = re.compile(r'(?:\[(?:"(?:\\(?:.|\Z)|[^"\\])*+(?:"|\Z)|[^\]"])*+(?:\]|\Z)|[^\s,\[])++', re.DOTALL)
_LISTED = re.compile(r"^\[(?P<paths>[.\s].*|)\]$")
_TIME = "2026-01-01T00:00:00Z"


def _name_paths(kind: KindSchema | None, live: JSONObject) -> dict[str, FieldPath]:
    """Return every field of an object, and every map and list entry that contains one, by its printed path."""
    found: dict[str, FieldPath] = {}
    for leaf in list_leaves(kind.root if kind else None, live):
        for length in range(1, len(leaf) + 1):
            found.setdefault(render_path(leaf[:length]), leaf[:length])
    return found


def _find_left_out(kind: KindSchema | None, paths: Iterable[str]) -> Iterator[tuple[str, FieldPath]]:
    """Yield each path that is a map by the schema: a live object without it may have an owner of it."""
    for path in paths:
        names = path.removeprefix(".").split(".")
        at: Topology | None = of_root(kind.root) if kind else None
        for name in names:
            at = at.find_field(name) if at is not None else None
        if at is not None and at.is_map:
            yield path, fields(*names)


def _split(text: str) -> Iterator[str]:
    listed = _LISTED.match(text.strip())
    for path in _PATH.findall(listed["paths"] if listed else text):
        yield path if path.startswith((".", "[")) else f".{path}"


def own_fields(
    live: JSONObject, text: str, *, kind: KindSchema | None
) -> tuple[MutableObject, tuple[PlaygroundQueryProblem, ...]]:
    """Return the live object with the managedFields of the lines, and the lines that cannot be used."""
    named = _name_paths(kind, live)
    entries: list[MutableObject] = []
    problems: list[PlaygroundQueryProblem] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.strip() == "nobody":
            continue
        match = _LINE.match(line.strip())
        if match is None:
            reason = f"line {number}: expected `manager (Apply): .path .path`, got {line.strip()[:80]}"
            problems.append(PlaygroundQueryProblem("owners", reason))
            continue
        paths = tuple(_split(match["paths"]))
        named.update(_find_left_out(kind, [path for path in paths if path not in named]))
        missing = [path for path in paths if path not in named]
        problems += [PlaygroundQueryProblem("owners", f"line {number}: live has no field {path}") for path in missing]
        entry: MutableObject = {
            "manager": match["manager"],
            "operation": match["operation"] or "Apply",
            "apiVersion": live.get("apiVersion") or "",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": from_paths(named[path] for path in paths if path in named).render(),
        }
        entries.append({**entry, "subresource": match["subresource"]} if match["subresource"] else entry)
    return (with_entries(live, entries) if entries else dict(live)), tuple(problems)
