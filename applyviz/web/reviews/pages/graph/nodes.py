"""The nodes of a graph as a reader may see them: the object, what happens to it, and where it belongs.

Columns say what an object is for: traffic, Services, workloads, configuration and storage, identity. Objects that
scale, protect or limit a workload are docked at it. All other objects are listed below the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.graph import GraphEdge, GraphNode, PlanGraph
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.references.model import ReferenceKind
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.models import ObjectChange

WORKLOAD = 2
_WIDE = 6
_COLUMNS = {
    0: ("Ingress", "Gateway", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "APIService",
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    1: ("Service",),
    WORKLOAD: ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Pod", "Job",
               "CronJob"),
    3: ("ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"),
    4: ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "RuntimeClass"),
}  # fmt: skip
_COLUMN_OF = {kind: column for column, kinds in _COLUMNS.items() for kind in kinds}
_READS = frozenset((ReferenceKind.CONFIGURATION, ReferenceKind.ACCOUNT))
DOCKING = frozenset((ReferenceKind.SCALE_TARGET, ReferenceKind.DISRUPTION_BUDGET, ReferenceKind.NETWORK_POLICY))
_QUIET = (Operation.UNCHANGED, Operation.WITHHELD)
_UNRATED = (Operation.UNCHANGED, Operation.ERROR, Operation.LEFT_OUT, Operation.WITHHELD)


class ShownNode(Struct, frozen=True):
    """One node; `number` is its place in the graph.

    - `operation`: None of a live neighbor, of what is missing and of a group; `column`: None below the picture.
    - `count`: how many objects a group or a fold stands for; `names` are some of them, `members` all their numbers.
    """

    number: int
    node: GraphNode
    operation: Operation | None = None
    risk: RiskLevel | None = None
    column: int | None = None
    dock_of: int | None = None
    count: int = 0
    names: tuple[str, ...] = ()
    members: tuple[int, ...] = ()

    @property
    def is_calm(self) -> bool:
        """Whether the plan does not change the object."""
        return not self.node.is_missing and self.count == 0 and (self.operation is None or self.operation in _QUIET)


def _rate(row: ObjectChange, operation: Operation) -> RiskLevel | None:
    if not row.highest_risk or operation in _UNRATED:
        return None
    level = RiskLevel(row.highest_risk)
    return None if level is RiskLevel.INFO else level


def _find_docks(graph: PlanGraph) -> dict[int, int]:
    """The node at which each docked one stands: the first that it holds for."""
    found: dict[int, int] = {}
    wide = find_wide_policies(graph)
    for edge in graph.edges:
        if edge.kind in DOCKING and graph.nodes[edge.target].name and edge.source not in wide:
            found.setdefault(edge.source, edge.target)
    return found


def find_wide_policies(graph: PlanGraph) -> dict[int, int]:
    """The network policies of the plan for many workloads, with their number; 0 of those for every pod.

    - Docked at each workload they would say nothing more.
    """
    targets: dict[int, set[int]] = {}
    for edge in graph.edges:
        if edge.kind is ReferenceKind.NETWORK_POLICY:
            targets.setdefault(edge.source, set()).add(edge.target)
    policies = (n for n, node in enumerate(graph.nodes) if node.kind == "NetworkPolicy" and node.position >= 0)
    return {n: len(targets.get(n, ())) for n in policies if n not in targets or len(targets[n]) >= _WIDE}


def list_nodes(graph: PlanGraph, rows: Sequence[ObjectChange]) -> list[ShownNode]:
    """All nodes of a graph; `rows` are the changes as the reader may see them."""
    by_position = {row.position: row for row in rows}
    readers = {edge.source for edge in graph.edges if edge.kind in _READS}
    docks = _find_docks(graph)
    found = []
    for number, node in enumerate(graph.nodes):
        column = _COLUMN_OF.get(node.kind, WORKLOAD if number in readers else None)
        shown = ShownNode(number, node, column=column, dock_of=docks.get(number))
        row = by_position.get(node.position)
        if row is not None:
            operation = Operation(row.operation)
            shown = replace(shown, operation=operation, risk=_rate(row, operation))
        found.append(shown)
    return found


class NodeNames:
    """Names of nodes for addresses: kind and name where they are enough, else with group and namespace."""

    def __init__(self, nodes: Sequence[ShownNode]) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        for shown in nodes:
            node = shown.node
            short = f"{node.kind}/{node.name}".lower()
            whole = f"{node.kind}.{node.group}/{node.namespace}/{node.name}".lower()
            name = whole if short in self._numbers or not node.name else short
            self._numbers.setdefault(name, shown.number)
            self._names[shown.number] = name

    def find(self, name: str) -> int | None:
        """The node of a name."""
        return self._numbers.get(name.lower())

    def search(self, text: str) -> int | None:
        """The first node whose name is a text, begins with it, or holds it, in this order."""
        text = text.lower()
        tests: tuple[Callable[[str], bool], ...] = (
            lambda name: text in (name, name.rpartition("/")[2]),
            lambda name: name.rpartition("/")[2].startswith(text),
            lambda name: text in name,
        )
        for test in tests if text else ():
            for name, number in self._numbers.items():
                if test(name):
                    return number
        return None

    def name(self, number: int) -> str:
        """The name of a node."""
        return self._names[number]


def find_reach(edges: Sequence[GraphEdge], start: int) -> set[int]:
    """The nodes up and down from one: what leads to it, and what it leads to."""
    found = {start}
    for is_down in (True, False):
        beside: dict[int, list[int]] = {}
        for edge in edges:
            source, target = (edge.source, edge.target) if is_down else (edge.target, edge.source)
            beside.setdefault(source, []).append(target)
        waiting, seen = [start], {start}
        while waiting:
            for number in beside.get(waiting.pop(), ()):
                if number not in seen:
                    seen.add(number)
                    waiting.append(number)
        found |= seen
    return found
