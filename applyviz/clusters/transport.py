"""The transport of requests to a cluster: the interface that live clusters, sandboxes and test fakes share."""

from __future__ import annotations

from typing import Protocol

from applyviz.clusters.identity import Identity
from applyviz.engine.objects.exchange import Answer, Request


class Transport(Protocol):
    """Carries one request; raises `ClusterError` if no usable answer came.

    - An API server's refusal (4xx, 5xx with a `Status`) is an answer, not an error.
    - Several threads may use it at once.
    """

    def send(self, request: Request) -> Answer: ...

    def acting_as(self, identity: Identity) -> Transport:
        """Return the same connection with every request impersonating this identity."""

    def close(self) -> None: ...
