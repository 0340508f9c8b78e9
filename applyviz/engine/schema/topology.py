"""The view of server-side apply on a schema: which values are one leaf, and how list entries are named.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy. A node may allow several forms
(an untyped node takes scalars, lists and maps). Lists without a type are atomic, unless the patch strategy says merge;
maps without a type are granular; a value without a schema is a granular map with atomic lists. Fields and entries are
created on first use.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.paths import PathElement, key, render_value, value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.definitions import QUANTITY, RAW_EXTENSION
from applyviz.engine.schema.model import ListType, MapType
from applyviz.engine.schema.nodes import SchemaNode

NUMERIC, STRING, BOOLEAN, UNTYPED = "numeric", "string", "boolean", "untyped"
_SCALARS = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_MISSING = object()
# How many entry names a node caches, and how long they may be: lists of one kind repeat their names, and the cache
# must not keep a name of one megabyte that some client gave an entry.
_MOST_NAMES, _LONGEST_NAME = 1 << 14, 300


class ItemError(Exception):
    """A list entry that cannot be named; the text is the API server's."""


class _OmittedKey:
    """A key that an entry omits."""


_ABSENT = _OmittedKey()
# Keys of these types are distinguished by their values alone; True would equal 1.
_are_comparable = frozenset({str, int, _OmittedKey}).issuperset


class _Children(dict[str, "Topology | None"]):
    """The nodes below a map by name, each created once; nodes of undeclared entries are not cached."""

    __slots__ = ("_topology",)

    def __init__(self, topology: Topology) -> None:
        super().__init__()
        self._topology = topology

    def __missing__(self, name: str) -> Topology | None:
        found = self._topology.find_field(name)
        if found is None:
            return self._topology.entry
        self[name] = found
        return found


