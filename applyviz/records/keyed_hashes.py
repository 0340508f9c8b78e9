"""Keyed hashes of web processes and workers: of tokens, counters and sources; the database does not hold the key.

Rule: a token is stored as its keyed hash, with its purpose. An attacker who can write to the database cannot store the
hash of a known token, nor use a stored hash for another purpose.
"""

from __future__ import annotations

import hmac

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.objects.values import JSONValue, canonical_json


def web_key(purpose: str) -> bytes:
    """Return the key of web processes and workers for one purpose; raises `ImproperlyConfigured` without it."""
    if not settings.APPLYVIZ_WEB_KEY:
        raise ImproperlyConfigured("APPLYVIZ_WEB_KEY: it is not set here; web processes and workers hold it")
    return hmac.digest(settings.APPLYVIZ_WEB_KEY.encode(), f"applyviz {purpose}".encode(), "sha256")


def hash_token(token: str, *, purpose: str, of: JSONValue = None) -> str:
    """Return the stored form of a token, 64 characters; `of` is what it is bound to, such as an account."""
    return hmac.digest(web_key(purpose), canonical_json([of, token]).encode(), "sha256").hex()


def is_same(expected: str, given: str) -> bool:
    """Return whether two hashes, MACs or secrets are the same text, in a time that does not depend on their content.

    - A stored or sent one can be any text: `hmac.compare_digest` itself raises `TypeError` for what is not ASCII.
    """
    return hmac.compare_digest(expected.encode(errors="surrogatepass"), given.encode(errors="surrogatepass"))
