"""How a request reaches a cluster: the seam that live clusters, sandboxes and tests' fakes share."""

from __future__ import annotations

from typing import Protocol

from applyviz.clusters.identity import Identity
from applyviz.engine.objects.exchange import Answer, Request


class Transport(Protocol):
    """Carries one request; raises `ClusterError` when no usable answer came.

    - An API server's refusal (4xx, 5xx with a `Status`) is an answer, not an error.
    - May be used by several threads at once.
    """

    def send(self, request: Request) -> Answer: ...

    def acting_as(self, identity: Identity) -> Transport:
        """Return the same connection, whose every request goes out as this identity."""

    def close(self) -> None: ...
