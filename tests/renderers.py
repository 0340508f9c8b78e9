"""helm and kustomize, built from the Go modules that `scripts/renderers` pins, as the Dockerfile builds them.

The programs go into the cache folder of the control plane, named after the pins; other processes wait for the one that
builds. `python -m tests.renderers` prints the folder.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.controlplane.binaries import NotAvailableError, cache_folder, find_go, locked

MODULE = Path(__file__).parents[1] / "scripts" / "renderers"
PROGRAMS = ("helm", "kustomize")


def find_renderers() -> Path:
    """The folder with both programs, built on first use; raises `NotAvailableError`."""
    pins = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    folder = cache_folder() / f"renderers-{hashlib.sha256(pins).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        if not all((folder / name).is_file() for name in PROGRAMS):
            _build(folder)
    return folder


def _build(folder: Path) -> None:
    print("building helm and kustomize ...", file=sys.stderr, flush=True)  # noqa: T201 - minutes pass on the first run
    command = [find_go(), "install", "-mod=readonly", "-ldflags", "-s -w", "tool"]
    environment = {
        **os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder), "GOTOOLCHAIN": "local", "GOFLAGS": ""
    }  # fmt: skip
    done = subprocess.run(command, cwd=MODULE, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotAvailableError(f"helm and kustomize cannot be built: {done.stderr.strip()[-800:]}")


if __name__ == "__main__":
    print(find_renderers())  # noqa: T201 - the answer of this command
