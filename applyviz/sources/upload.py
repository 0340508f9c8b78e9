"""Collect the files that a person uploads: several files, or a folder with its relative paths.

Only files that kubectl would read from a folder are kept (`.yaml`, `.yml`, `.json`); names must stay inside the folder.
Sizes are counted while files arrive, so that oversized uploads are refused early.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.requests.inputs import EXTENSIONS
from applyviz.sources.bundle import BundledFile, SourceBundle

_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")


class NoManifestsError(SourceError):
    """None of the files is one that kubectl would read."""


class UploadLimits(Struct, frozen=True):
    """The limits of one upload.

    - `total_bytes`: of all manifests that are kept; `given_bytes`: of everything that is sent.
    """

    file_bytes: int = 10 * 1024 * 1024
    total_bytes: int = 10 * 1024 * 1024
    given_bytes: int = 100 * 1024 * 1024
    files: int = 2_000


DEFAULT_LIMITS = UploadLimits()


def clean_name(name: str) -> str:
    """Return the relative path of an uploaded file; raises `SourceError` for a path that leaves its folder."""
    path = PurePosixPath(unicodedata.normalize("NFC", name.replace("\\", "/")))
    shown = _UNSAFE.sub("?", name)[:200]
    if _UNSAFE.search(name) or len(name) > 400:
        raise SourceError(f"the file name {shown} is not usable")
    if path.is_absolute() or ".." in path.parts or not path.name or ":" in path.parts[0]:
        raise SourceError(f"the file name {shown} leads out of its folder")
    return str(path)


def clean_path(path: str) -> str:
    """Return a path from the root of a tree as the tree names it; "" is the root. `..` in front stays."""
    found = posixpath.normpath(path.strip().strip("/") or ".")
    return "" if found == "." else found


def holds_prefix(names: Sequence[str], prefix: str) -> bool:
    """Return whether one of the sorted names begins with a prefix, without looking at each."""
    at = bisect_left(names, prefix)
    return at < len(names) and names[at].startswith(prefix)


def is_manifest_name(name: str) -> bool:
    """Return whether kubectl would read a file of a folder, by its case-sensitive extension."""
    return name.endswith(EXTENSIONS)


def check_file(name: str, data: bytes) -> None:
    """Refuse one uploaded file by its name or its size; raises `SourceError`."""
    cleaned = clean_name(name)
    if is_manifest_name(cleaned) and len(data) > DEFAULT_LIMITS.file_bytes:
        raise SourceError(f"{cleaned} is larger than {DEFAULT_LIMITS.file_bytes:,} bytes")


def collect(
    parts: Iterable[tuple[str, bytes]], *, limits: UploadLimits = DEFAULT_LIMITS, takes_all: bool = False
) -> SourceBundle:
    """Freeze uploaded files in the order of their names; raises `SourceError` with the reason of a refusal.

    - `parts` is consumed lazily: reading stops at the first exceeded limit.
    - Files of other kinds are left out unless `takes_all` (kustomizations need them); an empty result is an error.
    """
    files: list[BundledFile] = []
    kept = given = 0
    for name, data in parts:
        given += len(data)
        if given > limits.given_bytes:
            raise SourceError(f"the upload is larger than {limits.given_bytes:,} bytes")
        cleaned = clean_name(name)
        if not takes_all and not is_manifest_name(cleaned):
            continue
        if len(data) > limits.file_bytes:
            raise SourceError(f"{cleaned} is larger than {limits.file_bytes:,} bytes")
        kept += len(data)
        files.append(BundledFile(cleaned, data, {"from": "upload"}))
        if kept > limits.total_bytes:
            raise SourceError(f"the manifests are larger than {limits.total_bytes:,} bytes together")
        if len(files) > limits.files:
            raise SourceError(f"more than {limits.files:,} files in one upload")
    if not files:
        raise NoManifestsError(f"no manifests: files end in {', '.join(EXTENSIONS)}")
    return SourceBundle.of(sorted(files, key=lambda file: file.name.split("/")))
