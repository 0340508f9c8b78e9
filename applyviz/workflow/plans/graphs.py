"""The graph of a plan as it is kept with the plan: packed, because lists of plans load summaries and need no graph."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from zlib import compress

from applyviz.engine.objects.values import canonical_json
from applyviz.engine.planning.digest.serialize import to_json
from applyviz.engine.planning.model.graph import PlanGraph

_KEY = "graph"


def keep_graph(graph: PlanGraph) -> dict[str, Any]:
    """What the summary of a plan keeps of its graph."""
    return {_KEY: b64encode(compress(canonical_json(to_json(graph)).encode())).decode()}
