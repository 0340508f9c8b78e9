"""Find the commit that a ref names: a branch, a tag, a full ref or a whole commit id; "" is the default branch."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from applyviz.engine.objects.errors import SourceError

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_SHORT = re.compile(r"[0-9a-f]{7,39}\Z")
_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,250}\Z")
_HEAD, _HEADS, _TAGS = b"HEAD", "refs/heads/", "refs/tags/"


class FoundRef(Struct, frozen=True):
    """A ref of a repository: `kind` is branch, tag, ref or commit, `name` as people write it."""

    kind: str
    name: str
    oid: bytes


def check_ref(ref: str) -> None:
    """Refuse a text that cannot be a ref; raises `SourceError`."""
    if ref and (not _REF.match(ref) or ".." in ref or ref.startswith(("-", "/")) or ref.endswith(("/", ".lock"))):
        raise SourceError(f"{ref[:80]!r} is not a branch, tag or commit").at("git_ref")


def is_commit(ref: str) -> bool:
    """Return whether a ref is a whole commit id."""
    return bool(_COMMIT.match(ref.lower()))


def list_prefixes(ref: str) -> list[bytes]:
    """Return the refs that a server should list: none but those that may be meant."""
    if not ref or is_commit(ref):
        return [_HEAD]
    if ref.startswith("refs/"):
        return [ref.encode()]
    return [f"{_HEADS}{ref}".encode(), f"{_TAGS}{ref}".encode()]


def find_ref(ref: str, refs: Mapping[bytes, bytes], *, repository: str, default: str = "") -> FoundRef:
    """Return what a ref names among the refs that a server listed; raises `SourceError` with what to do.

    - `default`: the name of the default branch, if the server said it.
    """
    if is_commit(ref):
        return FoundRef("commit", ref.lower(), ref.lower().encode())
    if not ref:
        if _HEAD not in refs:
            raise SourceError(f"{repository} is empty: it has no commit")
        return FoundRef("branch", default, refs[_HEAD])
    if ref.startswith("refs/"):
        return _find_full(ref, refs, repository)
    branch, tag = refs.get(f"{_HEADS}{ref}".encode()), refs.get(f"{_TAGS}{ref}".encode())
    if branch is not None and tag is not None:
        raise SourceError(
            f"{repository} has a branch and a tag {ref}: enter {_HEADS}{ref} or {_TAGS}{ref} to say which is meant"
        )
    if branch is not None:
        return FoundRef("branch", ref, branch)
    if tag is not None:
        return FoundRef("tag", ref, tag)
    if _SHORT.match(ref):
        raise SourceError(f"{repository} has no branch and no tag {ref}: a commit is named by all 40 digits of its id")
    raise SourceError(
        f"{repository} has no branch and no tag {ref}: check the name, or leave it empty for the default branch"
    )


def _find_full(ref: str, refs: Mapping[bytes, bytes], repository: str) -> FoundRef:
    oid = refs.get(ref.encode())
    if oid is None:
        raise SourceError(f"{repository} has no {ref}: check the name")
    for kind, prefix in (("branch", _HEADS), ("tag", _TAGS)):
        if ref.startswith(prefix):
            return FoundRef(kind, ref.removeprefix(prefix), oid)
    return FoundRef("ref", ref, oid)
