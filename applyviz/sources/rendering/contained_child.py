"""The process that becomes a program in the renderer's container: it writes the tree, then sets the limits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import BinaryIO

from applyviz.sources.rendering.inside import set_limits, write_tree


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a job, write its tree, set the limits, and become its program."""
    del target  # the program inherits it
    header = json.loads(source.readline())
    files = [(str(name), source.read(size)) for name, size in header["files"]]
    root = header["root"]
    for name in ("tree", "home", "tmp"):
        Path(root, name).mkdir()
    write_tree(f"{root}/tree", files)
    set_limits(header["limits"])
    os.chdir(f"{root}/tree")
    os.execve(header["path"], [header["program"], *header["arguments"]], dict(header["environment"]))  # noqa: S606
