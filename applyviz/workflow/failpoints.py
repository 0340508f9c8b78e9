"""Named points where a test may kill or stop a worker; nothing happens without a hook or a variable.

`APPLYVIZ_FAILPOINT=name` (or `name@3`, the third time) kills this process there, as `kill -9` would.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

_reached: Counter[str] = Counter()
hooks: list[Callable[[str], None]] = []


def reach(name: str) -> None:
    """Tell the hooks that a point is reached; die there when the environment says so."""
    for hook in hooks:
        hook(name)
    wanted, _, time = os.environ.get("APPLYVIZ_FAILPOINT", "").partition("@")
    if wanted == name:
        _reached[name] += 1
        if _reached[name] == int(time or 1):
            os.kill(os.getpid(), signal.SIGKILL)
