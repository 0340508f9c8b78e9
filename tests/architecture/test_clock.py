"""The time of day is read in one module: the linter refuses every other way, in every room of the product."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tracked import ROOT, files_below, read_module

RUFF = Path(sys.executable).with_name("ruff")
WAYS = """
import time
from datetime import date, datetime, timezone
from time import time_ns
import django.utils.timezone
from django.db.models.functions import Now
from django.utils import timezone as zones
from django.utils.timezone import localdate
datetime.now(timezone.utc)
datetime.now()
datetime.utcnow()
datetime.today()
date.today()
time.time()
time.localtime()
time.gmtime()
time.ctime()
time.strftime("%Y")
zones.now()
django.utils.timezone.now()
"""


def find_refused_lines(file: str) -> set[int]:
    """The lines of `WAYS` that the linter refuses in a file of this name."""
    command = [str(RUFF), "check", "--select", "TID251", "--output-format", "json", "--stdin-filename", file, "-"]
    done = subprocess.run(command, cwd=ROOT, input=WAYS, capture_output=True, text=True)
    return {found["location"]["row"] for found in json.loads(done.stdout)}


@pytest.mark.parametrize("room", ["clusters", "sandbox/api", "sources", "workflow/runs", "web/runs/pages"])
def test_every_other_way_to_read_the_time_is_refused(room):
    ways = {4, 6, 8, *range(9, 21)}

    assert find_refused_lines(f"applyviz/{room}/planted.py") == ways
    assert find_refused_lines("applyviz/clock.py") == find_refused_lines("tests/planted.py") == set()


def test_local_time_is_always_that_of_a_given_moment():
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files_below("applyviz", ".py")
        for node in read_module(path).find(ast.Call)
        if getattr(node.func, "id", getattr(node.func, "attr", "")) in ("localtime", "localdate") and not node.args
    ]

    assert not calls
    assert "{% now" not in "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
