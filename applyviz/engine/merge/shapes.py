"""Look up the merge rules of maps and lists in a schema for strategic merge patches.

kubectl tries three sources, and each looks up a field differently: the OpenAPI v3 document (declared properties only),
the OpenAPI v2 document (strict about types, lenient about unknown fields) and the Go type (field names are
case-insensitive). Rule:
https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/ (patch strategy and merge
key). Failed lookups raise `PatchError`, as they do in kubectl. A Go pointer accepts a list of any element type; no
document says which fields are pointers, so they are separate data.
"""

from __future__ import annotations

from typing import NamedTuple

from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.golang import quote
from applyviz.engine.schema.builtin import takes_list
from applyviz.engine.schema.model import Node

RETAIN_KEYS = "retainKeys"
MERGE = "merge"
REPLACE = "replace"


class Rule(NamedTuple):
    """The merge rule of one field: the shape below it, `retainKeys`, the strategy ("": default), the merge key."""

    shape: PatchShape
    retains_keys: bool
    strategy: str
    merge_key: str


class PatchShape:
    """The lookup in OpenAPI v3: declared properties of the node, whatever their type."""

    __slots__ = ("_lists", "_maps", "node")

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self._maps: dict[str, Rule] = {}
        self._lists: dict[str, Rule] = {}

    @property
    def name(self) -> str:
        """The name of the type in error messages."""
        return (self.node.type if self.node is not None else "") or "Struct"

    def map_rule(self, key: str) -> Rule:
        """Return the rule of a map below `key`; its shape is that of the map's fields."""
        rule = self._maps.get(key)
        if rule is None:
            rule = self._maps[key] = self._find_map(key)
        return rule

    def list_rule(self, key: str) -> Rule:
        """Return the rule of a list below `key`; its shape is that of the list's entries."""
        rule = self._lists.get(key)
        if rule is None:
            rule = self._lists[key] = self._find_list(key)
        return rule

    def _field(self, key: str) -> Node:
        node = self.node
        found = node.child(key) if node is not None and node.has_field(key) else None
        if found is None:
            raise PatchError(f'unable to find api field "{key}"')
        return found

    def _find_map(self, key: str) -> Rule:
        field = self._field(key)
        return _rule(field, type(self)(field))

    def _find_list(self, key: str) -> Rule:
        field = self._field(key)
        return _rule(field, type(self)(field.items if field.items is not None else field))


def _rule(field: Node, shape: PatchShape) -> Rule:
    strategies = field.patch_strategy
    others = [s for s in strategies if s != RETAIN_KEYS]
    retains_keys = len(others) < len(strategies)
    if len(strategies) > 2 or len(others) > 1:
        raise PatchError(f"unexpected patch strategy: [{' '.join(strategies)}]")
    return Rule(shape, retains_keys, others[0] if others else "", field.patch_merge_key)


class OpenAPIv2Shape(PatchShape):
    """The lookup in OpenAPI v2: a map must be an object with fields, a list an array; unknown parts pass."""

    __slots__ = ()

    def _is_arbitrary(self) -> bool:
        node = self.node
        return node is None or not (node.type or node.properties)

    def _field(self, key: str) -> Node:
        node = self.node
        if node is None or not node.properties:
            kind = {"array": "slice", "object": "map"}.get(node.type if node is not None else "", "primitive")
            raise PatchError(f"expected kind, but got {kind}")
        found = node.child(key) if node.has_field(key) else None
        if found is None:
            raise PatchError(f'field "{key}" does not exist')
        return found

    def _find_map(self, key: str) -> Rule:
        if self._is_arbitrary():
            return Rule(OpenAPIv2Shape(None), False, "", "")
        return super()._find_map(key)

    def _find_list(self, key: str) -> Rule:
        if self._is_arbitrary():
            return Rule(OpenAPIv2Shape(None), False, "", "")
        field = self._field(key)
        if field.type == "array":
            return _rule(field, OpenAPIv2Shape(field.items))
        if field.type or field.properties:
            raise PatchError(f"expected slice, but got {'map' if field.type == 'object' else 'primitive'}")
        return _rule(field, OpenAPIv2Shape(None))


class GoTypeShape(PatchShape):
    """The lookup in Go types: only structs have fields; field names are case-insensitive."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind of the Go type in error messages."""
        node = self.node
        if node is None or node.properties:
            return "struct"
        return {"array": "slice", "object": "map"}.get(node.type, node.type or "struct")

    def _find(self, key: str) -> tuple[str, Node]:
        """Return a field and its exact name; the key may differ in case."""
        node = self.node
        if node is None or not node.properties:
            kind = {"array": "slice", "object": "map"}.get(node.type if node is not None else "", "string")
            raise PatchError(f"merging an object in json but data type is not struct, instead is: {kind}")
        folded = key.casefold()
        name = key if node.has_field(key) else next((n for n in node.properties if n.casefold() == folded), "")
        field = node.child(name) if name else None
        if field is None:
            struct = (node.definition or "").rpartition(".")[2]
            raise PatchError(f"unable to find api field in struct {struct} for the json field {quote(key)}")
        return name, field

    def _field(self, key: str) -> Node:
        return self._find(key)[1]

    def _find_list(self, key: str) -> Rule:
        name, field = self._find(key)
        if field.type != "array":
            if not takes_list(self.node.definition if self.node is not None else "", name):
                raise PatchError("expected slice or array type, but got: struct")
            return _rule(field, GoTypeShape(field))
        if field.items is not None and field.items.type == "array":
            raise PatchError("unexpected slice of slice")
        return _rule(field, GoTypeShape(field.items))
