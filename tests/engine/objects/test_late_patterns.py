"""Expressions that are compiled with their first use."""

from __future__ import annotations

import re
import subprocess
import sys

from applyviz.engine.objects.late_patterns import LatePattern


def test_late_pattern_finds_what_its_expression_finds():
    pattern = LatePattern("b+", re.I)

    assert pattern.match("abB") is None
    assert (pattern.search("abB")[0], [found.start() for found in pattern.finditer("abBab")]) == ("bB", [1, 4])
    assert (pattern.pattern, pattern.flags) == ("b+", re.I)


_LOAD = """
import gc
import applyviz.engine.diff.credentials, applyviz.engine.explain.server_refusals, applyviz.sandbox.schema.formats
from applyviz.engine.objects.late_patterns import LatePattern
patterns = [one for one in gc.get_objects() if isinstance(one, LatePattern)]
print(len(patterns), sum(one._compiled is not None for one in patterns))
"""


def test_loading_a_module_compiles_none_of_its_late_patterns():
    """They were a tenth of the time in which a command starts."""
    found = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True)

    listed, compiled = map(int, found.stdout.split())
    assert listed > 80
    assert compiled == 0
