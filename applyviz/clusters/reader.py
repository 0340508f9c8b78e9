"""The reader: every request of planning and pages to a cluster; it cannot write.

A dry run is a read: the server persists nothing. The reader refuses every other write, so that there is only one
writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from time import monotonic
from types import TracebackType
from typing import Self

from applyviz.clusters.read_log import ReadLog
from applyviz.clusters.server_clock import compare_clocks
from applyviz.clusters.transport import Transport
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request

_PARALLEL = 16


def is_harmless(request: Request) -> bool:
    """Return whether the server persists nothing: a read, or a dry run in the form that the server honors."""
    return not request.is_write or request.is_dry_run


class ClusterReader:
    """Sends reads and dry runs; `log` notes the answer to each read."""

    def __init__(self, transport: Transport, *, parallel: int = _PARALLEL, log: ReadLog | None = None) -> None:
        self._transport = transport
        self._parallel = parallel
        self._log = log
        self._server_time: tuple[datetime, float] | None = None

    @property
    def parallel(self) -> int:
        """The maximum number of concurrent requests; 1 for a cluster that answers one at a time."""
        return self._parallel

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, request: Request) -> Answer:
        """Send a read; raises `ClusterError` if no answer came, and for every write."""
        if not is_harmless(request):
            raise ClusterError(f"a reader never writes: {request.method} {request.path} was not sent")
        if self._log is None or request.is_write:
            answer = self._transport.send(request)
        else:
            answer = self._send_logged(request, self._log)
        if answer.at is not None:
            self._server_time = answer.at, monotonic()
        return answer

    def measure_ahead(self, now: datetime) -> timedelta | None:
        """Return how far the clock of the API server is ahead of the time `now`, by its last answer.

        - None: no answer named a time.
        """
        if self._server_time is None:
            return None
        named, at = self._server_time
        return compare_clocks(named + timedelta(seconds=monotonic() - at), now)

    def _send_logged(self, request: Request, log: ReadLog) -> Answer:
        try:
            answer = self._transport.send(request)
        except ClusterError as error:
            log.add(request.path, error.status)
            raise
        log.add(request.path, answer.status)
        return answer

    def try_send(self, request: Request) -> Answer:
        """Send a read; a missing answer, or an unreadable success, becomes an answer with status 0 and the reason."""
        try:
            return self.send(request)
        except ClusterError as error:
            body = {"message": error.reason, **({"detail": error.detail} if error.detail else {})}
            return Answer(0 if 200 <= error.status < 300 else error.status, body)

    def try_send_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Send several reads concurrently; return the answers in the same order."""
        if min(self._parallel, len(requests)) < 2:
            return [self.try_send(request) for request in requests]
        with ThreadPoolExecutor(max_workers=min(self._parallel, len(requests))) as pool:
            return list(pool.map(self.try_send, requests))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()
