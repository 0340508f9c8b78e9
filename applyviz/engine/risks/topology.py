"""A list or map is owned in another shape than its schema has now.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-topology-changes: after
atomic → granular an owner of the whole keeps it until the next apply; after granular → atomic every former owner of a
part conflicts over the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import metadata_of, root_of
from applyviz.engine.schema.model import ListType, MapType, Node
from applyviz.engine.schema.walk import MISSING, find_value

TO_ATOMIC, TO_GRANULAR = "granular to atomic", "atomic to granular"


def _describe_topology(f: Facts) -> Templates:
    outcome = {
        "granular to atomic": "managers that own parts of it now conflict over the whole",
        "atomic to granular": "removed entries are kept, and other managers can add entries",
    }
    return ("{manager} owns this under an older schema ({change}): " + outcome[f["change"]] + ".",)


TOPOLOGY_CHANGED = RiskKind("topology-changed", "Schema changed since the last apply", _describe_topology)


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
        yield path, TO_ATOMIC
        return
    if path and not trie and is_granular:
        yield path, TO_GRANULAR
    for element in parts:
        below = trie[element]
        if isinstance(below, Mapping):
            yield from _changed(below, _below(node, element), (*path, element))


def _find_part(trie: JSONValue, path: FieldPath) -> JSONObject:
    """Return the part of an entry below a path, {} if none."""
    for element in path:
        trie = trie.get(element) if isinstance(trie, Mapping) else None
    return trie if isinstance(trie, Mapping) else {}


def _is_divided(tries: Iterable[JSONObject], path: FieldPath) -> bool:
    """Return whether any manager owns a part of the value at the path."""
    return any(_find_part(trie, path) for trie in tries)


@rule(230)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield owned parts of values that are now atomic, and owned wholes of values that are now granular.

    - A whole that is empty, or of which others own parts, is no evidence of an older shape.
    """
    entries = metadata_of(subject.live).get("managedFields")
    if subject.kind is None or not subject.kind.is_custom or not isinstance(entries, list):
        return
    reported: set[FieldPath] = set()
    tries = [entry.get("fieldsV1") or {} for entry in entries]
    for entry, trie in zip(entries, tries, strict=True):
        for path, change in _changed(trie, root_of(subject), ()):
            is_shaped_so = change == TO_GRANULAR and (
                _is_divided(tries, path) or find_value(root_of(subject), subject.live, path) in (MISSING, {}, [], None)
            )
            if path in reported or is_shaped_so:
                continue
            reported.add(path)
            yield TOPOLOGY_CHANGED.at(path, {"change": change, "manager": str(entry.get("manager"))})
