"""The kinds of a cluster, from the OpenAPI v3 documents that it serves.

Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3: one document per group and version, found
through an index whose addresses carry the hash of the content. The caller fetches and caches the documents. For
built-in kinds, the bundled data adds what no document says: their empty Go value and the fields that a write excludes
from ownership.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.builtin import bundled, find_zero
from applyviz.engine.schema.definitions import DefinitionSet
from applyviz.engine.schema.discovery import index_kinds, list_strategic
from applyviz.engine.schema.model import KindSchema, Node, SchemaOrigin
from applyviz.engine.schema.resets import METADATA, SPEC, STATUS, list_builtin_resets


class _GroupDocument:
    """One group and version: its definitions, kinds, and the subresources that its paths name."""

    def __init__(self, document: JSONObject) -> None:
        schemas: Mapping[str, JSONObject] = get_at(document, ("components", "schemas"), {})
        self.definitions = DefinitionSet(schemas.get)
        self.kinds = index_kinds(document)
        self.strategic = list_strategic(document)
        self.with_status = frozenset(self._list_with_status(document))

    @staticmethod
    def _list_with_status(document: JSONObject) -> list[GroupVersionKind]:
        found = []
        for path, item in (document.get("paths") or {}).items():
            gvk = get_at(item, ("patch", "x-kubernetes-group-version-kind"))
            if path.endswith("/status") and isinstance(gvk, Mapping):
                found.append(GroupVersionKind(gvk.get("group", ""), gvk.get("version", ""), gvk.get("kind", "")))
        return found


class OpenAPISource:
    """OpenAPI v3 documents, by their path in the index (`apis/apps/v1`), as a `SchemaSource`.

    A document is indexed on the first lookup of a kind in its group and version.
    """

    def __init__(
        self, documents: Mapping[str, JSONObject], origin: SchemaOrigin = SchemaOrigin.CLUSTER_OPENAPI
    ) -> None:
        self._raw = documents
        self._origin = origin
        self._documents: dict[str, _GroupDocument | None] = {}
        self._kinds: dict[GroupVersionKind, KindSchema | None] = {}

    def _find_document(self, gvk: GroupVersionKind) -> _GroupDocument | None:
        path = f"apis/{gvk.group}/{gvk.version}" if gvk.group else f"api/{gvk.version}"
        if path not in self._documents:
            raw = self._raw.get(path)
            self._documents[path] = _GroupDocument(raw) if raw is not None else None
        return self._documents[path]

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the schema of a kind from the documents, None if none contains it."""
        if gvk not in self._kinds:
            document = self._find_document(gvk)
            has_it = document is not None and gvk in document.kinds
            self._kinds[gvk] = self._read_kind(gvk, document) if document is not None and has_it else None
        return self._kinds[gvk]

    def _find_versions(self, gvk: GroupVersionKind) -> dict[GroupVersionKind, _GroupDocument]:
        """Return the kind at every version that a document of its group describes, its own version first."""
        found: dict[GroupVersionKind, _GroupDocument] = {}
        own = gvk.api_version if gvk.group else f"/{gvk.version}"
        others = [path.removeprefix("apis/").removeprefix("api") for path in self._raw]
        for name in dict.fromkeys((own, *others)):
            group, _, version = name.rpartition("/")
            other = gvk._replace(version=version)
            document = self._find_document(other) if group == gvk.group else None
            if document is not None and other in document.kinds:
                found[other] = document
        return found

    def _read_kind(self, gvk: GroupVersionKind, document: _GroupDocument) -> KindSchema:
        root = document.definitions.get_node(document.kinds[gvk])
        own, versions = bundled().find_kind(gvk), self._find_versions(gvk)
        roots: dict[str, Node | None] = {v.version: d.definitions.get_node(d.kinds[v]) for v, d in versions.items()}
        is_custom = own is None and gvk not in document.strategic
        has_status = gvk in document.with_status
        resets = list_builtin_resets(gvk, ("status",) if has_status else ())
        if is_custom:
            resets |= {("status", v.api_version): (METADATA, SPEC) for v, d in versions.items() if v in d.with_status}
            resets |= {("", gvk.api_version): (STATUS,)} if has_status else {}
        return KindSchema(
            gvk,
            root,
            self._origin,
            is_custom=is_custom,
            is_strategic=gvk in document.strategic,
            has_status=has_status,
            zero={"apiVersion": gvk.api_version, "kind": gvk.kind} if is_custom else find_zero(gvk),
            served_versions=tuple(dict.fromkeys((*(own.served_versions if own else ()), *roots))),
            alternatives=own.alternatives if own else (),
            version_roots=roots if is_custom else own.version_roots if own else {},
            reset_fields=own.reset_fields if own else resets,
        )
