"""PostgreSQL and Redis of this machine, started for one test session on loopback and thrown away."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from applyviz import sealing_keys
from tests.ports import free_port

START_SECONDS = 120
ROOT = Path(__file__).parents[2]


def environment_of(database: str) -> dict[str, str]:
    """The settings of the tests for a process of its own on a database, with keys that only this test knows."""
    opening = sealing_keys.make_opening_key()
    return {
        **os.environ,
        "DATABASE_URL": database,
        "SECRET_KEY": "a-key-that-only-this-test-knows-0123456789",
        "APPLYVIZ_DIGEST_KEY": "another-key-that-only-this-test-knows",
        "APPLYVIZ_WEB_KEY": "the-key-of-counters-that-only-this-test-knows",
        "APPLYVIZ_APPROVAL_KEY": "the-key-of-approvals-that-only-this-test-knows",
        "APPLYVIZ_OPENING_KEYS": opening,
        "APPLYVIZ_SEALING_KEY": sealing_keys.sealing_key_of(opening),
        "APPLYVIZ_HTTPS": "off",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "PYTHONPATH": str(ROOT),
        "LOG_LEVEL": "CRITICAL",
    }


def wait_for_port(port: int, process: subprocess.Popen[bytes], name: str) -> None:
    """Until somebody listens; an error when the process ends first or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, f"{name} ended with {process.returncode}"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"{name} did not listen in {START_SECONDS} seconds")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _find_postgres() -> Path:
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve()] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL server on this machine")
    return found[-1].parent


@contextmanager
def run_postgres(password: str = "") -> Iterator[str]:
    """A PostgreSQL server with an empty database; gives its superuser's URL, which needs the password if one is given.

    - The server refuses root, so it gets its own user then.
    """
    programs, folder, port = _find_postgres(), Path(tempfile.mkdtemp(prefix="applyviz-postgres-")), free_port()
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    (folder / "password").write_text(password)
    asked = ("-A", "scram-sha-256", "--pwfile", str(folder / "password")) if password else ("-A", "trust")
    initdb = [str(programs / "initdb"), "-D", str(data), "-U", "applyviz", *asked, "--no-sync", "-E", "UTF8"]
    subprocess.run(initdb, check=True, capture_output=True, user=user, cwd=folder)
    options = ["-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-F"]
    log = (folder / "log").open("wb")
    server = subprocess.Popen([str(programs / "postgres"), *options], stdout=log, stderr=log, user=user, cwd=folder)
    try:
        wait_for_port(port, server, "postgres")
        create = [str(programs / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "applyviz", "applyviz"]
        _retry(create, PGPASSWORD=password)
        yield f"postgres://applyviz{password and f':{password}'}@127.0.0.1:{port}/applyviz"
    finally:
        _end(server)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _retry(command: list[str], **environment: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode == 0:
            return
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


@contextmanager
def run_redis() -> Iterator[str]:
    """A Redis server that keeps nothing; gives its URL."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server on this machine")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, server, "redis-server")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        _end(server)
