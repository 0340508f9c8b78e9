"""Draw NUL characters of live objects for storage: no database keeps one in text or JSON.

An API server stores a NUL, so an object may hold one that no manifest set. What is sent and compared keeps it, in
encrypted columns; what is shown and recorded holds the symbol `␀` instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from applyviz.engine.objects.json_text import write_json

_NUL, _SYMBOL = "\0", "\N{SYMBOL FOR NULL}"
Value = TypeVar("Value")


def draw_nuls(value: Value) -> Value:
    """Return a JSON value with `␀` for each NUL in its texts and names; the value itself if it holds none."""
    if isinstance(value, str):
        return _draw(value) if _NUL in value else value
    return _draw(value) if may_hold_nuls(_write(value)) else value


def may_hold_nuls(text: bytes) -> bool:
    """Return whether the JSON text of a value may hold a NUL; a text that spells out the escape may be one."""
    return b"\\u0000" in text


def _write(value: Any) -> bytes:
    try:
        return write_json(value)
    except (TypeError, UnicodeError):  # half a surrogate pair of a live object, or a value that is no JSON
        return json.dumps(value, default=str).encode()


def _draw(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(_NUL, _SYMBOL)
    if isinstance(value, Mapping):
        return {_draw(name): _draw(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_draw(item) for item in value]
    return value
