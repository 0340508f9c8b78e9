"""Modules that only some work needs are imported by that work, so that no command and no web process waits for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("kubernetes", "asyncssh", "deepdiff")
_LOAD = """
import django; django.setup(); import sys, applyviz.urls, applyviz.tasks; print(*sys.modules)
from applyviz import celery; celery.app.loader.import_default_modules(); celery._load_client(); print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> list[list[str]]:
    """The modules of a process that has pages and tasks, and of the same process as a worker that is about to fork."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("APPLYVIZ_HOME", str(tmp_path_factory.mktemp("home")))
        patched.setenv("DJANGO_SETTINGS_MODULE", "applyviz.settings")
        done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def test_pages_and_tasks_load_without_the_clients_of_clusters_and_repositories(loaded):
    assert "applyviz.clusters.connect" in loaded[0]
    assert [name for name in SLOW if name in loaded[0]] == []


def test_worker_that_forks_loads_the_client_of_clusters_before(loaded):
    assert "kubernetes" in loaded[1]
