"""A list or map that is owned in another shape than its schema has now.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-topology-changes:
after atomic → granular an owner of the whole keeps it until the next apply; after granular → atomic every
former owner of a part conflicts over the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity, Subject
from applyviz.engine.hazards.walking import metadata_of, root_of
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import ListType, MapType, Node


def _is_granular(node: Node) -> bool | None:
    if node.type == "array":
        return node.list_type in (ListType.MAP, ListType.SET)
    if node.type == "object" and (node.properties or node.additional is not None):
        return node.map_type is not MapType.ATOMIC
    return None


def _below(node: Node, element: str) -> Node | None:
    return node.child(str(element_value(element))) if element[0] == "f" else node.items


def _changed(trie: JSONObject, node: Node | None, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if node is None:
        return
    parts = [element for element in trie if element != "."]
    is_granular = _is_granular(node)
    if path and parts and is_granular is False:
        yield path, "granular to atomic"
        return
    for element in parts:
        below = trie[element]
        if isinstance(below, Mapping):
            yield from _changed(below, _below(node, element), (*path, element))


def find(subject: Subject) -> Iterator[Hazard]:
    """Owned parts of what the schema now takes as one."""
    entries = metadata_of(subject.live).get("managedFields")
    if subject.kind is None or not subject.kind.is_custom or not isinstance(entries, list):
        return
    told: set[FieldPath] = set()
    for entry in entries:
        for path, change in _changed(entry.get("fieldsV1") or {}, root_of(subject), ()):
            if path in told:
                continue
            told.add(path)
            facts = {"change": change, "manager": str(entry.get("manager"))}
            yield Hazard(HazardKind.TOPOLOGY_CHANGED, Severity.WARNING, path, facts)
