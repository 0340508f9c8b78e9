"""A child for tests: it reports its environment, or ends in the requested way."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import BinaryIO

ASKED: list[str] = []
STARTED = os.getpid()


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Do what the first line says."""
    act, _, rest = source.readline().decode().strip().partition(" ")
    ASKED.append(act)
    if act == "end":
        os.kill(os.getpid(), int(rest))
    if act == "orphan":
        os.kill(os.getppid(), int(rest))
    if act == "raise":
        raise ValueError(rest)
    if act == "sleep":
        target.write(str(os.getpid()).encode())
        target.flush()
        time.sleep(60)
    if act == "echo":
        target.write(source.read())
    if act == "tell":
        files = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.exists()]
        found = {"environment": dict(os.environ), "folder": str(Path.cwd()), "files": files, "asked": ASKED}
        target.write(
            json.dumps({**found, "server": STARTED, "flags": [sys.flags.isolated, sys.flags.no_site]}).encode()
        )
