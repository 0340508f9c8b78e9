"""Named points where a test may kill or stop a process; they do nothing without a hook or a variable.

`APPLYVIZ_FAILPOINT=name` (or `name@3`, the third time) kills the process there as `kill -9` would; `name:stop` stops
it, like a frozen machine, until a test continues it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

_reached: Counter[str] = Counter()
hooks: list[Callable[[str], None]] = []


def reach(name: str) -> None:
    """Call the hooks of a point; kill or stop the process when the environment says so."""
    for hook in hooks:
        hook(name)
    asked = os.environ.get("APPLYVIZ_FAILPOINT", "")
    if not asked:
        return
    point, _, deed = asked.partition(":")
    wanted, _, time = point.partition("@")
    if wanted == name:
        _reached[name] += 1
        if _reached[name] == int(time or 1):
            os.kill(os.getpid(), signal.SIGSTOP if deed == "stop" else signal.SIGKILL)
