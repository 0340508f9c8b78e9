"""The stored graph and owners of a plan, and one reader's view of them.

They are kept packed in the summary: lists of plans load summaries and need neither. What they say of the content of a
Secret is left out for readers who may not read that Secret (`live_values`).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import Any
from zlib import compress, decompress

from applyviz.engine.objects.values import canonical_json
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.engine.planning.model.owner_map import ObjectOwners, OwnerMap
from applyviz.records.models import Plan
from applyviz.workflow.plans import live_values

_GRAPH, _OWNERS = "graph", "owners"


def _pack(value: Any) -> str:
    return b64encode(compress(canonical_json(to_json(value)).encode())).decode()


def _unpack(wanted: Any, kept: str) -> Any:
    return from_json(wanted, json.loads(decompress(b64decode(kept))))


def keep_graph(graph: PlanGraph) -> dict[str, Any]:
    """Return the graph of a plan for its summary."""
    return {_GRAPH: _pack(graph)}


def keep_owners(owners: OwnerMap) -> dict[str, Any]:
    """Return the owners of the objects of a plan for its summary."""
    return {_OWNERS: _pack(owners)}


def read_owners(plan: Plan) -> OwnerMap | None:
    """The owners of the objects of a plan that was loaded for a reader; None of a plan that has none yet.

    - Omits hidden Secrets: their owners depend on how the manifest compares with live.
    """
    kept = plan.summary.get(_OWNERS)
    if not kept:
        return None
    found: OwnerMap = _unpack(OwnerMap, kept)
    hidden = live_values.hidden_positions(plan)
    return OwnerMap(tuple(ObjectOwners() if n in hidden else one for n, one in enumerate(found.objects)))


def read_graph(plan: Plan) -> PlanGraph | None:
    """Return the graph of a plan that was loaded for a reader; None of a plan that has none yet.

    - Omits the facts of hidden Secrets, and whether pods keep an old value.
    """
    kept = plan.summary.get(_GRAPH)
    if not kept:
        return None
    graph: PlanGraph = _unpack(PlanGraph, kept)
    hidden = live_values.hidden_positions(plan)
    if not hidden:
        return graph
    nodes = tuple(replace(node, facts={}) if node.position in hidden else node for node in graph.nodes)
    edges = tuple(replace(e, is_stale=e.is_stale and nodes[e.target].position not in hidden) for e in graph.edges)
    return PlanGraph(nodes, edges)
