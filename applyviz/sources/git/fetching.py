"""Fetch one commit of a repository and freeze the files that a person names; nothing of it is ever executed.

The server sends one pack without history. A child process with limits reads it (`reading_child`): every object is
identified by its own hash, so the files are those of the commit that the page names. There is no checkout, and so no
hook, no filter, no submodule and no symbolic link.
"""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from dulwich.client import GitClient
from dulwich.errors import GitProtocolError, HangupException
from dulwich.object_store import ObjectStoreGraphWalker
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, Ref
from msgspec import Struct

from applyviz.engine.objects.errors import SourceError
from applyviz.sources import kustomize
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.child import ERROR_ROW, ChildLimits, ask_child, read_row
from applyviz.sources.git import history
from applyviz.sources.git.addresses import covers, is_ssh, name_repository, read_repository
from applyviz.sources.git.http import PinnedGitClient, too_large
from applyviz.sources.git.model import (
    GIT,
    Credential,
    DeployKey,
    FetchedFiles,
    GitLimits,
    GitLogin,
    GitSource,
    RefusedFile,
    RefusedFilesError,
)
from applyviz.sources.git.pack_cache import PackCache, PackName, mark_credential
from applyviz.sources.git.refs import FoundRef, check_ref, find_ref, is_commit, list_prefixes
from applyviz.sources.git.tree import is_glob
from applyviz.sources.pinned import FetchPolicy, FetchTarget, PinnedClient, Resolver, connecting, resolve_name
from applyviz.sources.rendering.choose import Runner, run_here
from applyviz.sources.upload import clean_name, clean_path

CHILD = "applyviz.sources.git.reading_child"
DEFAULT_LIMITS = GitLimits()
PACKS = PackCache()
_FACTS = ("commit", "author", "date", "subject")
_COMMIT, _CONTENT, _REFUSED = frozenset(_FACTS), frozenset(("name", "content")), frozenset(("name", "refused"))
_LISTING = 4 * 1024 * 1024


