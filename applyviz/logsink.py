"""Write log lines without waiting: if their reader is too slow, lines are dropped and counted.

A full pipe would block the request or the write that logs. Important records are in the history, which does not depend
on logs.
"""

from __future__ import annotations

import logging
import os
import select
import stat
from contextlib import suppress


def _reopen(descriptor: int) -> int:
    """Return a new non-blocking descriptor for the same pipe; -1 if it is not a pipe, or if that is impossible.

    - A file is never full for long, and other writers share its offset, so it is not reopened.
    """
    with suppress(OSError):
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return -1


class BackgroundHandler(logging.Handler):
    """Writes to standard error without blocking, and reports dropped lines once it accepts lines again."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._own, self._for = -1, (-1, -1)
        self.lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, or drop it."""
        try:
            line = self.format(record)
            if self.lost and self._write(f"{self.lost} log lines were dropped because the reader was too slow"):
                self.lost = 0
            self.lost += not self._write(line)
        except Exception:  # a failure to log must not stop the work that is logged
            self.lost += 1

    def _write(self, line: str) -> bool:
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        descriptor = self._find_descriptor()
        try:
            if descriptor == self._descriptor and not select.select((), (descriptor,), (), 0)[1]:
                return False
            return os.write(descriptor, data) > 0
        except OSError:
            return False

    def _find_descriptor(self) -> int:
        """Return the descriptor, reopened if standard error changed, as in a process that a manager forked."""
        status = os.fstat(self._descriptor)
        if self._for != (status.st_dev, status.st_ino):
            self._for, self._own = (status.st_dev, status.st_ino), _reopen(self._descriptor)
        return self._own if self._own >= 0 else self._descriptor
