"""One node in the schema of a kind, from an OpenAPI definition or a CustomResourceDefinition.

Rule: OpenAPI v3 schema objects with Kubernetes extensions; a reference is a plain `$ref` or the only member of `allOf`,
and its siblings (description, default, map type) override the definition. References are followed when a node is
created, children on first use. Validation keywords other than type, format, enum and required are left out, because
they do not affect a merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.model import ListType, MapType

_NONE: JSONObject = {}
_MISSING = object()


class Definitions(Protocol):
    """Looks up the node of a named definition; raises `SchemaError` if there is none."""

    def get_node(self, name: str) -> SchemaNode: ...


def find_reference(raw: JSONObject) -> str:
    """Return the name of the definition that a schema object refers to, "" if it is inline."""
    reference = raw.get("$ref")
    if reference is None:
        every = raw.get("allOf")
        if isinstance(every, list) and len(every) == 1 and isinstance(every[0], Mapping):
            reference = every[0].get("$ref")
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def _read_choice(kind: type[ListType] | type[MapType], raw: JSONObject, key: str) -> Any:
    text = raw.get(key)
    if text is None:
        return None
    try:
        return kind(text)
    except ValueError:
        raise SchemaError(f"{key}: expected one of {', '.join(kind)}, got {text!r}") from None


def _texts(value: JSONValue) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list | tuple) else ()


class SchemaNode:
    """A `Node` over one schema object; see `model.Node` for its members."""

    __slots__ = (
        "_additional",
        "_children",
        "_definitions",
        "_is_complete",
        "_items",
        "_raw",
        "_target",
        "allows_unknown",
        "default",
        "definition",
        "description",
        "enum",
        "format",
        "has_default",
        "is_embedded_resource",
        "is_int_or_string",
        "is_nullable",
        "list_map_keys",
        "list_type",
        "map_type",
        "patch_merge_key",
        "patch_strategy",
        "preserves_unknown",
        "required",
        "topology",
        "type",
    )

    def __init__(self, raw: JSONObject, definitions: Definitions, *, allows_unknown: bool = False) -> None:
        self._raw = raw
        self._definitions = definitions
        self.topology: object = None  # cached here by `topology.of`, so that both have the same lifetime
        self._children: dict[str, SchemaNode] = {}
        self._is_complete = False
        self._items: Any = _MISSING
        self._additional: Any = _MISSING
        self.definition = find_reference(raw)
        target = definitions.get_node(self.definition) if self.definition else None
        self._target = target
        self.default: JSONValue = raw.get("default")
        self.has_default = "default" in raw
        self._read_shape(raw, target)
        self._read_extensions(raw, target)
        inherited = allows_unknown and target is None
        self.allows_unknown = inherited or self.preserves_unknown

    def _read_shape(self, raw: JSONObject, target: SchemaNode | None) -> None:
        types = raw.get("type", target.type if target else "")
        self.type: str = types[0] if isinstance(types, list) and types else types or ""
        self.format: str = raw.get("format", target.format if target else "") or ""
        self.description: str = raw.get("description", target.description if target else "") or ""
        self.enum: tuple[JSONValue, ...] = tuple(raw.get("enum") or (target.enum if target else ()))
        self.required: tuple[str, ...] = _texts(raw.get("required")) or (target.required if target else ())
        self.is_nullable: bool = raw.get("nullable", target.is_nullable if target else False) is True

    def _read_extensions(self, raw: JSONObject, target: SchemaNode | None) -> None:
        flag = raw.get
        self.list_type: ListType | None = _read_choice(ListType, raw, "x-kubernetes-list-type")
        self.map_type: MapType | None = _read_choice(MapType, raw, "x-kubernetes-map-type")
        self.list_map_keys = _texts(flag("x-kubernetes-list-map-keys"))
        strategy = flag("x-kubernetes-patch-strategy")
        self.patch_strategy: tuple[str, ...] = tuple(strategy.split(",")) if isinstance(strategy, str) else ()
        self.patch_merge_key: str = flag("x-kubernetes-patch-merge-key") or ""
        self.preserves_unknown = flag("x-kubernetes-preserve-unknown-fields") is True
        self.is_embedded_resource = flag("x-kubernetes-embedded-resource") is True
        self.is_int_or_string = flag("x-kubernetes-int-or-string") is True or self.format == "int-or-string"
        if target is not None:
            self.list_type = self.list_type or target.list_type
            self.map_type = self.map_type or target.map_type
            self.list_map_keys = self.list_map_keys or target.list_map_keys
            self.patch_strategy = self.patch_strategy or target.patch_strategy
            self.patch_merge_key = self.patch_merge_key or target.patch_merge_key
            self.preserves_unknown = self.preserves_unknown or target.preserves_unknown
            self.is_embedded_resource = self.is_embedded_resource or target.is_embedded_resource

    @property
    def raw(self) -> JSONObject:
        """The schema object itself, with the keywords that do not affect a merge."""
        return self._raw

    @property
    def target(self) -> SchemaNode | None:
        """The node of the referenced definition."""
        return self._target

    @property
    def own_map_type(self) -> MapType | None:
        """The map type stated beside the reference, which overrides that of the definition."""
        choice: MapType | None = _read_choice(MapType, self._raw, "x-kubernetes-map-type")
        return choice

    def _make(self, raw: JSONObject) -> SchemaNode:
        return SchemaNode(raw, self._definitions, allows_unknown=self.allows_unknown)

    def _raw_properties(self) -> JSONObject:
        properties = self._raw.get("properties")
        return properties if isinstance(properties, Mapping) else _NONE

    @property
    def properties(self) -> Mapping[str, SchemaNode]:
        """The declared fields, in the order of the schema, whichever was asked for before."""
        if self._target is not None:
            return self._target.properties
        if not self._is_complete:
            found = ((name, self._find_property(name)) for name in self._raw_properties())
            self._children = {name: node for name, node in found if node is not None}
            self._is_complete = True
        return self._children

    def _find_property(self, name: str) -> SchemaNode | None:
        node = self._children.get(name)
        if node is None:
            raw = self._raw_properties().get(name)
            if isinstance(raw, Mapping):
                node = self._children[name] = self._make(raw)
        return node

    @property
    def items(self) -> SchemaNode | None:
        """The schema of list entries."""
        if self._target is not None:
            return self._target.items
        if self._items is _MISSING:
            raw = self._raw.get("items")
            self._items = self._make(raw) if isinstance(raw, Mapping) else None
        node: SchemaNode | None = self._items
        return node

    @property
    def additional(self) -> SchemaNode | None:
        """The schema of entries that are not declared fields; None if there is none."""
        if self._target is not None:
            return self._target.additional
        if self._additional is _MISSING:
            raw = self._raw.get("additionalProperties")
            self._additional = self._make(raw) if isinstance(raw, Mapping) else None
        node: SchemaNode | None = self._additional
        return node

    @property
    def closes_fields(self) -> bool | None:
        """The negation of `additionalProperties` as a boolean: True forbids, False allows, None is unspecified."""
        if self._target is not None:
            return self._target.closes_fields
        raw = self._raw.get("additionalProperties")
        return (not raw) if isinstance(raw, bool) else None

    def child(self, name: str) -> SchemaNode | None:
        """Return the schema of a field or map entry, None if unknown."""
        if self._target is not None:
            return self._target.child(name)
        return self._find_property(name) or self.additional

    def has_field(self, name: str) -> bool:
        """Return whether a name is a declared property."""
        return self._target.has_field(name) if self._target is not None else name in self._raw_properties()
