"""A real Celery worker in this process, for the personal installation: threads, no broker to install.

The in-memory broker forgets everything when the process ends; the recovery at start finds it in the database.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from django.conf import settings

from applyviz import queue, stopping
from applyviz.celery import app
from applyviz.queue import TaskName

_PRUNE_SECONDS = 3600.0


class EmbeddedWorker:
    """The worker, and the thread that schedules the recovery task."""

    def __init__(self, *, concurrency: int = 10) -> None:
        self._stopping = threading.Event()
        self._worker: Any = app.WorkController(
            pool="threads",
            concurrency=concurrency,
            loglevel="WARNING",
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
        )
        self._threads = [
            threading.Thread(target=self._worker.start, name="worker", daemon=True),
            threading.Thread(target=self._tick, name="clock", daemon=True),
        ]

    def start(self) -> None:
        """Start to accept tasks; the first recovery runs at once."""
        stopping.clear()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Accept no more tasks; requests in flight are waited for briefly, the rest resumes at the next start."""
        self._stopping.set()
        stopping.request()
        self._worker.stop()

    def _tick(self) -> None:
        pruned = 0.0
        while True:
            queue.send(TaskName.RECOVER)
            if not pruned or time.monotonic() - pruned > _PRUNE_SECONDS:
                pruned = time.monotonic()
                queue.send(TaskName.PRUNE_HISTORY)
            if self._stopping.wait(settings.APPLYVIZ_RECOVERY_SECONDS):
                return
