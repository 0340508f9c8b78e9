"""What carrying out one object asks of its run: something of the cluster, something to be written down, time.

A flow is a generator, as those of the engine are: it yields a step and is sent what came of it. So many
objects go on side by side, while one thread alone touches the database and keeps the order of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallCluster:
    """Something of the cluster; done in any thread, so it must not touch the database. What it raises is thrown in."""

    do: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Persist:
    """Something to be written down; done in one transaction with what other objects write down at that moment.

    - `can_wait`: it may be written down together with what this object writes down next; the flow goes on at once
      and is sent None. Nothing is asked of the cluster before it is written.
    """

    do: Callable[[], Any]
    can_wait: bool = False


@dataclass(frozen=True, slots=True)
class Sleep:
    """Nothing, for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OutcomeRecorded:
    """The object has its outcome; what follows only waits, and makes room for the next object."""


Step: TypeAlias = CallCluster | Persist | Sleep | OutcomeRecorded
ObjectFlow: TypeAlias = Generator[Step, Any, T]
