"""Keeps a lease while something goes on that takes its time: often enough, and not more often."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings


@dataclass(slots=True)
class Pulse:
    """`keep()` renews the lease; it may raise when the lease is lost."""

    keep: Callable[[], object]
    clock: Callable[[], float] = time.monotonic
    _kept: float = field(init=False)

    def __post_init__(self) -> None:
        self._kept = self.clock()

    def beat(self) -> None:
        """Renew the lease once a quarter of it is over."""
        if self.clock() - self._kept > settings.APPLYVIZ_LEASE_SECONDS / 4:
            self.keep()
            self._kept = self.clock()
