"""The public key that checkpoints of an installation are checked with, derived without the product."""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def public_key_of(digest_key: str) -> str:
    """The public key, hexadecimal, of an installation whose workers hold this digest key."""
    key = hashlib.sha256(digest_key.encode()).digest()
    seed = hmac.digest(key, b"applyviz signs heads of its history", "sha256")
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw().hex()
