"""The frozen bytes of one source: files with where each came from, and a keyed digest over all.

A source revision is fetched once; what is planned, shown and applied is read from these bytes and never
from the place they came from again. The digest depends on names and bytes alone, not on provenance.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from applyviz.engine.objects.errors import SourceError


def digest_bytes(data: bytes, key: bytes) -> str:
    """Return the keyed digest of bytes, in hex: without the key, nobody can try out what they may be."""
    return hmac.digest(key, data, "sha256").hex()


@dataclass(frozen=True, slots=True)
class BundledFile:
    """One file: its name within the source, its bytes, and facts about where they came from."""

    name: str
    data: bytes = field(repr=False)
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceBundle:
    """All files of one source revision, in the order in which they are read."""

    files: tuple[BundledFile, ...] = ()

    @classmethod
    def of(cls, files: Iterable[BundledFile]) -> Self:
        """Bundle files; raises `SourceError` when two have one name."""
        bundle = cls(tuple(files))
        names = [file.name for file in bundle.files]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SourceError(f"two files are named {', '.join(twice)}")
        return bundle

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(file.data) for file in self.files)

    def make_digest(self, key: bytes) -> str:
        """Return a keyed digest over names and bytes in order; lengths keep a name from looking like two."""
        total = hmac.new(key, b"applyviz source 1\n", hashlib.sha256)
        for file in self.files:
            name = file.name.encode("utf-8", "surrogateescape")
            total.update(b"%d:" % len(name) + name + b"%d:" % len(file.data))
            total.update(file.data)
        return total.hexdigest()
