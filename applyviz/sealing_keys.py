"""Key pairs: the sealing key only seals, the opening key opens (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM).

Content is encrypted with a fresh content key (AES-256-GCM), and each content key with a separate key exchange, so that
the sender cannot open the content once it has forgotten the content key. A token is one byte of version, eight of the
name of the key pair, the HPKE message with the content key, a nonce, and the encrypted content. All of it is
authenticated, and so is the location of the content, which the token does not contain: content that was moved does not
open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

VERSION = b"\x01"
"""The first byte of every token."""

_SEALING, _OPENING = "applyviz-seal-", "applyviz-open-"
_NAME_BYTES = 8
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
_OF_KEY, _OF_CONTENT = b"applyviz content key ", b"applyviz sealed content "
_KEY_BYTES, _NONCE_BYTES, _TAG_BYTES = 32, 12, 16
_HEAD_BYTES = len(VERSION) + _NAME_BYTES + 32 + _KEY_BYTES + _TAG_BYTES  # 32: the public half of the exchange
_CONTENT_AT = _HEAD_BYTES + _NONCE_BYTES


class KeyTextError(ValueError):
    """A text that is not a key of the expected kind; the message never repeats the text."""


class NoKeyFitsError(Exception):
    """A token that none of the keys opens: it was sealed for another key, or changed."""


def _write(prefix: str, raw: bytes) -> str:
    return prefix + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read(prefix: str, other: str, text: str) -> bytes:
    word, other_word = (
        ("a sealing key", "an opening key") if prefix == _SEALING else ("an opening key", "a sealing key")
    )
    if text.startswith(other):
        raise KeyTextError(f"this is {other_word}; {word} begins with {prefix}")
    if not text.startswith(prefix):
        raise KeyTextError(f"not {word}, which begins with {prefix}")
    try:
        raw = base64.b64decode(text.removeprefix(prefix) + "=", altchars=b"-_", validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32:
        raise KeyTextError(f"{word} of the wrong length; it was cut or changed")
    return raw


@lru_cache(maxsize=16)
def _public(sealing_key: str) -> tuple[X25519PublicKey, bytes]:
    raw = _read(_SEALING, _OPENING, sealing_key)
    return X25519PublicKey.from_public_bytes(raw), VERSION + hashlib.sha256(raw).digest()[:_NAME_BYTES]


@lru_cache(maxsize=16)
def _private(opening_key: str) -> tuple[X25519PrivateKey, bytes]:
    key = X25519PrivateKey.from_private_bytes(_read(_OPENING, _SEALING, opening_key))
    return key, _public(_write(_SEALING, key.public_key().public_bytes_raw()))[1]


def make_opening_key() -> str:
    """Return a new opening key, as text."""
    return _write(_OPENING, X25519PrivateKey.generate().private_bytes_raw())


def opening_key_from(secret: str, purpose: str) -> str:
    """Return the opening key that a secret of at least 128 random bits derives for one purpose, always the same."""
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret.encode())
    return _write(_OPENING, derived)


def sealing_key_of(opening_key: str) -> str:
    """Return the sealing key of the pair; raises `KeyTextError` for a text that is not an opening key."""
    return _write(_SEALING, _private(opening_key)[0].public_key().public_bytes_raw())


def name_of(sealing_key: str) -> str:
    """Return the short name of a sealing key in tokens; raises `KeyTextError` for a text that is not one."""
    return _public(sealing_key)[1][1:].hex()


@dataclass(frozen=True, slots=True, repr=False)
class ContentKey:
    """The key of one value, or of several that are sealed together, which then share one key exchange.

    - `head`: what a token begins with; it holds the key so that only the opening key of the pair opens it.
    """

    cipher: AESGCM
    head: bytes

    @classmethod
    def make(cls, sealing_key: str) -> Self:
        """Return a fresh content key; raises `KeyTextError` for a text that is not a sealing key."""
        public, head = _public(sealing_key)
        key = secrets.token_bytes(_KEY_BYTES)
        return cls(AESGCM(key), head + _SUITE.encrypt(key, public, info=_OF_KEY + head))

    def __repr__(self) -> str:
        return "<content key>"

    def seal(self, content: bytes, location: str) -> bytes:
        """Return a token of the content that opens only at this location."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return self.head + nonce + self.cipher.encrypt(nonce, content, _OF_CONTENT + self.head + location.encode())


def seal(content: bytes, sealing_key: str, location: str) -> bytes:
    """Return a token of the content that only the opening key of the pair opens, and only at this location."""
    return ContentKey.make(sealing_key).seal(content, location)


def is_sealed_for(token: bytes, sealing_key: str) -> bool:
    """Return whether a token claims to be sealed under this key."""
    head = _public(sealing_key)[1]
    return token[: len(head)] == head


def _open_with(key: X25519PrivateKey, name: bytes, token: bytes, location: str) -> bytes:
    head, nonce, content = token[:_HEAD_BYTES], token[_HEAD_BYTES:_CONTENT_AT], token[_CONTENT_AT:]
    if len(content) < _TAG_BYTES:
        raise InvalidTag
    cipher = AESGCM(_SUITE.decrypt(head[len(name) :], key, info=_OF_KEY + name))
    return cipher.decrypt(nonce, content, _OF_CONTENT + head + location.encode())


def unseal(token: bytes, opening_keys: Iterable[str], location: str) -> bytes:
    """Return the content of a token; raises `NoKeyFitsError` if no key fits, or if it was changed or moved."""
    for key, name in map(_private, opening_keys):
        if token.startswith(name):
            try:
                return _open_with(key, name, token, location)
            except InvalidTag as error:
                raise NoKeyFitsError("the sealed content was changed, or moved from another row") from error
    raise NoKeyFitsError("the content was sealed for a key that is not here")
