"""The reader: everything that planning and pages may ask of a cluster; it cannot write.

A dry run is a read: the server persists nothing. Every other write is refused here, whatever the caller
meant, so that the one writer stays the one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from applyviz.clusters.transport import Transport
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request

_PARALLEL = 16


def is_harmless(request: Request) -> bool:
    """Return whether the server persists nothing: a read, or a dry run where the server heeds it."""
    return not request.is_write or request.is_dry_run


class ClusterReader:
    """Sends reads and dry runs."""

    def __init__(self, transport: Transport, *, parallel: int = _PARALLEL) -> None:
        self._transport = transport
        self._parallel = parallel

    @property
    def parallel(self) -> int:
        """How many requests may be on their way at once; 1 for a cluster that is asked one after the other."""
        return self._parallel

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, request: Request) -> Answer:
        """Ask; raises `ClusterError` when no answer came, and for anything that would write."""
        if not is_harmless(request):
            raise ClusterError(f"a reader never writes: {request.method} {request.path} was not sent")
        return self._transport.send(request)

    def try_send(self, request: Request) -> Answer:
        """Ask; an answer with the reason when none came: its status is 0 also where a success could not be read."""
        try:
            return self.send(request)
        except ClusterError as error:
            told = {"message": error.reason, **({"detail": error.detail} if error.detail else {})}
            return Answer(0 if 200 <= error.status < 300 else error.status, told)

    def try_send_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Ask several at once; answers in the same order."""
        if min(self._parallel, len(requests)) < 2:
            return [self.try_send(request) for request in requests]
        with ThreadPoolExecutor(max_workers=min(self._parallel, len(requests))) as pool:
            return list(pool.map(self.try_send, requests))

    def close(self) -> None:
        """Give connections back."""
        self._transport.close()
