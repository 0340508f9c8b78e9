"""Typed access to JSON values whose shape the code knows: a stored row, a message between processes, a credential.

Each accessor returns the value as the type that its name says and raises `TypeError` for any other value, so that a
wrong document stops where it is read. `None` stands for an absent map or list, and is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, JSONValue


def as_mapping(value: JSONValue) -> JSONObject:
    """Return a map; None is empty. Raises `TypeError` for anything else."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise TypeError(f"expected a map, got {type(value).__name__}")


def map_or_empty(value: JSONValue) -> JSONObject:
    """Return a map; anything else is an empty one: of a document that somebody may have changed since it was stored."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: JSONValue) -> Sequence[JSONValue]:
    """Return a list; None is empty. Raises `TypeError` for anything else, also for text."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return value
    raise TypeError(f"expected a list, got {type(value).__name__}")


def as_text(value: JSONValue) -> str:
    """Return text. Raises `TypeError` for anything else."""
    if isinstance(value, str):
        return value
    raise TypeError(f"expected text, got {type(value).__name__}")


def as_number(value: JSONValue) -> int:
    """Return an integer. Raises `TypeError` for anything else, also for a boolean."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"expected an integer, got {type(value).__name__}")
