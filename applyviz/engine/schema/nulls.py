"""Find the nulls of a custom resource that an update drops, although a server-side apply keeps and validates them.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable.
The server prunes nulls of fields that are not nullable while it decodes an object; the result of an apply is decoded
before it is merged.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node


def has_dropped_null(value: JSONValue, node: Node | None) -> bool:
    """Return whether a value holds a null, at any depth, in a field that its schema knows and that is not nullable."""
    if node is None:
        return False
    if isinstance(value, Mapping):
        children = ((entry, node.child(name)) for name, entry in value.items())
        return any(
            child is not None and (not child.is_nullable if entry is None else has_dropped_null(entry, child))
            for entry, child in children
        )
    return isinstance(value, list) and any(has_dropped_null(item, node.items) for item in value)
