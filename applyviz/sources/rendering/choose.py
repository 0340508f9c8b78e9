"""Where a job runs: in the renderer service if there is one, else in namespaces of this machine; nowhere else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering import client, isolation
from applyviz.sources.rendering.job import DEFAULT_LIMITS, HELM, KUSTOMIZE, Rendered, RenderJob, RenderLimits

Runner: TypeAlias = Callable[[RenderJob, RenderLimits], Rendered]
# The first that is installed; kubectl brings kustomize along.
_COMMANDS = {HELM: (("helm",),), KUSTOMIZE: (("kustomize", "build"), ("kubectl", "kustomize"))}
_MISSING = (
    "{what} needs the program {program} on the server, which is not installed; upload the rendered manifests instead"
)
_WHAT = {HELM: "a chart", KUSTOMIZE: "a kustomization"}


def find_command(program: str, search: str | None = None) -> tuple[str, ...]:
    """Return the path of a program with its verb, in `search` or the search path of this process.

    - Raises `SourceError` if it is not installed.
    """
    for name, *verb in _COMMANDS[program]:
        found = shutil.which(name, path=search)
        if found:
            return found, *verb
    names = " or ".join(name for name, *_ in _COMMANDS[program])
    raise SourceError(_MISSING.format(what=_WHAT[program], program=names))


def run_here(job: RenderJob, limits: RenderLimits = DEFAULT_LIMITS, *, search: str | None = None) -> Rendered:
    """Run a job in namespaces of this machine; raises `SourceError` where there are none."""
    command = find_command(job.program, search)
    obstacle = isolation.find_obstacle()
    if obstacle:
        raise SourceError(isolation.NOT_POSSIBLE.format(reason=obstacle))
    return isolation.run_isolated(job, command, limits)


def make_runner(socket: str = "") -> Runner:
    """Return what runs jobs: the service at a socket, or this machine."""
    return partial(client.ask_renderer, socket) if socket else run_here
