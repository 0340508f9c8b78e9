"""Share the equal parts of two JSON values, so that versions of one object take the memory of one."""

from __future__ import annotations

from operator import is_
from typing import Any

from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.values import JSONObject, JSONValue

# How deep whole parts are compared by their text, a hundred times as fast as one by one. A value is written at most so
# often, so that the cost of a very deep one is still linear.
_DEEPEST = 8


def share_equal(value: Any, like: Any, *, deep: int = _DEEPEST) -> Any:
    """Return a JSON value in which every part that equals the same part of another value is that very part.

    Versions of one object are mostly equal: shared, they take the memory of one, and are compared by identity. Values
    of different types are not equal, nor are maps whose names come in another order, or floats written differently.
    """
    kind = type(value)
    if value is like or kind is not type(like):
        return value
    if kind is dict:
        return like if deep and _is_written_alike(value, like) else _share_map(value, like, max(0, deep - 1))
    if kind is list:
        return like if deep and _is_written_alike(value, like) else _share_list(value, like, max(0, deep - 1))
    is_equal = value == like and (kind is not float or repr(value) == repr(like))
    return like if is_equal else value


def _is_written_alike(value: object, like: object) -> bool:
    """Return whether two values are equal and have the same text; False where their text cannot be written."""
    try:
        return bool(value == like) and write_json(value) == write_json(like)
    except (UnicodeError, TypeError, RecursionError):
        return False


def _share_list(value: list[JSONValue], like: list[JSONValue], deep: int) -> list[JSONValue]:
    items = [share_equal(item, other, deep=deep) for item, other in zip(value, like, strict=False)]
    if len(value) == len(like) and all(map(is_, items, like)):
        return like
    return [*items, *value[len(items) :]]


def _share_map(value: JSONObject, like: JSONObject, deep: int) -> JSONObject:
    shared = {}
    is_same = len(value) == len(like)
    for name, item in value.items():  # hot: most parts are texts, which need no call
        other = like.get(name)
        if item is not other:
            kind = type(item)
            if kind is not str:
                item = share_equal(item, other, deep=deep)
            elif kind is type(other) and item == other:
                item = other
            is_same = is_same and item is other
        shared[name] = item
    return like if is_same and [*shared] == [*like] else shared