class Topology:
    """One node: the forms it allows, and how its map entries and list entries are managed.

    - `scalar`: the scalar form allowed here, "" for none; `is_map`, `is_list`: whether those forms are allowed.
    - `is_atomic_map`, `is_atomic_list`: the value is owned as a whole.
    - `children[name]`: the node of a map entry, declared or not, None if the entry is not allowed.
    - `keys`: names of the key fields of a map list, sorted; () for sets and atomic lists.
    - `takes_anything`: any value is valid here, however deep.
    - `is_free_form`: a map without declared fields that accepts anything (topology changes do not affect it).
    """

    __slots__ = (
        "_defaults",
        "_entry",
        "_fields",
        "_item",
        "_names",
        "_node",
        "_only_key",
        "children",
        "is_atomic_list",
        "is_atomic_map",
        "is_list",
        "is_map",
        "is_quantity",
        "keys",
        "ordered_keys",
        "scalar",
        "takes_anything",
    )

    def __init__(self, node: SchemaNode | None) -> None:
        self._node = node
        self._fields: dict[str, Topology | None] = {}
        self.children = _Children(self)
        self._entry: object = _MISSING
        self._item: object = _MISSING
        self._defaults: dict[str, JSONValue] | None = None
        self.takes_anything = self.is_quantity = False
        self.scalar = ""
        self.is_map = self.is_list = False
        self.is_atomic_map, self.is_atomic_list = False, True
        self.ordered_keys: tuple[str, ...] = ()
        if node is not None:
            self._read_forms(node)
            self._read_relations(node)
        self.keys: tuple[str, ...] = tuple(sorted(self.ordered_keys))
        self._only_key = self.keys[0] if len(self.keys) == 1 else ""
        self._names: dict[JSONValue, PathElement] = {}

    def _read_forms(self, node: SchemaNode) -> None:
        if node.definition == QUANTITY:
            self.scalar, self.is_quantity = UNTYPED, True
            return
        form = node.type
        if form == "string":
            self.scalar = STRING if node.format in ("", "byte") else UNTYPED
        elif form in _SCALARS:
            self.scalar = _SCALARS[form]
        elif form in ("object", "array"):
            self.is_map, self.is_list = form == "object", form == "array"
        else:
            self.scalar, self.is_map, self.is_list = UNTYPED, True, True

    def _read_relations(self, node: SchemaNode) -> None:
        self.is_atomic_map = node.map_type is MapType.ATOMIC
        if node.list_type is not None:
            self.is_atomic_list = node.list_type is ListType.ATOMIC
            self.ordered_keys = node.list_map_keys if node.list_type is ListType.MAP else ()
        elif "merge" in node.patch_strategy:
            self.is_atomic_list = False
            self.ordered_keys = (node.patch_merge_key,) if node.patch_merge_key else ()

    @property
    def entry(self) -> Topology | None:
        """The node of map entries that are not declared fields; None if they are not allowed."""
        if self._entry is _MISSING:
            self._entry = self._find_entry()
        return self._entry  # type: ignore[return-value]  # the marker has just been replaced

    def _find_entry(self) -> Topology | None:
        node = self._node
        if node is None:
            return self
        if node.additional is not None:
            return of(node.additional)
        if node.closes_fields is not None:
            return None if node.closes_fields else DEDUCED
        inner = node.target or node
        return DEDUCED if inner.allows_unknown or not node.properties else None

    @property
    def item(self) -> Topology:
        """The node of list entries."""
        if self._item is _MISSING:
            items = self._node.items if self._node is not None else None
            self._item = of(items) if items is not None else ATOMIC
        return self._item  # type: ignore[return-value]  # the marker has just been replaced

    def find_field(self, name: str) -> Topology | None:
        """Return the node of a declared field, None if it is not declared."""
        try:
            return self._fields[name]
        except KeyError:
            node = self._node.properties.get(name) if self._node is not None else None
            found = self._fields[name] = of(node) if node is not None else None
            return found

    def child(self, name: str) -> Topology | None:
        """Return the node of a map entry, declared or not."""
        return self.children[name]

    @property
    def is_base64(self) -> bool:
        """Whether a text is base64, which the server stores without line breaks."""
        return self._node is not None and self._node.format == "byte"

    @property
    def is_free_form(self) -> bool:
        """Whether no field is declared and entries are untyped."""
        if not self.is_map or (self._node is not None and self._node.properties):
            return False
        entry = self.entry
        if self._node is None or entry is None or entry is DEDUCED:
            return entry is DEDUCED
        return entry.scalar == UNTYPED and not self._is_named_entry()

    def _is_named_entry(self) -> bool:
        return bool(self._node is not None and self._node.additional and self._node.additional.definition)

    def _key_default(self, name: str) -> JSONValue:
        if self._defaults is None:
            properties = self._node.items.properties if self._node is not None and self._node.items else {}
            self._defaults = {k: properties[k].default for k in self.keys if k in properties}
        return self._defaults.get(name)

    def name_item(self, item: JSONValue) -> PathElement:
        """Return the path element of an entry of a set or map list.

        - Raises `ItemError` if the entry cannot be named.
        """
        if type(item) is not dict or not self.keys:
            return self._name(item)
        if self._only_key:
            keys = item.get(self._only_key)
            if type(keys) is not str:
                return self._name(item)
        else:
            keys = tuple([item.get(name, _ABSENT) for name in self.keys])
            if not _are_comparable(map(type, keys)):
                return self._name(item)
        found = self._names.get(keys)
        if found is None:
            found = self._name(item)
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            if len(found) <= _LONGEST_NAME:
                self._names[keys] = found
        return found

    def _name(self, item: JSONValue) -> PathElement:
        if self.keys:
            return self._name_by_keys(item)
        if isinstance(item, dict):
            raise ItemError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise ItemError("not supported: associative list with lists as elements")
        if item is None:
            raise ItemError("associative list without keys has an element that's an explicit null")
        return value(item)

    def print_item(self, item: Any) -> str:
        """Return the name of an entry in messages: `[port=80,protocol="TCP"]`, numbers in their spelling."""
        if not self.keys:
            return f"[={render_value(item)}]"
        return "[" + ",".join(f"{k}={render_value(v)}" for k, v in self._find_keys(item).items()) + "]"

    def _name_by_keys(self, item: JSONValue) -> PathElement:
        if item is None:
            raise ItemError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise ItemError("associative list with keys may not have non-map elements")
        return self._name_by_all_keys(item)

    def _find_keys(self, item: dict[str, JSONValue]) -> dict[str, JSONValue]:
        named = {}
        for name in self.keys:
            if name in item:
                named[name] = item[name]
            elif (default := self._key_default(name)) is not None:
                named[name] = default
        return named

    def _name_by_all_keys(self, item: dict[str, JSONValue]) -> PathElement:
        named = self._find_keys(item)
        if not named:
            listed = " ".join(map(quote, self.ordered_keys))
            raise ItemError(
                f"associative list with keys has an element that omits all key fields [{listed}]"
                " (and doesn't have default values for any key fields)"
            )
        return key(named)


def _make_untyped(is_atomic: bool) -> Topology:
    topology = Topology(None)
    topology.scalar, topology.is_map, topology.is_list = UNTYPED, True, True
    topology.is_atomic_map = is_atomic
    topology.takes_anything = True
    return topology


ATOMIC = _make_untyped(is_atomic=True)
DEDUCED = _make_untyped(is_atomic=False)


def of(node: SchemaNode) -> Topology:
    """Return the topology of a node; nodes that refer to one definition share it."""
    if node.definition == RAW_EXTENSION:
        return ATOMIC
    own_map_type = node.own_map_type
    target = node.target
    if target is not None and node.definition != QUANTITY and own_map_type is None:
        return of(target)
    found = node.topology
    if not isinstance(found, Topology):
        found = node.topology = Topology(node)
    return found


def of_root(node: object) -> Topology:
    """Return the topology of a whole object; a kind without a schema accepts anything.

    - Raises `SchemaError` for other implementations of `Node`.
    """
    if node is None:
        return DEDUCED
    if not isinstance(node, SchemaNode):
        raise SchemaError(f"expected a schema node, got {type(node).__name__}")
    return of(node)
