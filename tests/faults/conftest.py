"""Fixtures of the fault lanes; each is started once per test process or per file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.installing import Installation, open_installation
from tests.faults.kill_trials import Stage, open_stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory) -> Iterator[Stage]:
    """PostgreSQL, an API server that misbehaves, and a process that forks workers."""
    with open_stage(tmp_path_factory.mktemp("stage")) as started:
        yield started


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    """The processes of `docker-compose.yml` on PostgreSQL and Redis."""
    with open_installation(tmp_path_factory.mktemp("installation")) as started:
        yield started