class _Pack:
    """The bytes of a pack as they arrive, up to a limit; and the ref that was asked for."""

    def __init__(self, source: GitSource, name: str, limits: GitLimits, empty: PackName) -> None:
        """Begin with nothing; `empty` names the pack of no commit."""
        self.data = bytearray()
        self.refs: Mapping[bytes, bytes] = {}
        self.kept: bytes | None = None
        self._source, self._name, self._limits, self._empty = source, name, limits, empty

    def choose(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        """Return the one object to fetch, at any depth; none if its pack is here already."""
        del depth
        self.refs = {bytes(name): bytes(oid) for name, oid in refs.items()}
        oid = find_ref(self._source.ref, self.refs, repository=self._name).oid
        self.kept = PACKS.find(self._empty._replace(oid=oid))
        return [] if self.kept is not None else [ObjectID(oid)]

    def take(self, chunk: bytes) -> int:
        """Keep a part of the pack."""
        self.data += chunk
        if len(self.data) > self._limits.pack_bytes:
            raise too_large(self._limits.pack_bytes)
        return len(chunk)


class _Downloaded(Struct, frozen=True):
    """The pack of a commit, the ref that led to it, and its name in the cache."""

    pack: bytes
    found: FoundRef
    name: PackName

    def keep(self) -> None:
        """Keep the pack, once it was read without a fault."""
        PACKS.keep(self.name, self.pack)


def _download(
    client: GitClient,
    source: GitSource,
    target: FetchTarget,
    limits: GitLimits,
    *,
    credential: Credential | None,
    depth: int = 1,
) -> _Downloaded:
    """Return the pack of one commit, or of `depth` of them; asks for the refs also if the pack is here already."""
    name = name_repository(target)
    empty = PackName(target.url, b"", depth, mark_credential(credential))
    pack = _Pack(source, name, limits, empty)
    try:
        result = client.fetch_pack(
            "",
            pack.choose,
            ObjectStoreGraphWalker([], lambda _oid: []),
            pack.take,
            progress=lambda _text: None,
            depth=depth,
            ref_prefix=list_prefixes(source.ref),
        )
    except HangupException as error:
        raise SourceError(_describe_hangup(error, target, name)) from None
    except GitProtocolError as error:
        raise SourceError(_explain(error, source, target, name)) from None
    except (AssertionError, ValueError, KeyError, IndexError):
        raise SourceError(f"{target.host} did not keep to the git protocol for {name}: try again later") from None
    found = find_ref(source.ref, pack.refs, repository=name, default=_read_default(result.symrefs))
    data = bytes(pack.data) if pack.kept is None else pack.kept
    return _Downloaded(data, found, empty._replace(oid=found.oid))


def _show(text: str) -> str:
    """Return what a host says, shortened, without characters that are invisible or that no database stores."""
    return "".join(sign for sign in text if sign.isprintable())[:200]


def _describe_hangup(error: HangupException, target: FetchTarget, name: str) -> str:
    """Return what a host said before it ended the connection, as the git command over ssh does."""
    lines = [line.decode("utf-8", "replace").strip() for line in error.stderr_lines or () if line.strip()]
    if not lines:
        return f"{target.host} did not keep to the git protocol for {name}: try again later"
    return f"{target.host} does not give {name}: {_show(lines[0])}. Check the address and what the credential may read"


def _explain(error: GitProtocolError, source: GitSource, target: FetchTarget, name: str) -> str:
    if is_commit(source.ref):
        return (
            f"{target.host} does not give commit {source.ref} of {name}: check that it exists and was pushed; some"
            " servers give only branches and tags"
        )
    text = _show(str(error).partition("\n")[0])
    return f"{target.host} refused to send {name}: {text}" if text else f"{target.host} refused to send {name}"


def _read_pack(pack: bytes, found: FoundRef, source: GitSource, name: str, limits: GitLimits) -> list[dict[str, str]]:
    """Return the facts of the commit, then each file as name and content, from a child process."""
    header = {
        "oid": found.oid.decode("ascii", "replace"),
        "paths": list(source.paths),
        "takes_all": source.takes_all,
        "pack_bytes": len(pack),
        "limits": {
            n: getattr(limits, n) for n in ("objects", "entries", "depth", "file_bytes", "total_bytes", "files")
        },
        "memory_bytes": limits.memory_bytes,
        "cpu_seconds": limits.cpu_seconds,
    }
    child_limits = ChildLimits(memory_bytes=limits.memory_bytes, cpu_seconds=limits.cpu_seconds)
    answer, reason = ask_child(CHILD, json.dumps(header).encode() + b"\n" + pack, child_limits)
    try:
        rows = [
            read_row(line, ERROR_ROW, *((_CONTENT, _REFUSED) if n else (_COMMIT,)))
            for n, line in enumerate(answer.split(b"\n")[:-1])
        ]
    except SourceError as error:
        raise SourceError(f"{name}: {error}") from error
    errors = [row["error"] for row in rows if "error" in row]
    if errors:
        raise SourceError(f"{name}: {errors[-1]}")
    if reason or not rows:
        raise SourceError(f"{name}: {reason or 'its answer cannot be read'}")
    return rows


def _open_rows(rows: Sequence[Mapping[str, str]]) -> tuple[tuple[BundledFile, ...], tuple[RefusedFile, ...]]:
    """Return the files that a child took from a commit, and those that are refused."""
    files, refused = [], []
    for row in rows:
        if "refused" in row:
            refused.append(RefusedFile(row["name"], row["refused"]))
            continue
        try:
            files.append(BundledFile(row["name"], b64decode(row["content"], validate=True), {"from": GIT}))
        except ValueError:
            refused.append(
                RefusedFile(row["name"], "damaged: the process that reads the repository gave no valid content")
            )
    return tuple(files), tuple(refused)


def _describe(
    target: FetchTarget, source: GitSource, found: FoundRef, commit: Mapping[str, str], now: str
) -> dict[str, str]:
    return {
        "repository": target.url,
        "ref": found.name,
        "ref_kind": found.kind,
        "asked_ref": source.ref,
        "path": clean_path(source.path),
        "kustomization": (clean_path(source.kustomization) or ".") if source.kustomization else "",
        "fetched_at": now,
        **{name: commit[name] for name in _FACTS},
    }


def _render(files: tuple[BundledFile, ...], source: GitSource, run: Runner) -> tuple[BundledFile, ...]:
    return (kustomize.render(SourceBundle.of(files), clean_path(source.kustomization), run=run),)


def _with_blame(file: BundledFile, blame: str) -> BundledFile:
    return BundledFile(file.name, file.data, {**file.provenance, **({"blame": blame} if blame else {})})


def freeze(received: FetchedFiles, source: GitSource, *, run: Runner = run_here) -> tuple[BundledFile, ...]:
    """Return the files of a commit with their provenance, rendered if that was asked for; raises `SourceError`.

    - `run` runs the program that renders, isolated.
    """
    files = tuple(_with_blame(file, received.blame.get(file.name, "")) for file in received.files)
    if source.kustomization:
        files = _render(files, source, run)
    return tuple(BundledFile(file.name, file.data, {**received.facts, **file.provenance}) for file in files)


def check(source: GitSource, *, policy: FetchPolicy) -> FetchTarget:
    """Parse what a person named, without network access; raises `SourceError`."""
    target = read_repository(source.repository, policy)
    check_ref(source.ref)
    _check_path(source.path, "git_path")
    _check_path(source.kustomization, "kustomization")
    for path in source.paths:
        _check_path(path, "chart" if path == source.chart else "chart_values_files")
    if source.kustomization and is_glob(source.path):
        text = "a kustomization is rendered from a folder: enter a folder without wildcards, or none"
        raise SourceError(text).at("git_path")
    if source.chart:
        _check_chart(source)
    return target


def _check_path(path: str, field: str) -> None:
    if path.strip("/ ") in ("", "."):
        return
    try:
        clean_name(path.strip().strip("/"))
    except SourceError as error:
        raise error.at(field) from None


def _check_chart(source: GitSource) -> None:
    if source.path or source.kustomization:
        text = f"the chart {source.chart} of the repository is rendered alone: leave path and kustomization empty"
        raise SourceError(text).at("chart")
    if any(map(is_glob, source.paths)):
        raise SourceError("name the chart and its values files without wildcards").at("chart")


@contextmanager
def _open_client(
    target: FetchTarget, pinned: PinnedClient, policy: FetchPolicy, credential: Credential | None, limits: GitLimits
) -> Iterator[GitClient]:
    """Open a client of one repository; raises `SourceError` if no credential, or one of another kind, is there."""
    if credential is not None and not covers(credential.prefix, target.url):
        raise SourceError("this credential is registered for another address")
    if not is_ssh(target.url):
        login = credential if isinstance(credential, GitLogin) else None
        yield PinnedGitClient(target, pinned, policy, login=login, limits=limits)
        return
    if not isinstance(credential, DeployKey):
        raise SourceError(
            f"no deploy key is registered for {name_repository(target)} that you may use: an administrator registers"
            " one in the settings, or enter the https address of a public repository"
        )
    from applyviz.sources.git.ssh import PinnedSshClient  # noqa: PLC0415  # slow import

    client = PinnedSshClient(target, pinned, key=credential, limits=limits)
    try:
        yield client
    finally:
        client.close()


def find_branch(
    repository: str,
    *,
    policy: FetchPolicy,
    credential: Credential | None,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> FoundRef:
    """Return the default branch of a repository, to show that a credential works; raises `SourceError`."""
    target, limits = read_repository(repository, policy), GitLimits(pack_bytes=_LISTING)
    source = GitSource(repository)
    with (
        connecting(policy, resolver, sleep=sleep, clock=clock) as pinned,
        _open_client(target, pinned, policy, credential, limits) as client,
    ):
        return _list_default(client, source, target)


def _list_default(client: GitClient, source: GitSource, target: FetchTarget) -> FoundRef:
    name = name_repository(target)
    try:
        result = client.get_refs(b"", ref_prefix=list_prefixes(""))
    except HangupException as error:
        raise SourceError(_describe_hangup(error, target, name)) from None
    except GitProtocolError as error:
        raise SourceError(_explain(error, source, target, name)) from None
    except (AssertionError, ValueError, KeyError, IndexError):
        raise SourceError(f"{target.host} did not keep to the git protocol for {name}: try again later") from None
    refs = {bytes(ref): bytes(oid) for ref, oid in result.refs.items() if oid is not None}
    return find_ref("", refs, repository=name, default=_read_default(result.symrefs))


def _read_default(symrefs: Mapping[Ref, Ref] | None) -> str:
    """Return the name of the default branch, "" if the server does not say it."""
    head = symrefs.get(HEADREF) if symrefs else None
    return head.decode("utf-8", "replace").removeprefix("refs/heads/") if head else ""


def fetch(
    source: GitSource,
    *,
    policy: FetchPolicy,
    now: str,
    credential: Credential | None = None,
    limits: GitLimits = DEFAULT_LIMITS,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> FetchedFiles:
    """Fetch one commit and return the files that were named, unrendered; raises `SourceError`.

    - Raises `RefusedFilesError` with all files that are not taken, and the others.
    - `credential` must cover the repository; it is used for no other address.
    - `now` is the time of fetching for the provenance, as text.
    """
    target = check(source, policy=policy)
    with (
        connecting(policy, resolver, sleep=sleep, clock=clock) as pinned,
        _open_client(target, pinned, policy, credential, limits) as client,
    ):
        received = _download(client, source, target, limits, credential=credential)
    commit, *rows = _read_pack(received.pack, received.found, source, name_repository(target), limits)
    received.keep()
    facts = _describe(target, source, received.found, commit, now)
    files, refused = _open_rows(rows)
    if refused:
        raise RefusedFilesError(FetchedFiles(files, facts, refused=refused))
    return FetchedFiles(files, facts)


def add_history(
    received: FetchedFiles,
    source: GitSource,
    *,
    policy: FetchPolicy,
    credential: Credential | None = None,
) -> FetchedFiles:
    """Return the same files with the newest commits and the commit of each line; unchanged if they cannot be read."""
    target = check(source, policy=policy)
    try:
        with (
            connecting(policy, resolve_name, sleep=lambda _seconds: None, clock=time.monotonic) as pinned,
            _open_client(target, pinned, policy, credential, history.LIMITS) as client,
        ):
            newest = _download(client, source, target, history.LIMITS, credential=credential, depth=history.DEPTH)
    except SourceError:
        return received
    names = tuple(file.name for file in received.files)
    known = history.read_history(newest.pack, newest.found.oid, source, names)
    if known is not None:
        newest.keep()
    if known is None or json.loads(known.commits)[0]["commit"] != received.facts["commit"]:
        return received  # a push came in between: lines would be those of another commit
    facts = {**received.facts, "history": known.commits, "people": known.people}
    return FetchedFiles(received.files, facts, known.blame)
