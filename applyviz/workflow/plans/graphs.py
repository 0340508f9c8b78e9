"""The graph of a plan as it is kept with the plan, and as one reader sees it.

It is kept packed in the summary: lists of plans load summaries and need no graph. What it says of the content of a
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
from applyviz.records.models import Plan
from applyviz.workflow.plans import live_values

_KEY = "graph"


def keep_graph(graph: PlanGraph) -> dict[str, Any]:
    """What the summary of a plan keeps of its graph."""
    return {_KEY: b64encode(compress(canonical_json(to_json(graph)).encode())).decode()}


def read_graph(plan: Plan) -> PlanGraph | None:
    """Return the graph of a plan that was loaded for a reader; None of a plan that has none yet.

    - Of hidden Secrets neither facts are told nor whether pods keep an old value.
    """
    kept = plan.summary.get(_KEY)
    if not kept:
        return None
    graph: PlanGraph = from_json(PlanGraph, json.loads(decompress(b64decode(kept))))
    hidden = live_values.hidden_positions(plan)
    if not hidden:
        return graph
    nodes = tuple(replace(node, facts={}) if node.position in hidden else node for node in graph.nodes)
    edges = tuple(replace(e, is_stale=e.is_stale and nodes[e.target].position not in hidden) for e in graph.edges)
    return PlanGraph(nodes, edges)
