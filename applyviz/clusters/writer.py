"""The one writer: the only module that sends a request that changes a cluster.

Only the apply runs may import it (a contract in `pyproject.toml`). It checks that the request has no placeholder left,
because what is sent must be what was approved.
"""

from __future__ import annotations

from applyviz.clusters.transport import Transport
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request


class ClusterWriter:
    """Sends the writes of approved runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, request: Request) -> Answer:
        """Send one write; raises `ClusterError` if no answer came (the server may have carried it out)."""
        if request.placeholders:
            raise ClusterError(f"a template was not filled: {request.method} {request.path} was not sent")
        return self._transport.send(request)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()
