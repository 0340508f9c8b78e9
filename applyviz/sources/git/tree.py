"""Take files out of the tree of a commit: one file, a folder with its subfolders, or a glob.

Symbolic links and submodules are never followed, as in a clone that checks out neither. A link with the name of a
manifest is refused, because kubectl would read what it leads to.
"""

from __future__ import annotations

import fnmatch
import stat
from collections.abc import Iterator, Mapping, Sequence

from dulwich.objects import Blob, ObjectID, Tree

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.requests.inputs import EXTENSIONS
from applyviz.sources.git.blame import PackObjects
from applyviz.sources.upload import clean_name, clean_path, is_manifest_name

_LINK, _SUBMODULE = 0o120000, 0o160000
_LFS = b"version https://git-lfs.github.com/spec/"
_WILD = "*?["
_MOST_REFUSED = 20
_LINK_REASON = "a symbolic link, which is not followed: name its target"
_LFS_REASON = "stored in Git LFS, which is not fetched: keep manifests in git itself"


def is_glob(path: str) -> bool:
    """Return whether a path has wildcards."""
    return any(sign in path for sign in _WILD)


def matches(name: str, pattern: str) -> bool:
    """Return whether a path matches a glob: `*` stays in a folder, `**` stands for any folders."""
    return _match(tuple(name.split("/")), tuple(pattern.split("/")))


def is_below(name: str, path: str) -> bool:
    """Return whether a file is meant by a path: the file, one in the folder, or a match of the glob."""
    path = clean_path(path)
    if not path:
        return True
    return matches(name, path) if is_glob(path) else name == path or name.startswith(f"{path}/")


def _match(names: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Match segment by segment, in time proportional to both lengths."""
    reached = {0}
    for part in wanted:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1)) if reached else set()
        else:
            reached = {n + 1 for n in reached if n < len(names) and fnmatch.fnmatchcase(names[n], part)}
    return len(names) in reached


class CommitReader:
    """Reads the trees and files of one commit within limits."""

    def __init__(self, objects: PackObjects, limits: Mapping[str, int]) -> None:
        """Take objects by id, and the limits of `GitLimits` by name."""
        self._objects, self._limits = objects, limits
        self._entries = 0
        self.refused: dict[str, str] = {}
        """Reasons why files were refused, by their names; the first `_MOST_REFUSED` of them."""

    def collect(self, root: ObjectID, paths: Sequence[str], *, takes_all: bool) -> list[tuple[str, bytes]]:
        """Return names and contents in the order of their names; raises `SourceError` with what to do.

        - Files that cannot be taken are in `refused`, and the others go on.
        - `takes_all`: also files that kubectl would not read, which a kustomization or a chart may need.
        """
        found: dict[str, ObjectID] = {}
        for given in paths:
            path = clean_path(given)
            known = dict(self._find(root, path, takes_all=takes_all))
            if not known and not self.refused:
                where = f"{path} matches no file" if is_glob(path) else f"{path or 'the repository'} has no manifests"
                raise SourceError(f"{where}: files end in {', '.join(EXTENSIONS)}")
            found.update(known)
        if len(found) > self._limits["files"]:
            raise SourceError(f"more than {self._limits['files']:,} files: enter a folder")
        return list(self._read(sorted(found.items(), key=lambda one: one[0].split("/"))))

    def _find(self, root: ObjectID, path: str, *, takes_all: bool) -> Iterator[tuple[str, ObjectID]]:
        """Yield name and id of each file that is meant."""
        if is_glob(path):
            for name, mode, oid in self._walk(root, "", 0):
                if matches(name, path) and (takes_all or is_manifest_name(name)) and self._takes(name, mode):
                    yield name, oid
            return
        mode, oid = self._descend(root, path)
        if not stat.S_ISDIR(mode):
            if self._is_file(path, mode):
                yield path, oid
            return
        for name, entry_mode, entry in self._walk(oid, f"{path}/" if path else "", 0):
            if (takes_all or is_manifest_name(name)) and self._takes(name, entry_mode):
                yield name, entry

    def _descend(self, root: ObjectID, path: str) -> tuple[int, ObjectID]:
        """Return mode and id of a path; raises `SourceError` for one that leads through a link or a submodule."""
        mode, oid = stat.S_IFDIR, root
        parts = list(filter(None, path.split("/")))
        for number, part in enumerate(parts):
            self._is_file("/".join(parts[:number]), mode)
            entries = dict(self._list(oid)) if stat.S_ISDIR(mode) else {}
            if part not in entries:
                raise SourceError(f"there is no {path} in this commit: check the path")
            mode, oid = entries[part]
        return mode, oid

    def _list(self, oid: ObjectID) -> Iterator[tuple[str, tuple[int, ObjectID]]]:
        tree = self._objects[oid]
        if not isinstance(tree, Tree):
            raise SourceError("a folder of the repository is damaged")
        for entry in tree.iteritems():
            self._entries += 1
            if self._entries > self._limits["entries"]:
                raise SourceError(f"more than {self._limits['entries']:,} files and folders: enter a folder")
            yield self._read_name(entry.path), (entry.mode, entry.sha)

    @staticmethod
    def _read_name(name: bytes) -> str:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            raise SourceError(f"the file name {name!r} is not UTF-8") from None
        if "/" in text or text in ("", ".", "..") or text.lower() == ".git":
            raise SourceError(f"the repository has a file with the name {text[:80]!r}, which leads out of it")
        return text

    def _walk(self, oid: ObjectID, prefix: str, depth: int) -> Iterator[tuple[str, int, ObjectID]]:
        if depth > self._limits["depth"]:
            raise SourceError(f"folders are nested more than {self._limits['depth']} deep")
        for name, (mode, entry) in self._list(oid):
            if stat.S_ISDIR(mode):
                yield from self._walk(entry, f"{prefix}{name}/", depth + 1)
            else:
                yield f"{prefix}{name}", mode, entry

    def _refuse(self, name: str, reason: str) -> None:
        if len(self.refused) < _MOST_REFUSED:
            self.refused.setdefault(name, reason)

    def _takes(self, name: str, mode: int) -> bool:
        """Return whether an entry that was met is a file; a link that would be read as one is refused."""
        if stat.S_IFMT(mode) == _LINK and is_manifest_name(name):
            self._refuse(name, _LINK_REASON)
        return stat.S_ISREG(mode)

    @staticmethod
    def _is_file(name: str, mode: int) -> bool:
        """Return whether an entry that was named is a file; raises `SourceError` for a link and a submodule."""
        kind = stat.S_IFMT(mode)
        if kind == _LINK:
            raise SourceError(f"{name} is {_LINK_REASON}")
        if kind == _SUBMODULE:
            raise SourceError(f"{name} is a submodule: enter the address of its repository")
        return kind == stat.S_IFREG

    def _read(self, found: list[tuple[str, ObjectID]]) -> Iterator[tuple[str, bytes]]:
        total = 0
        for name, oid in found:
            blob = self._objects[oid]
            if not isinstance(blob, Blob):
                raise SourceError(f"{name} is damaged")
            content = blob.as_raw_string()
            if len(content) > self._limits["file_bytes"]:
                self._refuse(name, f"larger than {self._limits['file_bytes']:,} bytes")
                continue
            total += len(content)
            if total > self._limits["total_bytes"]:
                raise SourceError(f"the files are larger than {self._limits['total_bytes']:,} bytes together")
            if content.startswith(_LFS):
                self._refuse(name, _LFS_REASON)
                continue
            yield clean_name(name), content
