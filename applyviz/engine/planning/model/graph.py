"""The graph of a plan as data: its objects, their neighbors, and the references between them.

It holds names, places, keys and counts, and of Secrets the names of entries; no value of any object.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from applyviz.engine.references.model import Key, ReadMode, ReferenceKind
from applyviz.engine.references.resolving import EdgeState


class GraphNode(Struct, frozen=True):
    """One object; `position` is its place in the plan, -1 of a live neighbor and of what is not there.

    - `is_missing`: nothing has this name, or no pod these labels; `is_seen`: it is in the plan or was read.
    """

    group: str
    kind: str
    namespace: str
    name: str
    position: int = -1
    is_missing: bool = False
    is_seen: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """Return the identity of the object."""
        return (self.group, self.kind, self.namespace, self.name)


class GraphEdge(Struct, frozen=True):
    """One reference between two nodes, by their numbers.

    - `is_new`: the live object does not have it; `is_stale`: running pods keep an old value of what they read.
    """

    source: int
    target: int
    kind: ReferenceKind
    path: str
    key: str = ""
    mode: ReadMode = ReadMode.NONE
    state: EdgeState = EdgeState.EXISTS
    detail: str = ""
    is_new: bool = False
    is_stale: bool = False
    is_optional: bool = False


class PlanGraph(Struct, frozen=True):
    """All nodes and edges of a plan: its objects first, in their order."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
