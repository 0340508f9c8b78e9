"""helm and kustomize, built from their Go modules, on the search path of every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.renderers import find_renderers


@pytest.fixture(scope="session")
def programs() -> Path:
    return find_renderers()


@pytest.fixture(autouse=True)
def search_path(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
