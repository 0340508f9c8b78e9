"""Seal content that may contain a secret before it reaches the database: every process may seal, only workers open.

`APPLYVIZ_SEALING_KEY` seals and opens nothing; `APPLYVIZ_OPENING_KEYS` open, each the content sealed for it, so that
keys can be rotated. A `Sealed` prints nothing of its content and is opened only explicitly: a page cannot show what it
never opened. It is bound to table, column and row: an attacker who can write to the database cannot let one row use the
content of another.
"""

from __future__ import annotations

import zlib
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Self

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz import sealing_keys
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.json_text import read_json, read_members, write_json
from applyviz.engine.objects.values import JSONValue, MutableObject
from applyviz.sealing_keys import ContentKey

# What compressed content begins with; no JSON does.
_COMPRESSED = b"x"
_LEVEL = 3
_MOST_EXPANDED = 256 * 1024 * 1024


class SealError(ApplyVizError):
    """Sealed content cannot be opened: no key, or none that fits."""


def can_open() -> bool:
    """Return whether this process has an opening key; a web process of a team does not."""
    return bool(settings.APPLYVIZ_OPENING_KEYS)


def find_mismatch() -> str:
    """Return the mismatch of the keys of this process: it seals content that it cannot open; "" if there is none."""
    if not settings.APPLYVIZ_OPENING_KEYS:
        return ""
    try:
        pairs = [sealing_keys.sealing_key_of(key) for key in settings.APPLYVIZ_OPENING_KEYS]
        return (
            "" if sealing_key() in pairs else "APPLYVIZ_SEALING_KEY: none of APPLYVIZ_OPENING_KEYS opens what it seals"
        )
    except sealing_keys.KeyTextError as error:
        return f"APPLYVIZ_OPENING_KEYS: {error}"
    except ImproperlyConfigured as error:
        return str(error)


def sealing_key() -> str:
    """Return the key that seals in this process: the configured one, else that of the first opening key.

    - Raises `ImproperlyConfigured` if there is none, or if the text is not such a key.
    """
    try:
        if settings.APPLYVIZ_SEALING_KEY:
            sealing_keys.name_of(settings.APPLYVIZ_SEALING_KEY)
            return str(settings.APPLYVIZ_SEALING_KEY)
        if settings.APPLYVIZ_OPENING_KEYS:
            return sealing_keys.sealing_key_of(settings.APPLYVIZ_OPENING_KEYS[0])
    except sealing_keys.KeyTextError as error:
        name = "APPLYVIZ_SEALING_KEY" if settings.APPLYVIZ_SEALING_KEY else "APPLYVIZ_OPENING_KEYS"
        raise ImproperlyConfigured(f"{name}: {error}") from error
    raise ImproperlyConfigured(
        "APPLYVIZ_SEALING_KEY: no key is set, nothing can be sealed here; `manage.py keys make` makes a pair"
    )


def make_content_key() -> ContentKey:
    """Return a fresh key for content that is sealed together; who forgets it cannot open that content.

    - Raises `ImproperlyConfigured` like `sealing_key`.
    """
    return ContentKey.make(sealing_key())


def _open(token: bytes, location: str | None) -> bytes:
    if not can_open():
        raise SealError("this process holds no key that opens sealed content; only workers do")
    if location is None:
        raise SealError("the columns that the sealed content is bound to were not read")
    try:
        return sealing_keys.unseal(token, settings.APPLYVIZ_OPENING_KEYS, location)
    except sealing_keys.KeyTextError as error:
        raise ImproperlyConfigured(f"APPLYVIZ_OPENING_KEYS: {error}") from error
    except sealing_keys.NoKeyFitsError as error:
        raise SealError(f"{error} (APPLYVIZ_OPENING_KEYS)") from error


def _expand(content: bytes) -> bytes:
    if not content.startswith(_COMPRESSED):
        return content
    reader = zlib.decompressobj()
    try:
        expanded = reader.decompress(content, _MOST_EXPANDED)
    except zlib.error as error:
        raise SealError(f"the content is neither JSON nor compressed JSON: {error}") from error
    if not reader.eof:
        raise SealError("the compressed content is cut, or too large")
    return expanded


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """Sealed bytes; equality compares the sealed form, never the content.

    - `location` names table, column and row; content that was sealed for another one does not open. None: unknown.
    """

    token: bytes
    location: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return "<sealed>"

    __str__ = __repr__

    def open_bytes(self) -> bytes:
        """Return the content.

        - Raises `SealError` if no key fits, if this process has none, or if it was sealed for another location.
        """
        return _open(self.token, self.location)

    def open_json(self) -> JSONValue:
        """Return the content as a JSON value."""
        value: JSONValue = read_json(_expand(self.open_bytes()))
        return value

    def open_members(self, names: Container[str]) -> MutableObject:
        """Return some members of the content, a JSON object."""
        return read_members(_expand(self.open_bytes()), names)

    @property
    def is_current(self) -> bool:
        """Whether it was sealed under the current sealing key."""
        return sealing_keys.is_sealed_for(self.token, sealing_key())

    def resealed(self) -> Sealed:
        """Return the same content, sealed under the current key for the same location."""
        return Unsealed(self.open_bytes()).seal(str(self.location))


@dataclass(frozen=True, slots=True, repr=False)
class Unsealed:
    """Content that is sealed for a row once it is assigned to one (`records.fields.SealedField`).

    - `key`: the content key that it shares with other content; None for a fresh one.
    """

    content: bytes
    key: ContentKey | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return "<unsealed>"

    __str__ = __repr__

    @classmethod
    def of_bytes(cls, content: bytes, key: ContentKey | None = None) -> Self:
        """Return bytes to be sealed."""
        return cls(content, key)

    @classmethod
    def of_public_json(cls, content: bytes) -> Self:
        """Return JSON to be sealed compressed: it must hold nothing that is not stored in the clear beside it.

        - The size of compressed content depends on what is in it, so the size of the row of a secret would reveal it.
        """
        return cls(zlib.compress(content, _LEVEL))

    @classmethod
    def of_json(cls, value: JSONValue) -> Self:
        """Return a JSON value to be sealed; the order of names and the kinds of numbers are kept."""
        return cls(write_json(value))

    def seal(self, location: str) -> Sealed:
        """Return the content sealed for one location; the sealing process cannot open it."""
        return Sealed((self.key or make_content_key()).seal(self.content, location), location)
