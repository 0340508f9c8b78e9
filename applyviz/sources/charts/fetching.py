"""Fetch a chart from an https address, a repository or an OCI registry, by the address rules of links.

Rules: https://helm.sh/docs/topics/chart_repository/ (`index.yaml` names the archives of each version and their
SHA-256) and https://github.com/opencontainers/distribution-spec (a manifest names layers by their SHA-256; a registry
may ask for an anonymous token first). No request holds a secret.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlencode, urlsplit

import urllib3
from msgspec import Struct

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.sources import url
from applyviz.sources.charts.index import find_entry
from applyviz.sources.charts.model import ChartPackage, ChartSource
from applyviz.sources.charts.packages import is_archive_name, read_archive
from applyviz.sources.links import describe_status
from applyviz.sources.pinned import (
    HEADERS,
    REDIRECTS,
    FetchPolicy,
    PinnedClient,
    Resolver,
    connecting,
    join_address,
    read_target,
    resolve_name,
)

OCI = "oci://"
_INDEX = "index.yaml"
_MOST_ARCHIVE, _MOST_INDEX, _MOST_SMALL = 20 * 1024 * 1024, 20 * 1024 * 1024, 1024 * 1024
_LAYERS = ("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_NAME = re.compile(r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*\Z")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_CHALLENGE = re.compile(r'(realm|service|scope)="([^"]*)"')
_CHUNK = 64 * 1024


class FetchContext(Struct, frozen=True):
    """How charts are fetched: the allowed addresses, the time of fetching as text, and the resolver of names."""

    policy: FetchPolicy
    now: str
    resolver: Resolver = resolve_name
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def is_remote(source: ChartSource) -> bool:
    """Return whether a chart must be fetched."""
    return bool(source.repository) or source.chart.startswith((OCI, "https://", "http://"))


def _refuse_unreadable(address: str, field: str) -> None:
    try:
        urlsplit(address)
    except ValueError:
        raise SourceError(f"{address[:80]} is not an address").at(field) from None


def check(source: ChartSource) -> None:
    """Refuse what cannot be fetched, without network access; raises `SourceError` with what to do."""
    _refuse_unreadable(source.chart, "chart")
    _refuse_unreadable(source.repository, "chart_repository")
    if source.repository and not source.repository.startswith(("https://", "http://")):
        text = "enter the https address of the repository; a chart in a registry is named as oci://HOST/CHART"
        raise SourceError(text).at("chart_repository")
    if source.repository and not re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z", source.chart):
        raise SourceError("enter the name of the chart as the repository names it, without the repository")
    if (source.repository or source.chart.startswith(OCI)) and not _TAG.match(source.version):
        text = "enter the exact version of the chart, for example 1.2.3: what is approved must not change"
        raise SourceError(text).at("chart_version")
    if source.chart.startswith(("https://", "http://")) and not is_archive_name(urlsplit(source.chart).path):
        raise SourceError("the address of a chart ends in .tgz; a repository is entered in its own field")


def fetch(source: ChartSource, context: FetchContext) -> ChartPackage:
    """Return the chart that a remote source names, with its origin; raises `SourceError`."""
    check(source)
    if source.chart.startswith(OCI):
        return _fetch_oci(source, context)
    if source.repository:
        return _fetch_from_repository(source, context)
    data = _get(source.chart, context, _MOST_ARCHIVE)
    return read_archive(data, _last_name(source.chart), _origin("link", source.chart, data, context))


def _last_name(address: str) -> str:
    return urlsplit(address).path.rpartition("/")[2] or "the chart"


def _origin(kind: str, address: str, data: bytes, context: FetchContext) -> dict[str, str]:
    """Return where an archive came from; the address without its query, which may hold a credential."""
    shown = urlsplit(address)._replace(query="", fragment="").geturl()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"from": kind, "chart_url": shown, "chart_digest": digest, "fetched_at": context.now}


def _get(address: str, context: FetchContext, most: int) -> bytes:
    """Return the bytes at an https address, by the rules of links."""
    policy = replace(context.policy, max_bytes=most)
    found = url.fetch(
        address,
        policy=policy,
        now=context.now,
        resolver=context.resolver,
        sleep=context.sleep,
        clock=context.clock,
    )
    return found.data


def _fetch_from_repository(source: ChartSource, context: FetchContext) -> ChartPackage:
    root = source.repository.rstrip("/").removesuffix(f"/{_INDEX}") + "/"
    try:
        index = _get(join_address(root, _INDEX), context, _MOST_INDEX)
    except SourceError as error:
        raise SourceError(f"the {_INDEX} of the chart repository: {error}").at("chart_repository") from None
    entry = find_entry(index, source.chart, source.version)
    if entry.address.startswith(OCI):
        return _fetch_oci(replace(source, chart=entry.address.rpartition(":")[0], repository=""), context)
    address = join_address(root, entry.address)
    data = _get(address, context, _MOST_ARCHIVE)
    found = hashlib.sha256(data).hexdigest()
    if entry.digest and entry.digest.removeprefix("sha256:") != found:
        raise SourceError(f"{_last_name(address)} is not what the repository names: its SHA-256 is {found}")
    return read_archive(data, _last_name(address), _origin("repository", address, data, context))


@dataclass(slots=True)
class _Registry:
    """A registry, asked by the rules of links; a token it gives goes to it alone."""

    client: PinnedClient
    policy: FetchPolicy
    root: str
    name: str
    token: str = ""

    def ask(self, path: str, accept: str, most: int) -> bytes:
        """Return what the registry answers; a redirect to another host gets no token."""
        address = f"{self.root}/v2/{self.name}/{path}"
        for _ in range(self.policy.max_redirects + 2):
            is_ours = urlsplit(address).netloc == urlsplit(self.root).netloc
            headers = {**HEADERS, "Accept": accept}
            if self.token and is_ours:
                headers["Authorization"] = f"Bearer {self.token}"
            response = self.client.ask(read_target(address, self.policy), headers=headers)
            try:
                if response.status == 401 and is_ours and not self.token:
                    self.token = self._ask_token(response.headers.get("WWW-Authenticate", ""))
                elif response.status in REDIRECTS:
                    address = join_address(address, response.headers.get("Location", ""))
                else:
                    return self._read(response, most)
            finally:
                response.close()
        raise SourceError(f"{urlsplit(self.root).hostname} redirects too often")

    def _ask_token(self, challenge: str) -> str:
        """Return an anonymous token, as the registry asks for."""
        asked = dict(_CHALLENGE.findall(challenge))
        if not challenge.lower().startswith("bearer") or "realm" not in asked:
            raise SourceError(f"{urlsplit(self.root).hostname} asks for a sign-in: upload the chart instead")
        query = urlencode({name: asked[name] for name in ("service", "scope") if name in asked})
        target = read_target(f"{asked['realm']}?{query}", self.policy)
        if target.is_internal and not read_target(self.root, self.policy).is_internal:  # its answer would be sent out
            raise SourceError(f"{urlsplit(self.root).hostname} asks for a token of {target.host}, which is internal")
        response = self.client.ask(target)
        try:
            answer = _read_json(self._read(response, _MOST_SMALL))
        finally:
            response.close()
        return str(answer.get("token") or answer.get("access_token") or "-")

    def _read(self, response: urllib3.BaseHTTPResponse, most: int) -> bytes:
        host = urlsplit(self.root).hostname or ""
        if response.status != 200:
            raise SourceError(describe_status(host, response.status))
        found = bytearray()
        while chunk := self._read_some(response, host):
            found += chunk
            if len(found) > most:
                raise SourceError(f"the chart is larger than {most:,} bytes")
        return bytes(found)

    def _read_some(self, response: urllib3.BaseHTTPResponse, host: str) -> bytes:
        """Return the next bytes, b"" at the end; also the end of a connection at the deadline raises `SourceError`."""
        if self.client.deadline.is_over:
            raise SourceError(f"{host} took longer than {self.policy.total_seconds:g} seconds")
        try:
            return response.read(_CHUNK)
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise SourceError(f"{host} ended the connection before the whole chart had arrived") from None


def _read_json(data: bytes) -> JSONObject:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise SourceError("the registry does not answer as an OCI registry does")
    return found


def _find_layer(manifest: JSONObject, chart: str) -> str:
    layers = manifest.get("layers")
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, dict) and layer.get("mediaType") in _LAYERS and _DIGEST.match(str(layer.get("digest"))):
            return str(layer["digest"])
    raise SourceError(f"{chart} is not a Helm chart: it has no layer with a chart")


def _fetch_oci(source: ChartSource, context: FetchContext) -> ChartPackage:
    host, _, name = source.chart.removeprefix(OCI).partition("/")
    if not host or not _NAME.match(name):
        raise SourceError("enter a chart in a registry as oci://HOST/PATH/CHART, and its version in its own field")
    origins = {urlsplit(one).netloc: urlsplit(one).scheme for one in context.policy.internal}
    root = f"{origins.get(host, 'https')}://{host}"
    with connecting(context.policy, context.resolver, sleep=context.sleep, clock=context.clock) as client:
        registry = _Registry(client, context.policy, root, name)
        tag = source.version.replace("+", "_")
        manifest = _read_json(registry.ask(f"manifests/{tag}", _MANIFEST, _MOST_SMALL))
        digest = _find_layer(manifest, source.chart)
        data = registry.ask(f"blobs/{digest}", "*/*", _MOST_ARCHIVE)
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
        raise SourceError(f"{host} did not send the chart that its manifest names")
    return read_archive(data, source.chart, _origin("registry", f"{source.chart}:{source.version}", data, context))
