"""How often garbage is collected while a page is made."""

from __future__ import annotations

import subprocess
import sys

_COUNT = """
import gc
import django
django.setup()
before = sum(one["collections"] for one in gc.get_stats())
values = [[n] for n in range(200_000)]
print(sum(one["collections"] for one in gc.get_stats()) - before)
"""


def test_values_of_a_large_page_are_seldom_visited():
    """With Python's own threshold, these are 312 collections; the tests themselves use another one."""
    found = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, text=True, check=True)

    assert int(found.stdout) <= 25
