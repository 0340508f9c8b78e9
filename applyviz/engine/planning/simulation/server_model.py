"""The interface of a server model: an API server that needs no cluster, for writes that no dry run answers.

The merge alone does not determine the object after apply: the server fills in defaults, omits empty or zero values, and
refuses what breaks its rules. The model is injected through `PlanningContext.server`, so that the engine imports no
room above it.
"""

from __future__ import annotations

from typing import Protocol

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import KindSchema, Resource


class ServerModel(Protocol):
    """Answers one write to one object as an API server would, without any server."""

    def answer(
        self,
        request: Request,
        live: JSONObject | None,
        *,
        kind: KindSchema,
        resource: Resource,
        now: str,
        namespace: JSONObject | None = None,
    ) -> Answer | None:
        """Return the answer to `request` if the server holds `live` (None: nothing) in `namespace` (None: unknown).

        - None if the model knows too little about the kind.
        - Values that only a real server can choose (uid, allocated addresses) are left out of the object.
        """
        ...
