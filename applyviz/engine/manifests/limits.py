"""The limits of the manifest reader.

kubectl reads whatever fits into memory; a server that reads for many people must not. A refusal names its limit, so
that an administrator knows which one to raise.
"""

from __future__ import annotations

from msgspec import Struct


class ReadLimits(Struct, frozen=True):
    """Limits of one file.

    - `depth`: nesting of mappings and lists; `values`: scalars, lists and mappings of one document
      after aliases and merge keys are expanded.
    - `document_bytes`: text of one document; `file_bytes`: of the file; `documents`: objects in a file.
    """

    depth: int = 200
    values: int = 1_000_000
    document_bytes: int = 3 * 1024 * 1024
    file_bytes: int = 10 * 1024 * 1024
    documents: int = 5_000


DEFAULT_LIMITS = ReadLimits()
