"""The columns that a CustomResourceDefinition declares, `additionalPrinterColumns`, with their JSON paths.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns
and k8s.io/apiextensions-apiserver `pkg/registry/customresource/tableconvertor`. Of JSON paths: names, quoted names,
positions, `*`, and filters by equality; a column with another path stays empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from math import isfinite

from applyviz.engine.objects.golang import read_signed
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.sandbox.api.ages import render_since
from applyviz.sandbox.api.columns import AGE, NAME, Cell, TableColumn
from applyviz.sandbox.storage.resources import ResourceTarget

_STEP = re.compile(
    r"""\.?\[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]"""
    r"""|\[\?\(\s*@(?P<field>[^=!<>\s]+)\s*(?P<sign>==|!=)\s*(?P<value>'[^']*'|"[^"]*"|[\w.+-]+)\s*\)\]"""
    r"""|\.?\[(?P<position>\*|-?[0-9]+)\]"""
    r"""|\.(?P<name>(?:\\.|[^.\[\]\\])+)"""
)
_Steps = tuple[re.Match[str], ...]


@lru_cache(maxsize=1024)
def _split(path: str) -> _Steps | None:
    """Return the steps of a path, None if it has one that is not supported."""
    steps, at = [], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        steps.append(step)
        at = step.end()
    return tuple(steps)


def _entries(value: JSONValue) -> Sequence[JSONValue]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _follow(value: JSONValue, steps: _Steps) -> Iterator[JSONValue]:
    """Yield what a path leads to, in the order of the object."""
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    for found in _take(value, step):
        yield from _follow(found, rest)


def _take(value: JSONValue, step: re.Match[str]) -> Sequence[JSONValue]:
    if (position := step["position"]) is not None:
        if position == "*":
            return _entries(value)
        entries, at = value if isinstance(value, list) else (), read_signed(position)
        return [entries[at]] if at is not None and -len(entries) <= at < len(entries) else ()
    if step["field"] is not None:
        return [entry for entry in _entries(value) if _fits(entry, step)]
    name = step["quoted"][1:-1] if step["quoted"] is not None else step["name"]
    if name == "*" and step["quoted"] is None:
        return _entries(value)
    name = re.sub(r"\\(.)", r"\1", name)
    return [value[name]] if isinstance(value, Mapping) and name in value else ()


def _fits(entry: JSONValue, step: re.Match[str]) -> bool:
    wanted = step["value"].strip("'\"") if step["value"][:1] in "'\"" else json.dumps(_literal(step["value"]))
    found = find_first(entry, step["field"])
    shown = found if isinstance(found, str) else json.dumps(found)
    return (shown == wanted) == (step["sign"] == "==")


def _literal(text: str) -> JSONValue:
    try:
        found: JSONValue = json.loads(text)
    except ValueError:
        return text
    return found


def find_first(obj: JSONValue, path: str) -> JSONValue:
    """Return the first value that a path leads to, None if there is none."""
    steps = _split(path)
    return None if steps is None else next(_follow(obj, steps), None)


def read_cell(path: str, kind: str) -> Cell:
    """Return the cell of a column with a path and a type."""

    def read(obj: JSONObject, now: datetime) -> JSONValue:
        value = find_first(obj, path)
        return None if value is None else _shape(value, kind, now)

    return read


def _shape(value: JSONValue, kind: str, now: datetime) -> JSONValue:
    """Return a value as the type of its column allows; None if it is of another type."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    match kind:
        case "string":
            return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        case "integer":
            return int(number) if number is not None and isfinite(number) else None
        case "number":
            return number
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return _age(value, now) if isinstance(value, str) else None


def _age(moment: str, now: datetime) -> str:
    try:
        return render_since(moment, now)
    except (ValueError, TypeError):
        return "<invalid>"


def list_custom_columns(target: ResourceTarget) -> list[TableColumn]:
    """Return the columns of a custom resource: those of its definition, else its age."""
    versions = (target.definition or {}).get("spec", {}).get("versions") or ()
    entry: JSONObject = next((v for v in versions if v["name"] == target.gvk.version), {})
    columns = [
        TableColumn(
            column.get("name", ""),
            read_cell(column.get("jsonPath", ""), column.get("type", "")),
            column.get("type", ""),
            bool(column.get("priority")),
            column.get("format", ""),
        )
        for column in entry.get("additionalPrinterColumns") or ()
    ]
    return [NAME, *(columns or [AGE])]
