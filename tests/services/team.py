"""The processes of `docker-compose.yml`, started on this machine with the very commands that stand there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from applyviz import sealing_keys
from tests.keys import public_key_of
from tests.ports import free_port
from tests.services.forks import Forks
from tests.services.servers import wait_for_port
from tests.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
STOP_SECONDS = 90


def _named(service: str) -> str:
    """The service of the file: the one worker here is that of the runs, with the other queues besides."""
    return "worker-runs" if service == "worker" else service


class Team:
    """web, beat and one worker for all queues of a team installation; use it as a context manager."""

    def __init__(self, folder: Path, *, database: str, broker: str, has_web: bool = True) -> None:
        self.folder, self.port, self._database = folder, free_port(), database
        self.has_web, self.token = has_web, ""
        self._services = read_yaml(ROOT / "docker-compose.yml")["services"]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._forks: Forks | None = None
        opening = sealing_keys.make_opening_key()
        secrets = {
            "SECRET_KEY": "a-key-that-only-this-test-knows-0123456789",
            "APPLYVIZ_DIGEST_KEY": "another-key-that-only-this-test-knows",
            "APPLYVIZ_WEB_KEY": "the-key-of-counters-that-only-this-test-knows",
            "APPLYVIZ_APPROVAL_KEY": "the-key-of-approvals-that-only-this-test-knows",
            "APPLYVIZ_CHECKPOINT_PUBLIC_KEY": public_key_of("another-key-that-only-this-test-knows"),
            "APPLYVIZ_OPENING_KEYS": opening,
            "APPLYVIZ_SEALING_KEY": sealing_keys.sealing_key_of(opening),
            "DATABASE_URL": database,
        }
        for name, value in secrets.items():
            (folder / name).write_text(value + "\n")
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            **{f"{name}_FILE": str(folder / name) for name in secrets},
            "REDIS_URL": broker,
            "ALLOWED_HOSTS": "127.0.0.1",
            "APPLYVIZ_HTTPS": "off",
            "APPLYVIZ_HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
        }

    def __enter__(self) -> Self:
        self.run("migrate")
        for name in ("worker", "beat", "web") if self.has_web else ("worker", "beat"):
            self.start(name)
        if self.has_web:
            wait_for_port(self.port, self._processes["web"], "web")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.stop(name)
        if self._forks:
            self._forks.close()

    def command(self, service: str) -> list[str]:
        """The command of a service, with this machine's paths and port in place of the container's."""
        programs = Path(sys.executable).parent
        first, *rest = self._services[_named(service)]["command"]
        swapped = {"0.0.0.0": "127.0.0.1", "8000": str(self.port)}
        if service == "worker":
            swapped["runs"] = "runs,plans,scans,short"
        return [str(programs / first), *(swapped.get(word, word) for word in rest)]

    def environment_of(self, service: str) -> dict[str, str]:
        """What `docker-compose.yml` gives a service: its own values, and of the secrets those that it names."""
        named = self._services[_named(service)].get("environment", {})
        own = {name: value for name, value in named.items() if not name.endswith("_FILE") and "$" not in value}
        kept = {name: value for name, value in self.environment.items() if not name.endswith("_FILE") or name in named}
        return {**own, **kept}

    def run(self, service: str) -> None:
        """Run a service that ends by itself."""
        done = subprocess.run(
            self.command(service),
            env=self.environment_of(service),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr

    def start(self, service: str) -> None:
        """Start a service; its log is in the folder."""
        log = (self.folder / f"{service}.log").open("ab")
        self._processes[service] = subprocess.Popen(
            self.command(service), env=self.environment_of(service), cwd=ROOT, stdout=log, stderr=log
        )
        log.close()

    def pid(self, service: str) -> int:
        """The process of a service."""
        return self._processes[service].pid

    def stop(self, service: str) -> int:
        """Ask a service to end, as a container runtime does; its exit status."""
        process = self._processes.pop(service)
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"{service} did not end in {STOP_SECONDS} seconds: {self.log(service)}") from None

    def log(self, service: str) -> str:
        """The last lines that a service wrote."""
        return (self.folder / f"{service}.log").read_text(errors="replace")[-3000:]

    def python(self, code: str, service: str = "worker", **environment: str) -> str:
        """What a script prints that runs inside the installation, with the keys of one of its services."""
        settings = {"DJANGO_SETTINGS_MODULE": "applyviz.settings", **environment}
        command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
        if service == "worker" and not environment:
            self._forks = self._forks or Forks(self.folder, {**self.environment_of(service), **settings})
            command = self._forks.command(code)
        done = subprocess.run(
            command,
            env={**self.environment_of(service), **settings},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def query(self, sql: str) -> str:
        """Return the single value that a query answers."""
        with psycopg.connect(self._database, autocommit=True) as connection:
            row = connection.execute(sql).fetchone()
        assert row is not None
        return str(row[0])

    def wait_for(self, sql: str, expected: str | bool, *, seconds: float = 180) -> None:
        """Until a query of one value answers what is expected."""
        deadline = time.monotonic() + seconds
        with psycopg.connect(self._database, autocommit=True) as connection:
            while (seen := connection.execute(sql).fetchone()) != (expected,):
                assert time.monotonic() < deadline, f"expected {expected!r}, saw {seen!r}; worker: {self.log('worker')}"
                time.sleep(0.2)
