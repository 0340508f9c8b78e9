"""The one writer: the only place where a request that changes a cluster is sent.

Only the apply runs may import it (a contract in `pyproject.toml`). It checks that nothing is left open in
the request, because what is sent must be what was approved.
"""

from __future__ import annotations

from applyviz.clusters.transport import Transport
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request


class ClusterWriter:
    """Sends writes of approved runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, request: Request) -> Answer:
        """Send one write; raises `ClusterError` when no answer came (it may have been carried out)."""
        if request.placeholders:
            raise ClusterError(f"a template was not filled: {request.method} {request.path} was not sent")
        return self._transport.send(request)

    def close(self) -> None:
        """Give connections back."""
        self._transport.close()
