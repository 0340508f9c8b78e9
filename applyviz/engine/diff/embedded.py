"""Detect Secrets inside text: read a string as JSON, YAML or base64.

Both `masking` and `repeating` use this module, so that they agree on what a Secret is. Left out: a real YAML parse;
text that looks like a Secret in YAML counts as one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from applyviz.engine.objects.values import JSONValue

_YAML_DATA = re.compile(r"""\b(data|stringData)["']?[ \t]*:""", re.IGNORECASE)
_YAML_SECRET = re.compile(
    r"""^[ \t]*(-[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Secret(List)?\b""", re.MULTILINE | re.IGNORECASE
)


def decode_secret(text: str) -> bytes:
    """Return the bytes of a value of `data`; the text itself when it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")


def names_secret(kind: JSONValue) -> bool:
    """Return whether a kind, as claimed or resolved, means Secrets; spelling and group do not count."""
    return isinstance(kind, str) and kind.lower() in ("secret", "secrets", "secretlist")


def parse_embedded(text: str) -> Mapping[str, Any] | list[Any] | None:
    """Return the object or list that a text holds as JSON, None when it holds none."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped.startswith(("{", "[", '"')):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str):
        return parse_embedded(value)
    return value if isinstance(value, dict | list) else None


def looks_secret(text: str) -> bool:
    """Return whether text that is not valid JSON may hold a Secret nevertheless."""
    if _YAML_SECRET.search(text) and _YAML_DATA.search(text):
        return True
    return "secret" in text.lower() and ('"data"' in text or "stringData" in text)
