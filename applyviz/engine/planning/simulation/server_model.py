"""What planning asks where no dry run answers: an API server that needs no cluster.

The merge alone does not tell what an apply leaves behind: the server fills in defaults, leaves out what is empty or
zero, and refuses what breaks its rules. The model is injected through `PlanContext.server`, so that the engine needs
no room above it.
"""

from __future__ import annotations

from typing import Protocol

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import KindSchema, Resource


class ServerModel(Protocol):
    """Answers one write to one object as an API server would, without any server."""

    def answer(
        self, request: Request, live: JSONObject | None, *, kind: KindSchema, resource: Resource, now: str
    ) -> Answer | None:
        """Return the answer to `request` when `live` is what the server holds (None: nothing).

        - None when the model does not know the kind well enough to tell.
        - What only a real server can choose (uid, allocated addresses) is left out of the object.
        """
        ...
