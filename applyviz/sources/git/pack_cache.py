"""Packs of the latest fetches, in the memory of this process: a commit that is fetched again is not sent again.

A commit never changes, so a kept pack is never stale. Every fetch still signs in and asks for the refs, so a credential
that the host refuses opens no kept pack; a pack that one credential fetched serves no other. Packs stay off the disk.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from applyviz.sources.git.model import Credential, GitLogin

MOST_BYTES, LARGEST = 64 * 1024 * 1024, 16 * 1024 * 1024
_KEY = secrets.token_bytes(32)


class PackName(NamedTuple):
    """The content and the origin of a pack: repository, commit, number of commits, and a mark of the credential."""

    repository: str
    oid: bytes
    depth: int
    credential: bytes


def mark_credential(credential: Credential | None) -> bytes:
    """Return a mark of a credential, which differs in each process and reveals nothing of the secret."""
    if credential is None:
        return b""
    secret = credential.token if isinstance(credential, GitLogin) else credential.private_key
    name = credential.username if isinstance(credential, GitLogin) else ""
    return hmac.digest(_KEY, f"{credential.prefix}\n{name}\n{secret}".encode(), "sha256")


@dataclass(slots=True)
class PackCache:
    """Packs by name, the one that was used last at the end; safe for threads."""

    most_bytes: int = MOST_BYTES
    largest: int = LARGEST
    _packs: OrderedDict[PackName, bytes] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def find(self, name: PackName) -> bytes | None:
        """Return a kept pack; None without one."""
        with self._lock:
            found = self._packs.get(name)
            if found is not None:
                self._packs.move_to_end(name)
            return found

    def keep(self, name: PackName, pack: bytes) -> None:
        """Keep a pack that was read without a fault; the packs that were used longest ago make room."""
        if len(pack) > self.largest:
            return
        with self._lock:
            self._packs[name] = pack
            self._packs.move_to_end(name)
            while sum(map(len, self._packs.values())) > self.most_bytes:
                self._packs.popitem(last=False)
