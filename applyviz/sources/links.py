"""Links to manifests: a page on GitHub or GitLab leads to the raw file that it shows; what to do when a fetch fails.

Rule: https://docs.github.com/en/repositories/working-with-files/using-files/viewing-and-understanding-files and
https://docs.gitlab.com/user/project/repository/files/: a page of a file and its raw form differ in one part of the
path. People copy the address of the page; it would give a web page in place of the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from applyviz.engine.objects.errors import SourceError

MOST_LINKS = 20
_GITHUB, _GIST = ("github.com", "www.github.com"), "gist.github.com"
_RAW_GITHUB = "raw.githubusercontent.com"
_PAGES = frozenset(("blob", "blame", "edit", "raw"))
_NO_FILES = frozenset(("tree", "pull", "commit", "commits", "compare", "releases", "issues"))
_GITLAB = "/-/"
_SIGN_IN = "it asks for a sign-in, and links are fetched without one; upload the file instead"
_GONE = "check the link; a file that needs a sign-in looks missing too, so upload it instead"
_TRY_LATER = "try again later, or upload the file instead"
_ADVICE = {401: _SIGN_IN, 403: _SIGN_IN, 404: _GONE, 410: _GONE, 429: _TRY_LATER}
FOLDER = (
    "this link leads to a folder or a repository page: link to each file, or enter repository and path as a git"
    " repository"
)


@dataclass(eq=False)
class UnreadLinksError(SourceError):
    """Links that could not be fetched: the number of each in the given order, and the reason."""

    links: tuple[str, ...]
    reasons: Mapping[int, str]

    def __str__(self) -> str:
        return "; ".join(f"{hide_query(self.links[n])}: {reason}" for n, reason in self.reasons.items())


def _of_github(parts: SplitResult) -> str:
    """`/OWNER/REPO/blob/REF/PATH` shows the file that the host for raw files serves at `/OWNER/REPO/REF/PATH`."""
    names = parts.path.strip("/").split("/")
    page = names[2] if len(names) > 2 else ""
    if page in _PAGES and len(names) > 4:
        return f"https://{_RAW_GITHUB}/{'/'.join([*names[:2], *names[3:]])}"
    if len(names) <= 2 or (page in _NO_FILES and "download" not in names):
        raise SourceError(FOLDER)
    return ""


def _of_gist(parts: SplitResult) -> str:
    """`/PERSON/ID` shows the first file of a gist, which `/PERSON/ID/raw` gives."""
    names = parts.path.strip("/").split("/")
    return f"https://{_GIST}/{'/'.join(names)}/raw" if len(names) == 2 else ""


def _of_gitlab(parts: SplitResult) -> str:
    """`/GROUP/PROJECT/-/blob/REF/PATH` shows what `/GROUP/PROJECT/-/raw/REF/PATH` gives, on every GitLab host."""
    project, _mark, rest = parts.path.partition(_GITLAB)
    page, _slash, file = rest.partition("/")
    if page in ("blob", "blame", "edit") and "/" in file:
        return parts._replace(path=f"{project}{_GITLAB}raw/{file}", query="", fragment="").geturl()
    if page == "tree":
        raise SourceError(FOLDER)
    return ""


def find_raw(url: str) -> str:
    """Return the address of the raw file behind the address of a page; "" for any other address.

    - Raises `SourceError` for the page of a folder or repository, which has no raw form.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return ""
    if host in _GITHUB:
        return _of_github(parts)
    if host == _GIST:
        return _of_gist(parts)
    return _of_gitlab(parts) if _GITLAB in parts.path else ""


def hide_query(url: str) -> str:
    """Return an address without query and fragment, where signed links hold a credential, and without a password."""
    try:
        parts = urlsplit(url)
        person, _at, host = parts.netloc.rpartition("@")
        is_named = bool(person) and (":" in person or parts.scheme != "ssh")
        return parts._replace(query="", fragment="", netloc=host if is_named else parts.netloc).geturl()
    except ValueError:
        return ""


def describe_status(host: str, status: int) -> str:
    """Return what a host answered in place of the file, and what to do."""
    advice = _ADVICE.get(status, _TRY_LATER if status >= 500 else "check the link")
    return f"{host} answered {status}: {advice}"


def refuse_page(url: str, content_type: str, data: bytes) -> None:
    """Raise `SourceError` for a web page, so that its markup is not reported as bad YAML."""
    if "html" in content_type.lower() and data.lstrip()[:1] == b"<":
        raise SourceError(f"{urlsplit(url).hostname} answered with a web page, not a manifest: link to the raw file")
