"""Seals what may hold a secret before it reaches the database (Fernet, `APPLYVIZ_ENCRYPTION_KEYS`).

The first key seals, every key opens, so keys can be rotated. A `Sealed` prints nothing of its content and
is opened only by name (`open_bytes`, `open_json`): a page cannot show by accident what it never opened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue


class SealError(ApplyVizError):
    """Sealed content cannot be opened: no key, or none that fits."""


@lru_cache(maxsize=4)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("APPLYVIZ_ENCRYPTION_KEYS: no key is set, nothing can be sealed or opened here")
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError as error:
        raise ImproperlyConfigured(f"APPLYVIZ_ENCRYPTION_KEYS: not a Fernet key: {error}") from error


def _current_box() -> MultiFernet:
    return _box(tuple(settings.APPLYVIZ_ENCRYPTION_KEYS))


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """Sealed bytes; equality is that of the sealed form, never of the content."""

    token: bytes

    def __repr__(self) -> str:
        return "<sealed>"

    __str__ = __repr__

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """Seal bytes under the first key."""
        return cls(_current_box().encrypt(content))

    @classmethod
    def of_json(cls, value: JSONValue) -> Self:
        """Seal a JSON value; key order and number forms are kept."""
        return cls.of_bytes(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())

    def open_bytes(self) -> bytes:
        """The content; raises `SealError` when no key fits."""
        try:
            return _current_box().decrypt(self.token)
        except InvalidToken as error:
            raise SealError("the content was sealed under a key that is not in APPLYVIZ_ENCRYPTION_KEYS") from error

    def open_json(self) -> JSONValue:
        """The content as a JSON value."""
        return json.loads(self.open_bytes())

    def resealed(self) -> Self:
        """The same content under the present first key."""
        return type(self)(_current_box().rotate(self.token))
