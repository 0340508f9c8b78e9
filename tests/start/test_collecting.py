"""A command loads its modules without collecting garbage; then it collects, without visiting what it loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ASK = """
import gc, json
ring = []
ring.append(ring)
del ring
print(json.dumps([gc.isenabled(), gc.get_freeze_count(), gc.get_stats()[2]["collections"], gc.collect()]))
"""


def test_loading_collects_nothing_and_a_command_does(tmp_path: Path) -> None:
    environment = {**os.environ, "APPLYVIZ_HOME": str(tmp_path)}
    words = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", _ASK]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    is_enabled, frozen, full_collections, garbage = json.loads(done.stdout.splitlines()[-1])
    assert is_enabled
    assert frozen > 50_000
    assert full_collections == 0
    assert garbage >= 1
