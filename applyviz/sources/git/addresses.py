"""The address of a repository: https without user name, or ssh with one; and which credential covers it.

`git@HOST:OWNER/REPOSITORY` is written as `ssh://git@HOST/OWNER/REPOSITORY`, as hosts of many repositories read it.

A credential is for an address and what lies below it, segment by segment: one for `https://git.example/team` is sent
for `https://git.example/team/app` and never for `https://git.example/team-two/app` or another host.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources.pinned import FetchPolicy, FetchTarget, origin_of, read_target

_SCP = re.compile(r"([A-Za-z0-9._-]+)@([^/:\s]+):(?!//)/?(.+)\Z")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,63}\Z")
_SSH_PATH = re.compile(r"/[A-Za-z0-9._~/+@-]+\Z")  # nothing that a shell reads
SSH = "ssh://"
_PAGES = ("/tree/", "/blob/", "/-/tree/", "/-/blob/")
_MOST = 1000


def _refuse_form(text: str) -> None:
    if not text.startswith(("https://", "http://")):
        raise SourceError(
            "enter the https or ssh address of the repository, for example https://github.com/owner/repository"
        )
    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise SourceError(
            "an address with a user name or token is not fetched: an administrator registers the credential of a"
            " private repository in the settings"
        )
    if "?" in text or "#" in text:
        raise SourceError("the address of a repository has no query and no fragment")
    if any(page in parts.path for page in _PAGES):
        raise SourceError(
            "this is a page of the repository: enter its address, and branch and path in their own fields"
        )


def _refuse_path(path: str) -> None:
    plain = unquote(path)
    if ".." in plain.split("/") or "//" in plain or plain == "/" or "\\" in plain:
        raise SourceError("the address does not name a repository: https://HOST/OWNER/REPOSITORY")


def write_ssh(text: str) -> str:
    """Return `git@HOST:PATH` as an ssh address; any other text stays."""
    found = _SCP.match(text)
    return f"{SSH}{found[1]}@{found[2]}/{found[3]}" if found else text


def is_ssh(url: str) -> bool:
    """Return whether an address is of the ssh protocol."""
    return url.startswith(SSH)


def user_of(url: str) -> str:
    """Return the user name in an ssh address."""
    return urlsplit(url).username or ""


def _read_ssh(text: str, policy: FetchPolicy) -> FetchTarget:
    user, at, rest = text.removeprefix(SSH).rpartition("@")
    if not at or not _USER.match(user):
        raise SourceError("an ssh address names its user and no password: ssh://git@HOST/OWNER/REPOSITORY")
    target = read_target(f"{SSH}{rest}", policy, is_ssh=True)
    if not _SSH_PATH.match(target.path):
        raise SourceError("the path of an ssh address has letters, digits and . _ ~ + @ - only")
    _refuse_path(target.path)
    return replace(target, url=f"{SSH}{user}@{rest}")


def read_repository(text: str, policy: FetchPolicy) -> FetchTarget:
    """Parse the address of a repository strictly; raises `SourceError` with a reason that a person can act on."""
    text = write_ssh(text.strip()).rstrip("/")
    if len(text) > _MOST:
        raise SourceError("the address is too long")
    if is_ssh(text):
        return _read_ssh(text, policy)
    try:
        _refuse_form(text)
    except ValueError:
        raise SourceError("this is not an address") from None
    target = read_target(text, policy)
    _refuse_path(target.path)
    return target


def read_prefix(text: str, policy: FetchPolicy) -> str:
    """Return the address that a credential is for, a repository or a folder of them; raises `SourceError`."""
    return read_repository(text, policy).url


def covers(prefix: str, repository: str) -> bool:
    """Return whether a credential for a prefix may be used for a repository: same origin and user, at or below it."""
    try:
        ours, theirs = urlsplit(prefix), urlsplit(repository)
        if origin_of(ours) != origin_of(theirs) or ours.username != theirs.username:
            return False
    except ValueError:
        return False
    if "%" in theirs.path or ".." in theirs.path.split("/"):
        return False
    own, other = ours.path.rstrip("/"), theirs.path.rstrip("/")
    return other in (own, f"{own}.git") or other.startswith(f"{own}/")


def locate(repository: str) -> str:
    """Return host and path of a repository without `.git`, the same for https and ssh: where a git host keeps it."""
    parts = urlsplit(repository)
    return f"{parts.hostname or ''}{parts.path.rstrip('/').removesuffix('.git')}".casefold()


def name_repository(target: FetchTarget) -> str:
    """Return host and path of a repository, for sentences."""
    return f"{urlsplit(target.url).netloc.rpartition('@')[2]}{target.path}"
