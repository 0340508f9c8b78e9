"""The release notes of a chart, for pages: without what Secrets and credentials hold.

Notes are text that templates make of values, so they may repeat a password. The values of rendered Secrets, and chart
values under the name of a credential, are masked before anything is stored, also in base64.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import yaml

from applyviz.engine.diff.credentials import names_credential, redact
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.values import JSONObject, JSONValue

MASK = "••••••"
MOST = 20_000
_SHORTEST = 4


def _list_texts(value: JSONValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _list_texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _list_texts(one)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)


def _of_secret(obj: JSONObject) -> Iterator[str]:
    for text in _list_texts(obj.get("data") or {}):
        yield text
        with suppress(ValueError):
            yield b64decode(text).decode("utf-8", "replace")
    yield from _list_texts(obj.get("stringData") or {})


def _of_values(value: object) -> Iterator[str]:
    """Yield what is below a name that says that it is a credential."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _list_texts(one) if names_credential(str(name)) else _of_values(one)
    elif isinstance(value, list):
        for one in value:
            yield from _of_values(one)


def _read_values(texts: Iterable[bytes]) -> Iterator[str]:
    for text in texts:
        with suppress(yaml.YAMLError, RecursionError, ValueError):
            yield from _of_values(yaml.safe_load(text))


def mask_notes(notes: str, files: Iterable[ParsedFile], values: Iterable[bytes]) -> str:
    """Return release notes without credentials; `values` are the values files and texts that a person gave."""
    objects = (document.obj for file in files for document in file.documents)
    found = {text for obj in objects if obj.get("kind") == "Secret" for text in _of_secret(obj)}
    found |= set(_read_values(values))
    found |= {b64encode(text.encode()).decode() for text in found}
    shown = notes[:MOST]
    for text in sorted((text for text in found if len(text.strip()) >= _SHORTEST), key=len, reverse=True):
        shown = shown.replace(text, MASK)
    return redact(shown, lambda _text, _kind: MASK)
