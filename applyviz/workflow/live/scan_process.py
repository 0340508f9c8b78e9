"""Scans of whole clusters, in a process of their own where the worker shares its process with pages and plans.

A team installation has a worker for them (`worker-scans` in the compose file). The personal installation starts a
process for each: at a low priority, one at a time, and the memory of a large cluster is given back at its end.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from django.conf import settings

from applyviz import stopping
from applyviz.workflow.live import scans

logger = logging.getLogger(__name__)
_LOOK_SECONDS, _MOST_SECONDS = 0.25, 3600.0
_turn = threading.Lock()
_is_apart = threading.Event()


def start_processes() -> None:
    """Scan whole clusters in processes of their own from now on."""
    _is_apart.set()


def _name_command(scan_id: int) -> list[str]:
    nice = shutil.which("nice")
    words = [sys.executable, str(settings.BASE_DIR / "manage.py"), "scan", str(scan_id)]
    return [nice, "-n", "10", *words] if nice else words


def _wait(process: subprocess.Popen[bytes], clock: Callable[[], float]) -> int | None:
    """Wait for the end of a process; end it when this worker must stop, or after an hour (None)."""
    deadline = clock() + _MOST_SECONDS
    while not stopping.is_requested() and clock() < deadline:
        try:
            return process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.terminate()  # it hands the scan over
    try:
        process.wait(stopping.GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def scan_whole_cluster(scan_id: int, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Perform a scan of a whole cluster, here or in a separate process; while another scan runs, leave it for later.

    - The recovery task requests postponed scans again.
    """
    if not _is_apart.is_set():
        scans.scan_cluster(scan_id)
        return
    if not _turn.acquire(blocking=False):
        return
    try:
        command = _name_command(scan_id)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own command and a number
        code = _wait(process, clock)
    finally:
        _turn.release()
    if code:
        logger.warning("The process of scan %s ended with %s; the recovery starts it again", scan_id, code)
