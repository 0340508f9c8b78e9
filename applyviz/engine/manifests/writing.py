"""Write values as YAML into an existing text, in its style, so that they read back as the same value.

Rule: plain text stays plain only if Go's library reads it as that text (`scalars.resolve_plain`); in doubt it is
quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from applyviz.engine.manifests.scalars import HINTS, resolve_plain
from applyviz.engine.objects.values import JSONValue

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*(?: [A-Za-z0-9_./@+-]+)*\Z", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


def _quote(text: str) -> str:
    return '"' + "".join(map(_escape, text)) + '"'


def _is_plain(text: str) -> bool:
    return bool(_PLAIN.match(text)) and (text[0] not in HINTS or resolve_plain(text).tag == "str")


def write_text(text: str, *, style: str = "") -> str:
    """Return a text as a one-line scalar, with the same quotes as before."""
    if style == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return text if style != '"' and _is_plain(text) else _quote(text)


def write_inline(value: JSONValue, *, style: str = "") -> str:
    """Return any value on one line; maps and lists in flow style."""
    if isinstance(value, str):
        return write_text(value, style=style)
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{write_text(k, style=style)}: {write_inline(v, style=style)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(write_inline(v, style=style) for v in value) + "]"
    return json.dumps(value)


def write_block_text(text: str, indent: int) -> str | None:
    """Return a multi-line text as a literal block, or None if a block cannot represent it exactly."""
    body = text.rstrip("\n")
    is_calm = all(c == "\n" or c.isprintable() for c in body)
    if not body or "\n" not in body or body[0] in " \n" or not is_calm:
        return None
    ending = {0: "-", 1: ""}.get(len(text) - len(body))
    if ending is None:
        return None
    return f"|{ending}\n" + "\n".join(" " * indent + line if line else "" for line in body.split("\n"))


def write_block(value: JSONValue, indent: int) -> str:
    """Return a map or list in block style; its first line continues the current line at column `indent`."""
    pad = "\n" + " " * indent
    if isinstance(value, Mapping) and value:
        return pad.join(f"{write_text(k)}:{_write_below(v, indent)}" for k, v in value.items())
    if isinstance(value, list) and value:
        return pad.join("- " + write_block(v, indent + 2) for v in value)
    return write_inline(value)


def _write_below(value: JSONValue, indent: int) -> str:
    if isinstance(value, (Mapping, list)) and value:
        return "\n" + " " * (indent + 2) + write_block(value, indent + 2)
    return " " + write_inline(value)
