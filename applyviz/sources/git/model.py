"""The files that a review takes from a git repository, and the result of fetching them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile

GIT = "git"
"""The origin of a file, in its provenance."""
MOST_FILES = 100
"""The files of one commit that a history lists; one more says that there are others."""
_SHORT = 10


class GitSource(msgspec.Struct, frozen=True):
    """The files of a repository that a person names.

    - `ref`: a branch, a tag, a full ref or a whole commit id; "" is the default branch.
    - `path`: a file, a folder with its subfolders, or a glob such as `deploy/**/*.yaml`; "" is the whole repository.
    - `kustomization`: a folder to render, from the root of the repository; "" renders nothing, "." is the root.
    - `chart`: a folder or archive of a Helm chart, from the root; read with its `values_files` in place of `path`.
    """

    repository: str
    ref: str = ""
    path: str = ""
    kustomization: str = ""
    chart: str = ""
    values_files: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        """Return whether files are read that kubectl would not read, because a program renders them."""
        return bool(self.kustomization or self.chart)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths that are read, from the root of the repository."""
        return (self.chart, *self.values_files) if self.chart else (self.path,)


@dataclass(frozen=True, slots=True)
class GitLogin:
    """A user name and a token, for one address and everything below it."""

    prefix: str
    username: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DeployKey:
    """A private key of ssh for one address and everything below it, and the only host keys that are accepted there."""

    prefix: str
    host_keys: tuple[str, ...]
    private_key: str = field(repr=False)


Credential: TypeAlias = GitLogin | DeployKey


class GitLimits(msgspec.Struct, frozen=True):
    """The limits of one fetch.

    - `pack_bytes`: everything that the server sends; `objects`, `entries` and `depth`: of the trees that are read.
    - `file_bytes`, `total_bytes`, `files`: of the files that are taken.
    """

    pack_bytes: int = 64 * 1024 * 1024
    objects: int = 100_000
    entries: int = 50_000
    depth: int = 40
    file_bytes: int = 10 * 1024 * 1024
    total_bytes: int = 10 * 1024 * 1024
    files: int = 2_000
    memory_bytes: int = 768 * 1024 * 1024
    cpu_seconds: int = 20


class RefusedFile(NamedTuple):
    """A file of a commit that cannot be used: its name, and the reason with the remedy."""

    name: str
    reason: str


class FetchedFiles(msgspec.Struct, frozen=True):
    """The files of one commit, with the facts of the commit as their provenance.

    - `facts["history"]`: the newest commits as JSON, without it when they could not be read (`history.py`);
      `facts["people"]`: their authors and committers, whose addresses no page of a review shows.
    - `blame`: for each file, which of these commits last changed each line (`blame.py`).
    - `refused`: the files that are not taken; then these are the others, whose problems are named with theirs.
    """

    files: tuple[BundledFile, ...]
    facts: Mapping[str, str]
    blame: Mapping[str, str] = msgspec.field(default_factory=dict)
    refused: tuple[RefusedFile, ...] = ()


@dataclass(eq=False)
class RefusedFilesError(SourceError):
    """Some files of a commit cannot be used, so the commit is refused."""

    received: FetchedFiles

    def __str__(self) -> str:
        files = "; ".join(f"{one.name} is {one.reason}" for one in self.received.refused)
        return f"{self.received.facts.get('repository', '')}: {files}"


def shorten(commit: str) -> str:
    """Return the first digits of a commit id."""
    return commit[:_SHORT]
