"""The smart HTTP protocol over checked connections: dulwich speaks it, every request goes through `pinned`.

A redirect is followed for the first request only, on the same origin, as hosts do for a renamed repository. A login is
sent only to addresses that it covers, also after a redirect. Nothing else of the answer is trusted: bytes and time are
counted, and packs at other addresses (packfile URIs) are never asked for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin, urlsplit

import urllib3
from dulwich.client import AbstractHttpGitClient
from dulwich.protocol import CAPABILITY_PACKFILE_URIS

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git.addresses import covers, name_repository
from applyviz.sources.git.model import GitLimits, GitLogin
from applyviz.sources.pinned import (
    REDIRECTS,
    FetchPolicy,
    FetchTarget,
    PinnedClient,
    origin_of,
    read_target,
    unreachable,
)

if TYPE_CHECKING:
    from dulwich.client import HTTPResponse

_SERVICE = "?service=git-upload-pack"
_TAIL = f"/info/refs{_SERVICE}"
_NO_LOGIN = "; no credential is registered for it that you may use, which an administrator does in the settings"


@dataclass(slots=True)
class _Answer:
    """The attributes of an answer that dulwich reads."""

    response: urllib3.BaseHTTPResponse
    content_type: str
    redirect_location: str

    def close(self) -> None:
        self.response.close()


@dataclass(slots=True)
class ByteMeter:
    """The bytes that one fetch may still receive."""

    left: int
    most: int

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise too_large(self.most)


def too_large(most: int) -> SourceError:
    """Return the refusal of a repository whose commit does not fit."""
    return SourceError(
        f"one commit of the repository is larger than {most:,} bytes: upload the files, or keep manifests in a"
        " repository of their own"
    )


class PinnedGitClient(AbstractHttpGitClient):
    """A client of one repository, with at most one login."""

    def __init__(
        self,
        target: FetchTarget,
        client: PinnedClient,
        policy: FetchPolicy,
        *,
        login: GitLogin | None,
        limits: GitLimits,
    ) -> None:
        """Prepare a client; nothing is sent yet."""
        super().__init__(target.url, quiet=True)
        self._fetch_capabilities.discard(CAPABILITY_PACKFILE_URIS)
        self._target, self._client, self._policy = target, client, policy
        self._login = login
        self._meter = ByteMeter(limits.pack_bytes, limits.pack_bytes)

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[HTTPResponse, Callable[[int], bytes]]:
        """Send one request of the protocol; see `AbstractHttpGitClient`."""
        body = data if data is None or isinstance(data, bytes) else b"".join(data)
        for _ in range(self._policy.max_redirects + 1):
            target = read_target(url, self._policy)
            response = self._send(target, dict(headers or {}), body)
            if response.status not in REDIRECTS:
                self._check(target, response, is_first=body is None)
                answer = _Answer(response, response.headers.get("Content-Type", ""), url)
                return cast("HTTPResponse", answer), self._reader(target, response)
            location = response.headers.get("Location", "")
            response.close()
            url = self._follow(target, location, is_first=body is None)
        raise SourceError(f"{self._target.host} redirects more than {self._policy.max_redirects} times")

    def _send(self, target: FetchTarget, headers: dict[str, str], body: bytes | None) -> urllib3.BaseHTTPResponse:
        headers = {**headers, "Accept-Encoding": "identity", "User-Agent": "git/2.0 applyviz", "Pragma": "no-cache"}
        login = self._login
        repository = target.url.partition("/info/refs")[0].removesuffix("/git-upload-pack")
        if login is not None and covers(login.prefix, repository):
            pair = b64encode(f"{login.username}:{login.token}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return self._client.ask(target, "GET" if body is None else "POST", headers, body)

    def _follow(self, target: FetchTarget, location: str, *, is_first: bool) -> str:
        """Return where a redirect leads; raises `SourceError` unless it is another path of the same host."""
        new = ""
        try:
            new = urljoin(target.url, location)
            same = origin_of(urlsplit(new)) == origin_of(urlsplit(target.url))
            host = urlsplit(new).hostname or ""
        except ValueError:
            same, host = False, ""
        if not same:
            raise SourceError(
                f"{target.host} redirects to another host ({host[:100] or 'unreadable'}), which is not followed:"
                " enter the address of the repository there"
            )
        if not is_first or not new.endswith(_TAIL):
            raise SourceError(f"{target.host} redirects to a page, not to a repository: check the address")
        return new

    def _check(self, target: FetchTarget, response: urllib3.BaseHTTPResponse, *, is_first: bool) -> None:
        name, status = name_repository(self._target), response.status
        if status in (401, 403):
            response.close()
            raise SourceError(self._describe_refusal(target, status))
        if status in (404, 410):
            raise SourceError(
                f"{target.host} answered {status}: there is no repository {name}. Check the address"
                + ("" if self._login else _NO_LOGIN)
            )
        if status != 200:
            advice = "try again later" if status == 429 or status >= 500 else "check the address"
            raise SourceError(f"{target.host} answered {status} for {name}: {advice}")
        wanted = "application/x-git-upload-pack-" + ("advertisement" if is_first else "result")
        if response.headers.get("Content-Type", "").partition(";")[0].strip().lower() != wanted:
            raise SourceError(f"{target.host} did not answer as a git repository at {name}: check the address")

    def _describe_refusal(self, target: FetchTarget, status: int) -> str:
        name = name_repository(self._target)
        if self._login is None:
            return (
                f"{target.host} answered {status}: {name} does not exist, or it asks for a sign-in. Check the"
                f" address{_NO_LOGIN}"
            )
        return (
            f"{target.host} answered {status}: it refused the token registered for {self._login.prefix}. Ask an"
            " administrator to check that it may read the repository and has not expired"
        )

    def _reader(self, target: FetchTarget, response: urllib3.BaseHTTPResponse) -> Callable[[int], bytes]:
        def read(size: int) -> bytes:
            """Return exactly so many bytes, fewer at the end."""
            data = bytearray()
            while len(data) < size:
                chunk = self._read_some(target, response, size - len(data))
                if not chunk:
                    break
                data += chunk
            return bytes(data)

        return read

    def _read_some(self, target: FetchTarget, response: urllib3.BaseHTTPResponse, size: int) -> bytes:
        if self._client.deadline.is_over:
            raise unreachable(target)
        try:
            chunk = response.read(size, decode_content=False)
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise unreachable(target) from None
        self._meter.take(len(chunk))
        return chunk
