"""Which files `-f` means, by names alone: directories, recursion, extensions, patterns.

Rule: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_apply/ and `ExpandPathsToFileVisitors`
of k8s.io/cli-runtime: a file named outright is read whatever its name; a directory gives its `.json`,
`.yaml` and `.yml` files in lexical order, those below it only with recursion. Nothing is opened here.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

MANIFEST_SUFFIXES = frozenset((".json", ".yaml", ".yml"))


def is_manifest_name(name: str) -> bool:
    """Whether a file of a directory is read: its last extension is one of kubectl's, case counts."""
    return PurePosixPath("x" + PurePosixPath(name).name).suffix in MANIFEST_SUFFIXES


def _in_walk_order(paths: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    return sorted(paths, key=lambda path: path.parts)


def _matches(path: PurePosixPath, pattern: PurePosixPath) -> bool:
    return len(path.parts) == len(pattern.parts) and all(
        fnmatchcase(part, wanted) for part, wanted in zip(path.parts, pattern.parts, strict=True)
    )


def select_files(names: Iterable[str], target: str, *, is_recursive: bool = False) -> tuple[str, ...]:
    """The names that one `-f target` reads, in kubectl's order; () when there is nothing at `target`."""
    wanted = PurePosixPath(target)
    paths = {PurePosixPath(name): name for name in names}
    if wanted in paths:
        return (paths[wanted],)
    if wanted.parts == () or any(wanted in path.parents for path in paths):
        found = (
            path
            for path in paths
            if (wanted in path.parents if is_recursive else path.parent == wanted) and is_manifest_name(path.name)
        )
        return tuple(paths[path] for path in _in_walk_order(found))
    return tuple(paths[path] for path in _in_walk_order(p for p in paths if _matches(p, wanted)))
