"""Load the kinds that a cluster serves: discovery and OpenAPI v3, in the order of trust.

The order, after the CRDs of the source revision: OpenAPI v3 of the cluster (cached by its hash), CRDs of the cluster,
bundled documents. Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/. Left out: per-group discovery of
servers older than 1.30; such a server is planned from the bundled resources.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.discovery import ResourceTable, read_discovery
from applyviz.engine.schema.model import KindSchema, Resource, SchemaOrigin
from applyviz.engine.schema.openapi import OpenAPISource
from applyviz.engine.schema.sources import SourceChain

_CRDS = Request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", purpose="list")
_KEPT_DOCUMENTS = 64


class _DocumentCache:
    """OpenAPI documents by address; the address contains their hash, so they stay valid on any cluster."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, JSONObject] = OrderedDict()

    def find(self, url: str) -> JSONObject | None:
        with self._lock:
            if url in self._kept:
                self._kept.move_to_end(url)
            return self._kept.get(url)

    def keep(self, url: str, document: JSONObject) -> None:
        with self._lock:
            self._kept[url] = document
            while len(self._kept) > _KEPT_DOCUMENTS:
                self._kept.popitem(last=False)


_cache = _DocumentCache()


class _Documents(Mapping[str, JSONObject]):
    """The OpenAPI v3 documents of a cluster, each fetched on the first use of its group and version."""

    def __init__(self, reader: ClusterReader) -> None:
        self._reader = reader

    @cached_property
    def _addresses(self) -> dict[str, str]:
        answer = self._reader.try_send(Request("GET", "/openapi/v3", purpose="read"))
        paths = get_at(answer.body, ("paths",), {}) if answer.is_ok else {}
        return {path: entry["serverRelativeURL"] for path, entry in paths.items() if "serverRelativeURL" in entry}

    def __getitem__(self, path: str) -> JSONObject:
        url = self._addresses[path]
        found = _cache.find(url)
        if found is None:
            found = self._fetch(url)
            if found is None:
                raise KeyError(path)
            if "hash=" in url:
                _cache.keep(url, found)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)

    def _fetch(self, url: str) -> JSONObject | None:
        parts = urlsplit(url)
        answer = self._reader.try_send(Request("GET", parts.path, dict(parse_qsl(parts.query)), purpose="read"))
        return answer.body if answer.is_ok and isinstance(answer.body, Mapping) else None


class _ClusterCRDs:
    """The CRDs of a cluster, listed on the first use of a kind that no earlier source defines."""

    def __init__(self, reader: ClusterReader) -> None:
        self._reader = reader

    @cached_property
    def _source(self) -> CRDSource:
        answer = self._reader.try_send(_CRDS)
        items = get_at(answer.body, ("items",), []) if answer.is_ok else []
        return CRDSource(items, origin=SchemaOrigin.CLUSTER_CRD)

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the kind if a CRD of the cluster defines it; built-in groups are not looked up."""
        is_builtin = "." not in gvk.group or gvk.group.endswith(".k8s.io")
        if is_builtin and bundled().find_kind(gvk) is not None:
            return None
        return self._source.find_kind(gvk)

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a kind."""
        return self._source.find_resource(gvk) if "." in gvk.group else None

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind at its preferred version."""
        return self._source.find_preferred(group, kind) if "." in group else None

    def list_resources(self) -> tuple[Resource, ...]:
        """Return the resources that the CRDs of the cluster serve."""
        return self._source.list_resources()


class _BundledKinds:
    """The bundled schemas without their resources, because a cluster itself says what it serves."""

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the kind at the bundled version."""
        return bundled().find_kind(gvk)


def load_catalog(reader: ClusterReader) -> SourceChain:
    """Return the schemas and resources of a cluster, in the order of trust."""
    answers = reader.try_send_all([Request("GET", path, purpose="read") for path in ("/api", "/apis")])
    served = read_discovery(answer.body for answer in answers if answer.is_ok and isinstance(answer.body, Mapping))
    rest = (_BundledKinds(), ResourceTable(served)) if served else (bundled(),)
    return SourceChain(OpenAPISource(_Documents(reader)), _ClusterCRDs(reader), *rest)
