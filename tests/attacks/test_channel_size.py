"""Hostile channels: ranges, entries and needs of addons cost time in proportion, not by its square."""

from __future__ import annotations

from contextlib import suppress

import pytest

from applyviz.engine.channels.choosing import find_faults
from applyviz.engine.channels.model import Addon
from applyviz.engine.channels.versions import RangeError, is_in_range, read_cluster_version
from applyviz.engine.planning.sets.addon_order import sort_names
from tests.attacks.test_size import LENGTH, SECONDS
from tests.pace import measure

pytestmark = pytest.mark.attacks
SERVER = read_cluster_version("v1.36.3")


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("unit", "end"),
    [("1.36.3 ", ""), ("<1.36.x", ""), ("||1.2.3", ""), (" ", "~"), ("= ", "~"), ("1.36.3", "~"), ("1.1.1-a", "~")],
)
def test_ranges_of_versions_are_read_in_linear_time(unit, end):
    def read() -> None:
        with suppress(RangeError):
            is_in_range(SERVER, "1.36.3" + unit * (10 * LENGTH // len(unit)) + end)

    _, seconds = measure(read)

    assert seconds < 2 * SECONDS


def test_file_that_many_entries_name_is_hashed_once():
    entries = [Addon(f"addon-{n}", "all", "all.yaml", manifest_hash="0" * 64) for n in range(5_000)]

    found, seconds = measure(find_faults, entries, {"all.yaml": b"x" * 4_000_000})

    assert (len(found), seconds < SECONDS) == (5_000, True)


@pytest.mark.parametrize("is_cycle", [False, True])
def test_addons_that_need_each_other_are_sorted_in_linear_time(is_cycle):
    names = [f"addon-{n}" for n in range(20_000)]
    before = {name: {after} for name, after in zip(names, [*names[1:], names[0]], strict=True)}
    if not is_cycle:
        before[names[-1]] = set()

    found, seconds = measure(lambda: list(sort_names(names, before)))

    assert (found[0], len(found), seconds < SECONDS) == (names[0] if is_cycle else names[-1], 20_000, True)
