"""Run a job in a container that is itself the isolation: without network, without secrets, with limits.

Containers usually may not make namespaces. The renderer service then relies on its own: each job first checks that this
process has no network, and refuses otherwise. Jobs run one after the other, and what a job started ends with it.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering import inside, isolation
from applyviz.sources.rendering.job import DEFAULT_LIMITS, Rendered, RenderJob, RenderLimits, write_job

_SUBREAPER = 36
_END_SECONDS = 10.0
INSIDE = "applyviz.sources.rendering.contained_child"
HAS_NETWORK = (
    "the renderer service has a network, so it renders nothing: start it without one (network_mode: none), or where "
    "namespaces are allowed"
)


def _list_routes(path: str, column: int) -> list[str]:
    """Return the interfaces of a table of routes that lead somewhere else than to this machine."""
    with suppress(OSError):
        rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
        return [row[column] for row in rows if len(row) > abs(column) and row[column] not in ("lo", "Iface")]
    return []


def has_network() -> bool:
    """Return whether any route leads out of this process; without a table to read, there is no such promise."""
    if not Path("/proc/net/route").exists():
        return True
    return bool(_list_routes("/proc/net/route", 0) or _list_routes("/proc/net/ipv6_route", -1))


def adopt_orphans() -> None:
    """Become the parent of what jobs leave behind, so that it can be ended."""
    if sys.platform == "linux":
        inside.call_prctl(_SUBREAPER, 1)


def _list_children() -> list[int]:
    """Return the processes that this one must wait for, orphans of jobs too."""
    found: list[int] = []
    with suppress(OSError):  # no children file: another system, where no job runs
        for table in Path("/proc/self/task").glob("*/children"):
            found += map(int, table.read_text(encoding="ascii").split())
    return found


def end_leftovers() -> None:
    """End every process that a job left behind; if they come back for too long, end with the container."""
    ends = time.monotonic() + _END_SECONDS
    while children := _list_children():
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
        if time.monotonic() > ends:
            os._exit(1)


def run_contained(job: RenderJob, command: Sequence[str], limits: RenderLimits = DEFAULT_LIMITS) -> Rendered:
    """Run a command in this container; raises `SourceError` at a limit, or if there is a network."""
    if has_network():
        raise SourceError(HAS_NETWORK)
    with tempfile.TemporaryDirectory(prefix="job-", ignore_cleanup_errors=True) as root:
        environment = {
            name: f"{root}{text}" if text.startswith(("/home", "/tmp")) else text  # noqa: S108 - below the root
            for name, text in isolation.ENVIRONMENT.items()
        }
        more = {"path": command[0], "root": root, "limits": asdict(limits), "environment": environment}
        message = write_job(isolation.add_verb(job, command), **more)
        try:
            found = isolation.talk(isolation.start_program(INSIDE), message, limits)
        finally:
            end_leftovers()
    return isolation.explain_end(found, job, limits)
