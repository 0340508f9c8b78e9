"""The steps that one object's flow requests from its run: a cluster call, a database write, or a pause.

A flow is a generator, as in the engine: it yields a step and receives the result. So many objects proceed in parallel,
while a single thread uses the database and keeps the order of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")


class CallCluster(Struct, frozen=True):
    """A cluster call; runs in any thread, so it must not use the database. Its exception is thrown into the flow."""

    do: Callable[[], object]


class Persist(Struct, frozen=True):
    """A database write; shares one transaction with the pending writes of other objects.

    - `can_wait`: the write may be deferred until the next one of this object; the flow continues at once and receives
      None. The cluster is not called before the write is stored.
    """

    do: Callable[[], object]
    can_wait: bool = False


class Sleep(Struct, frozen=True):
    """A pause of some seconds.

    - `may_park`: a run whose unfinished objects are all in such a pause needs no worker until one looks again.
    """

    seconds: float
    may_park: bool = False


class OutcomeRecorded(Struct, frozen=True):
    """The object has its outcome; the rest of the flow only waits, so that the next object can start."""


Step: TypeAlias = CallCluster | Persist | Sleep | OutcomeRecorded
ObjectFlow: TypeAlias = Generator[Step, Any, T]
