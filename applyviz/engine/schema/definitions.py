"""Named definitions and their nodes: each definition becomes a node on first use.

`overrides` replaces definitions by name: OpenAPI v2 differs from v3 in only two that matter to a merge (Quantity and
IntOrString are plain strings there).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.nodes import SchemaNode

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

OPENAPI_V2_OVERRIDES: Mapping[str, JSONObject] = {
    QUANTITY: {"type": "string"},
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
}


class DefinitionSet:
    """Nodes of named definitions; `find_raw` returns the schema object of a name or None."""

    def __init__(
        self, find_raw: Callable[[str], JSONObject | None], overrides: Mapping[str, JSONObject] | None = None
    ) -> None:
        self._find_raw = find_raw
        self._overrides = overrides or {}
        self._nodes: dict[str, SchemaNode] = {}
        self._open: set[str] = set()

    def find_node(self, name: str) -> SchemaNode | None:
        """Return the node of a definition, None if there is none."""
        node = self._nodes.get(name)
        if node is None:
            raw = self._overrides.get(name) or self._find_raw(name)
            if raw is None:
                return None
            if name in self._open:
                raise SchemaError(f"definition {name}: refers to itself")
            self._open.add(name)
            node = self._nodes[name] = SchemaNode(raw, self)
            node.definition = node.definition or name
            self._open.discard(name)
        return node

    def get_node(self, name: str) -> SchemaNode:
        """Return the node of a definition.

        - Raises `SchemaError` if no document contains it.
        """
        node = self.find_node(name)
        if node is None:
            raise SchemaError(f"definition {name}: referred to, but in no document")
        return node
