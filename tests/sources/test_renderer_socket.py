"""The renderer says in one line why it cannot serve."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["missing/socket", "s" * 120], ids=["no-folder", "too-long"])
def test_socket_that_cannot_be_made_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "applyviz.sources.rendering.service", str(tmp_path / name)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert (done.returncode, done.stderr.count("\n"), str(tmp_path / name) in done.stderr) == (1, 1, True), done.stderr
