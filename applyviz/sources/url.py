"""Fetch a URL on the server without giving anyone access to the internal network.

Each hop (the link and at most three redirects) is checked separately: https on port 443, or a host that the operator
allows by name; the name is resolved once, every address must be public, and the connection goes to exactly that address
with the name kept for TLS and Host. No credentials, no proxies, no compression; size and time are limited. Failures
look the same whether an address is closed, refused, slow or forbidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlsplit

import urllib3

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.golang import is_digits
from applyviz.sources import links
from applyviz.sources.bundle import BundledFile
from applyviz.sources.pinned import (
    REDIRECTS,
    FetchPolicy,
    FetchTarget,
    NoAnswerError,
    PinnedClient,
    Resolver,
    connecting,
    join_address,
    read_target,
    resolve_name,
    unreachable,
)

_CHUNK = 64 * 1024


@dataclass(slots=True)
class _Fetcher:
    policy: FetchPolicy
    client: PinnedClient

    def fetch(self, url: str) -> tuple[str, str, bytes]:
        """Return final URL, content type and bytes."""
        target = read_target(url, self.policy)
        for _ in range(self.policy.max_redirects + 1):
            response = self.client.ask(target)
            try:
                if response.status not in REDIRECTS:
                    return target.url, self._check(target, response), self._read(target, response)
                location = response.headers.get("Location", "")
            finally:
                response.close()
            target = read_target(join_address(target.url, location), self.policy)
        raise SourceError(f"the link is redirected more than {self.policy.max_redirects} times")

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send once and return the status; the body of the answer is not read."""
        target = read_target(url, self.policy)
        try:
            response = self.client.ask(target, "POST", {**headers, "Accept-Encoding": "identity"}, body)
        except NoAnswerError:
            raise SourceError(f"no answer from {target.host}") from None
        response.close()
        return response.status

    def _check(self, target: FetchTarget, response: urllib3.BaseHTTPResponse) -> str:
        if response.status != 200:
            raise SourceError(links.describe_status(target.host, response.status))
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise SourceError(f"{target.host} answered with compressed content, which is not read")
        length = response.headers.get("Content-Length", "")
        if is_digits(length) and int(length[:20]) > self.policy.max_bytes:
            raise self._too_large()
        return response.headers.get("Content-Type", "")

    def _too_large(self) -> SourceError:
        return SourceError(f"what the link gives is larger than {self.policy.max_bytes:,} bytes")

    def _read(self, target: FetchTarget, response: urllib3.BaseHTTPResponse) -> bytes:
        data = bytearray()
        try:
            while chunk := response.read(_CHUNK, decode_content=False):
                data += chunk
                if len(data) > self.policy.max_bytes:
                    raise self._too_large()
                if self.client.deadline.is_over:
                    raise unreachable(target)
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise unreachable(target) from None
        return bytes(data)


def _name_of(url: str) -> str:
    parts = urlsplit(url)
    name = parts.path.rsplit("/", 1)[-1]
    return name or f"{parts.hostname}.yaml"


def fetch(
    url: str,
    *,
    policy: FetchPolicy,
    now: str,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> BundledFile:
    """Fetch one link and freeze its content; raises `SourceError`.

    - The address of a page on GitHub or GitLab is turned into that of the raw file; the provenance names both.
    - `now` is the time of fetching for the provenance, as text.
    - A failure is raised no earlier than `policy.failure_seconds` after the start.
    """
    with connecting(policy, resolver, sleep=sleep, clock=clock) as client:
        raw = links.find_raw(url)
        final_url, content_type, data = _Fetcher(policy, client).fetch(raw or url)
        links.refuse_page(final_url, content_type, data)
    provenance = {
        "from": "link",
        "url": url,
        **({"raw_url": raw} if raw else {}),
        "final_url": final_url,
        "fetched_at": now,
        "content_type": content_type,
    }
    return BundledFile(_name_of(final_url), data, provenance)


def check(url: str, *, policy: FetchPolicy) -> None:
    """Parse a URL strictly, without network access; raises `SourceError` with a reason that a person can act on."""
    read_target(url, policy)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    policy: FetchPolicy,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Send bytes to an allowed address; return the status of the answer, raise `SourceError`.

    - No redirect is followed, and the body of the answer is not read.
    - A failure is raised no earlier than `policy.failure_seconds` after the start.
    """
    with connecting(policy, resolver, sleep=sleep, clock=clock) as client:
        return _Fetcher(policy, client).post(url, body, headers)
