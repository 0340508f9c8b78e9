"""Texts and JSON values as every database returns them, so that a hash of what is in memory fits what is read back.

- No database keeps a NUL in text or JSON, and an API server stores one, so a live object may hold one that no manifest
  set. What is shown and recorded holds the symbol `␀` instead; what is sent and compared keeps it, encrypted.
- PostgreSQL keeps the value of a number, but neither its exponent nor the sign of a zero: `1e+23` comes back as an
  integer of 24 digits, `-0.0` as `0.0`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from applyviz.engine.objects.json_text import write_json

_NUL, _SYMBOL = "\0", "\N{SYMBOL FOR NULL}"
Value = TypeVar("Value")
# A text that spells out an escape, or has digits around an `e`, may be one.
_OTHERWISE = re.compile(rb"\\u0000|[0-9]e\+?[0-9]|-0\.0")


def as_stored(value: Value) -> Value:
    """Return a text or a JSON value as a database returns it; the value itself if that is the same."""
    if isinstance(value, str):
        return _change(value) if _NUL in value else value
    return _change(value) if may_be_changed(_write(value)) else value


def may_be_changed(text: bytes) -> bool:
    """Return whether the JSON text of a value may hold something that a database does not return."""
    return _OTHERWISE.search(text) is not None


def _write(value: object) -> bytes:
    try:
        return write_json(value)
    except (TypeError, UnicodeError):  # half a surrogate pair of a live object, or a value that is no JSON
        return json.dumps(value, default=str).encode()


def _change(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(_NUL, _SYMBOL)
    if isinstance(value, float):
        digits = repr(value + 0.0)  # the sum turns -0.0 into 0.0
        return int(Decimal(digits)) if "e+" in digits else float(digits)
    if isinstance(value, Mapping):
        return {_change(name): _change(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_change(item) for item in value]
    return value
