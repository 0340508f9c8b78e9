"""A data folder belongs to one process, and what is wrong with its database is one sentence."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.start

ROOT = Path(__file__).parents[2]


def manage(home, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**environment, "APPLYVIZ_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def refuse_to_serve(home, *words) -> str:
    """The one line that `serve` ends with."""
    done = manage(home, "serve", "--port", "0", "--no-demo", *words)
    assert done.returncode == 1, done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_folder_that_another_process_uses_is_left_alone(tmp_path):
    database = tmp_path / "applyviz.sqlite3"
    database.write_bytes(b"")
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        assert f"another applyviz uses the data folder {tmp_path}" in refuse_to_serve(tmp_path, "--reset")

    assert database.exists()


def test_damaged_database_is_named(tmp_path):
    (tmp_path / "applyviz.sqlite3").write_bytes(b"this was a database once " * 100)

    assert "the database cannot be used (file is not a database); restore" in refuse_to_serve(tmp_path)


@pytest.mark.long
def test_database_of_a_newer_version_is_named(tmp_path):
    with sqlite3.connect(tmp_path / "applyviz.sqlite3") as database:
        database.execute("CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, app TEXT, name TEXT, applied TEXT)")
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('records', '9999_later', '2100-01-01')"
        )

    assert "written by a newer version of applyviz (records.9999_later is unknown)" in refuse_to_serve(tmp_path)


def refuse_with_read_only(home, path) -> str:
    """The one line that `serve` ends with while a file or folder is mounted read-only."""
    mount = f"mount --bind {path} {path} && mount -o remount,ro,bind {path}"
    words = f"exec {sys.executable} manage.py serve --port 0 --no-demo"
    command = ["unshare", "--mount", "sh", "-c", f"{mount} || exit 42; {words}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, "APPLYVIZ_HOME": str(home)}, capture_output=True, text=True, timeout=120
    )
    if done.returncode == 42 or "unshare" in done.stderr:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 1, done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.long
def test_database_that_cannot_be_written_is_named(tmp_path):
    assert manage(tmp_path, "migrate", "--verbosity", "0").returncode == 0

    told = refuse_with_read_only(tmp_path, tmp_path / "applyviz.sqlite3")

    assert f"the database {tmp_path / 'applyviz.sqlite3'} is read-only; make it writable for this account" in told


@pytest.mark.long
def test_folder_that_cannot_be_written_is_named(tmp_path):
    assert manage(tmp_path, "migrate", "--verbosity", "0").returncode == 0

    told = refuse_with_read_only(tmp_path, tmp_path)

    assert f"cannot write to the data folder {tmp_path} (Read-only file system); choose another one" in told


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    done = manage(tmp_path / "file" / "home", "serve", "--port", "0")

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "file" / "home") in done.stderr


def test_restore_of_an_empty_folder_is_refused(tmp_path):
    done = manage(tmp_path, "restored", "--reason", "the disk broke")

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is empty; name the data folder: APPLYVIZ_HOME=FOLDER" in done.stderr
