"""Modules that only some work needs are imported by that work, so that no command and no web process waits for them."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("kubernetes", "asyncssh", "deepdiff")
_LOAD = "import django; django.setup(); import sys, applyviz.urls, applyviz.tasks; print(*sys.modules)"


def test_pages_and_tasks_load_without_the_clients_of_clusters_and_repositories(tmp_path, monkeypatch):
    monkeypatch.setenv("APPLYVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "applyviz.settings")

    done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True)

    loaded = done.stdout.split()
    assert "applyviz.clusters.connect" in loaded
    assert [name for name in SLOW if name in loaded] == []


def test_worker_that_forks_loads_the_client_of_clusters_before(tmp_path, monkeypatch):
    monkeypatch.setenv("APPLYVIZ_HOME", str(tmp_path))
    load = "from applyviz import celery; celery.app.loader.import_default_modules(); celery._check_keys()"

    done = subprocess.run(
        [sys.executable, "-c", f"{load}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )

    assert "kubernetes" in done.stdout.split()
