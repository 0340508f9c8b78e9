"""Takes known secret values out of text that others wrote: server messages, webhook denials, tool output.

A server that refuses a Secret may print it, whole, cut, quoted, encoded or broken over lines. Rule: what
is eight characters or more of a secret, in any of these forms, is replaced; shorter secrets are replaced
whole. Left out: secrets that nobody told this function of (the caller then shows code and field only).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from applyviz.engine.diff.embedded import decode_secret, names_secret, parse_embedded
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue

SCRUBBED = "\u27eamasked\u27eb"
_RUN = 8
_LONG = 4096
_BLANK = re.compile(r"\\[nrt]|\s+")


def find_secrets(obj: Mapping[str, Any], *, gvk: GroupVersionKind | None) -> frozenset[str]:
    """Every secret value that an object holds: as it is written and as it reads decoded."""
    found: set[str] = set()
    _collect(obj, gvk is None or names_secret(gvk.kind), found)
    return frozenset(found)


def _collect(value: JSONValue, is_secret: bool, found: set[str]) -> None:
    if isinstance(value, list):
        for item in value:
            _collect(item, is_secret, found)
    elif isinstance(value, str):
        embedded = parse_embedded(value) if len(value) > _RUN else None
        if embedded is not None:
            _collect(embedded, is_secret, found)
    elif isinstance(value, Mapping):
        is_secret = is_secret or names_secret(value.get("kind"))
        for key, below in value.items():
            if is_secret and key in ("data", "stringData"):
                _collect_values(below, key == "data", found)
            else:
                _collect(below, is_secret, found)


def _collect_values(value: JSONValue, is_encoded: bool, found: set[str]) -> None:
    if isinstance(value, Mapping):
        for below in value.values():
            _collect_values(below, is_encoded, found)
    elif isinstance(value, list):
        for below in value:
            _collect_values(below, is_encoded, found)
    elif value is not None and not isinstance(value, bool):
        text = value if isinstance(value, str) else json.dumps(value)
        found.add(text)
        if is_encoded:
            found.add(decode_secret(text).decode("utf-8", "replace"))
    found.discard("")


def _forms(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    written = json.dumps(secret, ensure_ascii=False)[1:-1]
    encoded = (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode())
    shown = {secret, written, json.dumps(secret)[1:-1], quote(secret, safe=""), raw.hex(), *encoded}
    return {_BLANK.sub("", form) for form in shown} - {""}


def mask_text(text: str, secrets: Iterable[str]) -> str:
    """The text without any known secret value or a recognisable part of one."""
    compact, places = _squeeze(text)
    covered = bytearray(len(text))
    for form in {f for s in secrets for f in _forms(s)}:
        if len(form) < _RUN:
            _cover_short(text, form, covered)
        else:
            _cover_runs(compact, places, form, covered)
    return _replace(text, covered)


def _squeeze(text: str) -> tuple[str, list[int]]:
    """The text without blanks and written line breaks, and where each character stood."""
    places: list[int] = []
    at = 0
    for gap in _BLANK.finditer(text):
        places.extend(range(at, gap.start()))
        at = gap.end()
    places.extend(range(at, len(text)))
    return "".join(text[p] for p in places), places


def _cover_short(text: str, form: str, covered: bytearray) -> None:
    """Short secrets: whole words only, below four characters only between quotes."""
    escaped = re.escape(form)
    pattern = rf"(?<=[\"'`]){escaped}(?=[\"'`\\])" if len(form) < 4 else rf"(?<!\w){escaped}(?!\w)"
    for match in re.finditer(pattern, text):
        covered[match.start() : match.end()] = b"\x01" * (match.end() - match.start())


def _cover_runs(compact: str, places: list[int], form: str, covered: bytearray) -> None:
    stride = 1 if len(form) <= _LONG else _RUN
    for start in range(0, len(form) - _RUN + 1, stride):
        run = form[start : start + _RUN]
        at = compact.find(run)
        while at >= 0:
            first, last = places[at], places[at + _RUN - 1]
            covered[first : last + 1] = b"\x01" * (last + 1 - first)
            at = compact.find(run, at + 1)


def _replace(text: str, covered: bytearray) -> str:
    if not any(covered):
        return text
    pieces: list[str] = []
    for position, character in enumerate(text):
        if not covered[position]:
            pieces.append(character)
        elif position == 0 or not covered[position - 1]:
            pieces.append(SCRUBBED)
    return "".join(pieces)
