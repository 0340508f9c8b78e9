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

from applyviz.engine.objects.values import JSONObject, JSONValue

_YAML_DATA = re.compile(r"""\b(data|stringData)["']?\s*:""", re.IGNORECASE)
_YAML_SECRET = re.compile(
    # At the start of a line, of an entry, or in a map on one line; its value may have a tag or an anchor, or follow.
    r"""(?:^|[{,]|-[ \t]|\?[ \t])[ \t]*["']?kind["']?\s*:\s*"""
    r"""(?:[!&]\S{0,80}\s+|[|>][-+0-9]{0,3}\s+){0,3}["']?Secret(List)?\b""",
    re.MULTILINE | re.IGNORECASE,
)


_HOLDERS = ("data", "stringdata")
# The fields of a Secret that are shown, with the type that they have then.
_SHOWN: Mapping[str, type] = {"apiVersion": str, "kind": str, "type": str, "immutable": bool, "metadata": dict}
OBJECT_META = frozenset(
    {
        *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "labels"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "annotations", "ownerReferences"),
        *("finalizers", "managedFields"),
    }
)
"""The fields of `metadata`; those of a Secret that are not among them are hidden as its other fields are."""


def hides_field(name: str, value: JSONValue, *, is_resolved: bool) -> bool:
    """Return whether a field of a Secret is hidden: every field that is not known to hold no secret.

    - `is_resolved` False: the kind is unknown, so only fields that are called like those of a Secret are hidden.
    """
    if not is_resolved:
        return name.lower() in _HOLDERS
    if name == "items" and isinstance(value, list):
        return False
    return value is not None and not isinstance(value, _SHOWN.get(name, ()))


def holds_secret(value: JSONObject) -> bool:
    """Return whether a map inside another object is a Secret, and no reference to one."""
    if not names_secret(value.get("kind")):
        return False
    return ("apiVersion" in value and "metadata" in value) or any(name.lower() in _HOLDERS for name in value)


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
    lower = text.lower()
    return "secret" in lower and ('"data"' in lower or "stringdata" in lower)
