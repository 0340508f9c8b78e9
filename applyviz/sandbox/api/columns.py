"""Columns of `kubectl get`, and cells that many kinds have.

Rule: k8s.io/kubernetes `pkg/printers/internalversion/printers.go`. The server prints all columns; kubectl shows those
that are wide with `-o wide`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.sandbox.api.ages import render_since

Cell = Callable[[JSONObject, datetime], JSONValue]
NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"


class TableColumn(NamedTuple):
    """One column; `read` returns its cell for an object at a moment."""

    name: str
    read: Cell
    type: str = "string"
    is_wide: bool = False
    format: str = ""


def at(*path: str, default: JSONValue = NONE) -> Cell:
    """Return a cell with the value of a field, or a default where it is absent or empty."""

    def read(obj: JSONObject, now: datetime) -> JSONValue:
        value = get_at(obj, path)
        return default if value is None or value == "" else value

    return read


def text_at(*path: str, default: str = UNSET) -> Cell:
    """Return a cell with the value of a field as text, or a default where it is absent."""

    def read(obj: JSONObject, now: datetime) -> str:
        value = get_at(obj, path)
        return default if value is None else str(value)

    return read


def since(*path: str, default: str = UNKNOWN) -> Cell:
    """Return a cell with the time since a moment of the object."""
    return lambda obj, now: render_since(get_at(obj, path), now, default)


def size_of(*paths: tuple[str, ...]) -> Cell:
    """Return a cell with the number of entries of several fields together."""
    return lambda obj, now: sum(len(get_at(obj, path) or ()) for path in paths)


def joined(path: tuple[str, ...], default: str = NONE) -> Cell:
    """Return a cell with the entries of a list of texts."""
    return lambda obj, now: ",".join(get_at(obj, path) or ()) or default


def list_some(texts: Sequence[str], default: str, *, most: int = 3, mark: str = ",") -> str:
    """Return the first few of several texts, and how many more there are."""
    more = f" + {len(texts) - most} more..." if len(texts) > most else ""
    return mark.join(texts[:most]) + more or default


def labels_at(*path: str) -> Cell:
    """Return a cell with a map of labels."""
    return lambda obj, now: ",".join(f"{k}={v}" for k, v in sorted((get_at(obj, path) or {}).items())) or NONE


def selector_at(*path: str) -> Cell:
    """Return a cell with a selector of labels and expressions, sorted by key."""
    return lambda obj, now: _format_selector(get_at(obj, path) or {})


def _format_selector(selector: JSONObject) -> str:
    parts = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, values = term["key"], ",".join(sorted(term.get("values") or ()))
        texts = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "DoesNotExist": f"!{key}"}
        parts.append((key, texts.get(term["operator"], key)))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0])) or NONE


def find_conditions(obj: JSONObject) -> dict[str, str]:
    """Return the status of each condition by its type."""
    return {c.get("type", ""): c.get("status", "") for c in get_at(obj, ("status", "conditions")) or ()}


NAME = TableColumn("Name", at("metadata", "name", default=""), format="name")
AGE = TableColumn("Age", since("metadata", "creationTimestamp"))
