"""The locked requirements name the extras that anything asks for.

pip in hash mode does not match `coverage[toml]>=7` with a locked `coverage==7.1`: it takes the newest version, finds no
hash for it, and refuses the whole installation on the day that version appears.
"""

from __future__ import annotations

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def _list_locked(name: str) -> dict[str, set[str]]:
    """Return the extras of each locked package, by its canonical name."""
    lines = re.findall(r"^[A-Za-z0-9][^ ;\\]*(?:, [^ ;\\]*)*==", (ROOT / name).read_text(), re.MULTILINE)
    locked = [Requirement(line.removesuffix("==")) for line in lines]
    return {canonicalize_name(one.name): set(one.extras) for one in locked}


def _list_wanted(locked: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return each package with each extra that an installed and locked package asks for."""
    wanted = set[tuple[str, str]]()
    for found in distributions():
        name = canonicalize_name(found.name)
        for line in found.requires or () if name in locked else ():
            asked = Requirement(line)
            extras = {"", *locked[name]}
            if asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in extras):
                wanted |= {(canonicalize_name(asked.name), extra) for extra in asked.extras}
    return wanted


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_extras_that_a_package_asks_for_are_locked(name):
    locked = _list_locked(name)
    assert len(locked) > 20
    missing = [(package, extra) for package, extra in _list_wanted(locked) if extra not in locked.get(package, {extra})]
    assert missing == []


def test_extras_are_wanted_at_all():
    assert ("coverage", "toml") in _list_wanted(_list_locked("requirements-dev.txt"))
