"""Find the fields that the schema of a custom kind calls passwords.

Rule: `format: password` (https://swagger.io/docs/specification/v3_0/data-models/data-types/#format), at any depth: in
list entries, map values, and the schemas that `allOf`, `anyOf` and `oneOf` combine. The API server validates nothing by
it and publishes it as it is written. A field counts if any version of the kind calls it so: versions are converted into
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.nodes import SchemaNode

ANY = "*"
"""The step of a path that stands for every entry of a list or map."""

PasswordPath: TypeAlias = tuple[str, ...]
_FORMAT = "password"
_COMBINED = ("allOf", "anyOf", "oneOf")


def _find_in_schema(schema: JSONObject, path: PasswordPath) -> Iterator[PasswordPath]:
    """Yield the paths of one schema that another one combines; it refers to no definition."""
    if schema.get("format") == _FORMAT:
        yield path
    properties = schema.get("properties")
    for name, below in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(below, Mapping):
            yield from _find_in_schema(below, (*path, name))
    for holder in ("items", "additionalProperties"):
        if isinstance(below := schema.get(holder), Mapping):
            yield from _find_in_schema(below, (*path, ANY))
    yield from _find_combined(schema, path)


def _find_combined(schema: JSONObject, path: PasswordPath) -> Iterator[PasswordPath]:
    for holder in _COMBINED:
        combined = schema.get(holder)
        for one in combined if isinstance(combined, list) else ():
            if isinstance(one, Mapping):
                yield from _find_in_schema(one, path)


def _find_in_node(node: SchemaNode, path: PasswordPath, within: frozenset[str]) -> Iterator[PasswordPath]:
    if node.definition in within:  # a definition that refers to itself
        return
    within |= {node.definition} if node.definition else frozenset()
    if node.format == _FORMAT:
        yield path
    for name, below in node.properties.items():
        yield from _find_in_node(below, (*path, name), within)
    for entry in (node.items, node.additional):
        if entry is not None:
            yield from _find_in_node(entry, (*path, ANY), within)
    yield from _find_combined((node.target or node).raw, path)


def list_passwords(kind: KindSchema | None) -> tuple[PasswordPath, ...]:
    """Return the path of every password in the schema of a custom kind; () for a built-in kind, which has none."""
    if kind is None or not kind.is_custom:
        return ()
    roots = (kind.root, *kind.version_roots.values())
    found = (path for root in roots if isinstance(root, SchemaNode) for path in _find_in_node(root, (), frozenset()))
    return tuple(dict.fromkeys(path for path in found if path))
