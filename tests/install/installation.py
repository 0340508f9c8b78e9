"""The services of `docker-compose.yml` as processes of this machine, each with exactly what the file gives it.

Commands, environment, secrets, networks and health checks are read from the file; only addresses and folders differ. A
service gets copies of the secrets that are named for it and of no other; what is on a network that it is not on has an
address at which nobody listens.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.install.image import ROOT, Image
from tests.ports import free_port
from tests.services.servers import run_postgres, wait_for_port
from tests.yaml_files import read_yaml

STOP_SECONDS = 90
NOWHERE = "127.0.0.1:1"
# What somebody would say in their shell before `docker compose up`.
CHOSEN = {"ALLOWED_HOSTS": "127.0.0.1", "APPLYVIZ_HTTPS": "off", "LOG_LEVEL": "INFO"}
WORKERS = ("worker-plans", "worker-runs", "worker-scans", "worker-short")
# Two of each as in `docker-compose.yml`, but one that scans.
WORKER_PROCESSES = tuple(f"{name}-{n}" for name in WORKERS for n in (1, 2) if (name, n) != ("worker-scans", 2))
_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


def _stop(processes: dict[str, subprocess.Popen[bytes]]) -> dict[str, int]:
    """Ask processes to end, all at once; those that do not in time are killed."""
    for process in processes.values():
        process.send_signal(signal.SIGTERM)
    ended, deadline = {}, time.monotonic() + STOP_SECONDS
    for name, process in processes.items():
        try:
            ended[name] = process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            ended[name] = process.wait()
    return ended


class Installation:
    """All services of one installation; use it as a context manager."""

    def __init__(self, folder: Path, image: Image, *, webs: int) -> None:
        self.folder, self.image = folder, image
        self.services: dict[str, dict[str, Any]] = read_yaml(ROOT / "docker-compose.yml")["services"]
        self.ports = [free_port() for _ in range(webs)]
        self._addresses: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._make_secrets()
            self._start_postgres(stack)
            stack.callback(self.stop_all)
            self._start_redis()
            self._start_renderer()
            self.run("migrate")
            for service in ("beat", *WORKERS, "web"):
                self._start_service(service)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start_service(self, service: str) -> None:
        """Start every process of a service; web processes answer when this returns."""
        if service != "web":
            for number in range(1, self.services[service].get("deploy", {}).get("replicas", 1) + 1):
                self.start(service, number)
            return
        for number, port in enumerate(self.ports, 1):
            self.start(service, number, port)
        for number, port in enumerate(self.ports, 1):
            wait_for_port(port, self._processes[f"{service}-{number}"], service)

    def _make_secrets(self) -> None:
        (self.folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "secrets", self.folder / "scripts")
        subprocess.run([self.folder / "scripts" / "secrets"], check=True, capture_output=True)

    def read_secret(self, name: str) -> str:
        """What `scripts/secrets` made."""
        return (self.folder / "secrets" / name).read_text().strip()

    def _start_postgres(self, stack: ExitStack) -> None:
        """With passwords, and prepared by the files that the service mounts, in their order."""
        url = stack.enter_context(run_postgres(password=self.read_secret("postgres_password")))
        self._addresses["postgres:5432"] = re.search(r"127\.0\.0\.1:\d+", url)[0]
        mounts = (volume.split(":") for volume in self.services["postgres"]["volumes"])
        found = sorted((target, source) for source, target, *_ in mounts if "initdb.d" in target)
        assert found
        for _target, source in found:
            text = (ROOT / source).read_text().replace("/run/secrets", str(self.folder / "secrets"))
            command = ["psql", url, "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"]
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    def _start_redis(self) -> None:
        port = free_port()
        self._addresses["redis:6379"] = f"127.0.0.1:{port}"
        self.start("redis", 1)
        wait_for_port(port, self._processes["redis-1"], "redis")

    def _start_renderer(self) -> None:
        """Without a network, as the file says; the programs are on its search path alone."""
        (self.folder / "renderer").mkdir()
        self.start("renderer", 1)
        deadline = time.monotonic() + 30
        while not self.is_healthy("renderer"):
            assert time.monotonic() < deadline, self.log("renderer-1")
            time.sleep(0.2)

    def _localize(self, text: str, service: str) -> str:
        """A text of the file with this machine's folders and addresses."""
        text = _VARIABLE.sub(lambda found: CHOSEN.get(found[1], found[2]), str(text))
        places = {
            "/run/secrets": str(self._secrets_of(service)),
            "/run/renderer": f"{self.folder}/renderer",
            "/tmp/": f"{self.folder}/{service}-",
        }
        return re.sub("/run/secrets|/run/renderer|/tmp/", lambda found: places[found[0]], text).replace("$$", "$")

    def _secrets_of(self, service: str) -> Path:
        return self.folder / f"secrets-of-{service}"

    def _copy_secrets(self, service: str) -> None:
        """Copy the secrets that are named for a service, as they are now, with the addresses that it can reach."""
        folder = self._secrets_of(service)
        folder.mkdir(exist_ok=True)
        networks = self.services[service].get("networks", ())
        reached = {"postgres:5432": "database" in networks, "redis:6379": "broker" in networks}
        for name in self.services[service].get("secrets", ()):
            text = (self.folder / "secrets" / name).read_text()
            for address, can_reach in reached.items():
                text = text.replace(address, self._addresses.get(address, NOWHERE) if can_reach else NOWHERE)
            (folder / name).write_text(text)

    def environment_of(self, service: str) -> dict[str, str]:
        """What the image sets and what the file gives; nothing of this process but a home and a language."""
        given = self.services[service].get("environment", {})
        settings = {
            name: self._localize(value, service) for name, value in self.image.settings.items() if name != "PATH"
        }
        search = [str(self.image.programs)] if service == "renderer" else []
        return {
            "HOME": str(self.folder),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "PATH": ":".join([*search, self.image.settings["PATH"]]),
            **settings,
            **{name: self._localize(value, service) for name, value in given.items()},
        }

    def command_of(self, service: str, port: int = 0) -> list[str]:
        """The command of a service."""
        words = [self._localize(word, service) for word in self.services[service]["command"]]
        if self.services[service].get("network_mode") == "none":
            return ["unshare", "--user", "--map-root-user", "--net", "--", *words]
        if service == "redis":
            return [*words, "--bind", "127.0.0.1", "--port", self._addresses["redis:6379"].rpartition(":")[2]]
        return [{"0.0.0.0": "127.0.0.1", "8000": str(port)}.get(word, word) for word in words]

    def run(self, service: str, *words: str, **environment: str) -> str:
        """Run a command as a service, its own when none is given; gives what it prints."""
        self._copy_secrets(service)
        done = subprocess.run(
            list(words) or self.command_of(service),
            env={**self.environment_of(service), **environment},
            cwd=self.image.app,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"{service}: {done.stderr[-4000:]}"
        return done.stdout.strip()

    def start(self, service: str, number: int, port: int = 0) -> None:
        """Start one process of a service; its log is in the folder."""
        self._copy_secrets(service)
        name = f"{service}-{number}"
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self.command_of(service, port),
                env=self.environment_of(service),
                cwd=self.folder if service == "redis" else self.image.app,
                stdout=log,
                stderr=log,
            )

    def follow(self, step: str) -> None:
        """Carry out one line of the documentation: of the shell, or `docker compose stop`, `up` or `run`."""
        if not step.startswith("docker compose "):
            subprocess.run(["bash", "-euc", step], cwd=self.folder, check=True, capture_output=True)
            return
        command, *words = shlex.split(step)[2:]
        environment: dict[str, str] = {}
        while words[0].startswith("--"):
            if words.pop(0) == "--env":
                name, _, value = words.pop(0).partition("=")
                environment[name] = value
        if command == "run":
            self.run(*words, **environment)
            return
        assert command in ("stop", "up"), step
        _stop({name: self._processes.pop(name) for name in [*self._processes] if name.rpartition("-")[0] in words})
        for service in words if command == "up" else ():
            self._start_service(service)

    def is_healthy(self, service: str, port: int = 0) -> bool:
        """What the health check of a service says."""
        form, *words = self.services[service]["healthcheck"]["test"]
        swapped = [self._localize(word, service).replace(":8000/", f":{port}/") for word in words]
        if service == "redis":
            swapped = [
                word.replace("redis-cli", f"redis-cli -p {self._addresses['redis:6379'][10:]}") for word in swapped
            ]
        done = subprocess.run(
            swapped[0] if form == "CMD-SHELL" else swapped,
            shell=form == "CMD-SHELL",
            env=self.environment_of(service),
            cwd=self.image.app,
            capture_output=True,
            timeout=120,
        )
        return done.returncode == 0

    def list_running(self) -> list[str]:
        """The processes that have not ended."""
        return sorted(name for name, process in self._processes.items() if process.poll() is None)

    def log(self, name: str) -> str:
        """What a process wrote."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def stop_all(self) -> dict[str, int]:
        """Ask every process to end in the order of `docker compose stop`; their exit statuses.

        What a service depends on ends after it: a worker that loses its broker first rightly says so.
        """
        needed = {name for service in self.services.values() for name in service.get("depends_on", ())}
        waves: tuple[dict[str, subprocess.Popen[bytes]], ...] = ({}, {})
        for name, process in self._processes.items():
            waves[name.rpartition("-")[0] in needed][name] = process
        self._processes = {}
        return {name: status for wave in waves for name, status in _stop(wave).items()}
