"""The frozen bytes of one source: files with where each came from, and one digest over all.

A source revision is fetched once; what is planned, shown and applied is read from these bytes and never
from the place they came from again. The digest depends on names and bytes alone, not on provenance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from applyviz.engine.objects.errors import SourceError


def digest_bytes(data: bytes) -> str:
    """SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its name within the source, its bytes, and facts about where they came from."""

    name: str
    data: bytes = field(repr=False)
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest of the bytes."""
        return digest_bytes(self.data)


@dataclass(frozen=True, slots=True)
class SourceBundle:
    """All files of one source revision, in the order in which they are read."""

    files: tuple[SourceFile, ...] = ()

    @classmethod
    def of(cls, files: Iterable[SourceFile]) -> Self:
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

    @property
    def digest(self) -> str:
        """SHA-256 over names and digests in order; lengths keep a name from looking like two."""
        total = hashlib.sha256(b"applyviz source 1\n")
        for file in self.files:
            name = file.name.encode("utf-8", "surrogateescape")
            total.update(b"%d:" % len(name) + name + b"%d:" % len(file.data))
            total.update(hashlib.sha256(file.data).digest())
        return total.hexdigest()
