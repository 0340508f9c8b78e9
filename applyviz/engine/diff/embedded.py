"""Detect Secrets inside text: read a string as JSON, YAML or base64.

Both `masking` and `repeating` use this module, so that they agree on what a Secret is. Text that looks like a Secret in
YAML counts as one, unless it can be read as YAML and only refers to Secrets.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from applyviz.engine.diff.embedded_documents import read_yaml
from applyviz.engine.objects.values import JSONObject, JSONValue

# A reference to a Secret has no data; a manifest of one does.
_YAML_FIELD = re.compile(r"""datas?["']?\s*[:=]""", re.IGNORECASE)
_YAML_SECRET = re.compile(
    # `kind` begins a line or an entry, or is in a map on one line. Its value may have a tag or an anchor, follow on a
    # later line, also after a comment, or be an alias.
    r"""(?:^\ufeff?|[\r\x85\u2028\u2029{,]|-[ \t]|\?[ \t])[ \t]*["']?kind["']?\s*[:=]\s*"""
    r"""(?:[!&]\S{0,80}\s+|[|>][-+0-9]{0,3}\s+|\#[^\n]{0,400}\n\s*){0,3}(?:["']?Secret(?:s|List)?\b|\*\S)""",
    re.MULTILINE | re.IGNORECASE,
)

_METADATA = re.compile(r"""(?<![a-z])metadata["']?\s*[:=]""", re.IGNORECASE)
_IS_SECRET = re.compile(r"\W*secret(?:s|list)?\b", re.IGNORECASE)
# A reader skips comments, but one may hold a Secret all the same.
_COMMENT = re.compile(r"(?:^|\s)#[^\n]*", re.MULTILINE)
_NOTED = re.compile("kind|data", re.IGNORECASE)
_OF_REFERENCES = frozenset(
    {
        *("apiVersion", "apiGroup", "group", "version", "kind", "name", "namespace", "uid", "resourceVersion"),
        *("key", "fieldPath", "optional"),
    }
)
_NO_LETTER = re.compile("[^a-z]+")
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

KIND_NAMES = frozenset({"kind", "Kind", "KIND"})
"""The names under which a map says what it is."""


def hides_field(name: str, value: JSONValue, *, is_resolved: bool) -> bool:
    """Return whether a field of a Secret is hidden: every field that is not known to hold no secret.

    - `is_resolved` False: the kind is unknown, so only fields that are called like those of a Secret are hidden.
    """
    if not is_resolved:
        return _names_data(name)
    if name == "items" and isinstance(value, list):
        return False
    return value is not None and not isinstance(value, _SHOWN.get(name, ()))


def holds_secret(value: JSONObject) -> bool:
    """Return whether a map inside another object is a Secret, not a reference to one.

    - A Secret has metadata or data, in any spelling; the names of its values do not count.
    """
    return claims_secret(value) and any(name.lower() == "metadata" or _names_data(name) for name in value)


def claims_secret(value: JSONObject) -> bool:
    """Return whether a map says that its kind is Secret, or a list of them; the case of letters does not count."""
    return any(map(names_secret, map(value.get, KIND_NAMES)))


def decode_secret(text: str) -> bytes:
    """Return the bytes of a value of `data`; the text itself when it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")


def names_secret(kind: JSONValue) -> bool:
    """Return whether a kind, as claimed or resolved, means Secrets; spelling and group do not count."""
    return isinstance(kind, str) and kind.lower() in ("secret", "secrets", "secretlist")


def _names_data(name: str) -> bool:
    letters = _NO_LETTER.sub("", name.lower()).removesuffix("s")
    return letters.endswith("data") and letters != "metadata"


def mentions_secret(text: str) -> bool:
    """Return whether a text can name the kind of a Secret at all, in any case of its letters."""
    return "ecret" in text or "ecret" in text.lower()


def parse_embedded(text: str) -> JSONObject | list[Any] | None:
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
    lower = text.lower()
    if "secret" not in lower:
        return False
    if '"data"' in lower or "stringdata" in lower:
        return True
    if _YAML_FIELD.search(text) is None or _YAML_SECRET.search(text) is None:
        return False
    return _YAML_FIELD.search(_METADATA.sub(" ", text)) is not None or not _only_refers(text)


def _only_refers(text: str) -> bool:
    """Return whether a text is YAML without doubt, and what it calls a Secret are references: names without values."""
    documents = None if any(map(_NOTED.search, _COMMENT.findall(text))) else read_yaml(text)
    return documents is not None and all(map(_holds_no_secret, documents))


def _holds_no_secret(value: JSONValue) -> bool:
    if isinstance(value, Mapping):
        is_named = any(name.strip().lower() == "kind" and _IS_SECRET.match(str(value[name])) for name in value)
        if is_named and not all(name in _OF_REFERENCES and isinstance(value[name], str) for name in value):
            return False
        return all(_holds_no_secret(name) and _holds_no_secret(value[name]) for name in value)
    if isinstance(value, list):
        return all(map(_holds_no_secret, value))
    return not (isinstance(value, str) and mentions_secret(value) and "kind" in value.lower())
