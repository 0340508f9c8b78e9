"""A folder on this machine, read as `kubectl apply -f FOLDER` reads it, links refused.

Rule: `ExpandPathsToFileVisitors` of k8s.io/cli-runtime: lexical order, `.json .yaml .yml` only, deeper
folders only with recursion, a file named outright whatever its name. Every name is opened relative to
its folder without following links, so that nothing outside the folder is ever read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import SourceBundle, SourceFile
from applyviz.sources.upload import DEFAULT_LIMITS, UploadLimits, is_manifest_name

_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(slots=True)
class _Walk:
    limits: UploadLimits
    is_recursive: bool
    takes_all: bool
    total: int = 0
    count: int = 0

    def read_folder(self, folder: int, prefix: str) -> Iterator[SourceFile]:
        for name in sorted(os.listdir(folder)):
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            shown = prefix + name
            if stat.S_ISDIR(kind):
                if self.is_recursive:
                    below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                    try:
                        yield from self.read_folder(below, f"{shown}/")
                    finally:
                        os.close(below)
            elif self.takes_all or is_manifest_name(name):
                yield self.read_file(name, folder, shown)

    def read_file(self, name: str, folder: int | None, shown: str) -> SourceFile:
        try:
            opened = os.open(name, _FILE_FLAGS, dir_fd=folder)
        except OSError:
            raise SourceError(f"{shown} is a link or cannot be opened") from None
        with os.fdopen(opened, "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise SourceError(f"{shown} is no regular file")
            data = file.read(self.limits.file_bytes + 1)
        self.count += 1
        self.total += len(data)
        if len(data) > self.limits.file_bytes:
            raise SourceError(f"{shown} is larger than {self.limits.file_bytes:,} bytes")
        if self.total > self.limits.total_bytes or self.count > self.limits.files:
            raise SourceError("the folder holds more than one source may bring")
        return SourceFile(shown, data, {"from": "folder"})


def collect(
    path: Path,
    *,
    is_recursive: bool = False,
    takes_all: bool = False,
    limits: UploadLimits = DEFAULT_LIMITS,
) -> SourceBundle:
    """Freeze the manifests of a folder, or one file; raises `SourceError` with what is refused.

    - `takes_all` keeps files of every name (kustomizations need them).
    """
    walk = _Walk(limits, is_recursive, takes_all)
    try:
        kind = os.lstat(path).st_mode
        if not stat.S_ISDIR(kind):
            return SourceBundle.of([walk.read_file(str(path), None, path.name)])
        folder = os.open(path, _FOLDER_FLAGS)
    except OSError:
        raise SourceError(f"{path} cannot be opened") from None
    try:
        return SourceBundle.of(walk.read_folder(folder, ""))
    except OSError:
        raise SourceError(f"{path} changed while it was read") from None
    finally:
        os.close(folder)
