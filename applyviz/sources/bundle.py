"""The frozen bytes of one source: files with their provenance, and a keyed digest over all.

A source revision is fetched once; planning, pages and runs read these bytes and never the original location again. The
digest depends on names and bytes alone, not on provenance.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from applyviz.engine.objects.errors import SourceError


def digest_bytes(data: bytes, key: bytes) -> str:
    """Return the keyed digest of bytes, in hex; the key prevents guessing the bytes."""
    return hmac.digest(key, data, "sha256").hex()


@dataclass(frozen=True, slots=True)
class BundledFile:
    """One file: its name within the source, its bytes, and its provenance."""

    name: str
    data: bytes = field(repr=False)
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceBundle:
    """All files of one source revision, in the order in which they are read.

    - `lines`: what the reading child answered for each, if it read them all (`sandboxed.read_files`).
    """

    files: tuple[BundledFile, ...] = ()
    lines: tuple[bytes, ...] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, files: Iterable[BundledFile]) -> Self:
        """Return a bundle of files; raises `SourceError` if two have one name."""
        bundle = cls(tuple(files))
        names = Counter(file.name for file in bundle.files)
        twice = sorted(name for name, count in names.items() if count > 1)
        if twice:
            raise SourceError(f"two files are named {', '.join(twice)}")
        return bundle

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(len(file.data) for file in self.files)

    def make_digest(self, key: bytes) -> str:
        """Return a keyed digest over names and bytes in order; lengths separate one name from the next."""
        total = hmac.new(key, b"applyviz source 1\n", hashlib.sha256)
        for file in self.files:
            name = file.name.encode("utf-8", "surrogateescape")
            total.update(b"%d:" % len(name) + name + b"%d:" % len(file.data))
            total.update(file.data)
        return total.hexdigest()
