"""PostgreSQL and Redis that can be killed and come back with what they had, and a proxy that cuts commits."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.ports import free_port
from tests.services.servers import _find_postgres, wait_for_port


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; False when that process has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class Postgres:
    """A PostgreSQL server on a port of its own; its data outlives its processes."""

    def __init__(self) -> None:
        self.programs, self.folder, self.port = (
            _find_postgres(),
            Path(tempfile.mkdtemp(prefix="faults-pg-")),
            free_port(),
        )
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        initdb = [str(self.programs / "initdb"), "-D", str(self.folder / "data"), "-U", "applyviz", "-A", "trust"]
        subprocess.run(
            [*initdb, "--no-sync", "-E", "UTF8"], check=True, capture_output=True, user=self.user, cwd=self.folder
        )
        self.server: subprocess.Popen[bytes] | None = None
        self.start()
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE applyviz")
        self.url = self._url("applyviz")

    def _url(self, name: str, port: int = 0) -> str:
        return f"postgres://applyviz@127.0.0.1:{port or self.port}/{name}"

    def through(self, proxy: CommitCutter) -> str:
        """The address of the database behind a proxy."""
        return self.reach(proxy.port)

    def reach(self, port: int) -> str:
        """The address of the database at another port that leads to it."""
        return self._url("applyviz", port)

    def start(self) -> None:
        """Start, and wait until it takes connections."""
        options = [
            "-D",
            str(self.folder / "data"),
            "-p",
            str(self.port),
            "-h",
            "127.0.0.1",
            "-k",
            str(self.folder),
            "-F",
            "-c",
            "track_commit_timestamp=on",
        ]
        with (self.folder / "log").open("ab") as log:
            self.server = subprocess.Popen(
                [str(self.programs / "postgres"), *options], stdout=log, stderr=log, user=self.user, cwd=self.folder
            )
        wait_for_port(self.port, self.server, "postgres")
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self._url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, "postgres does not take connections"
                time.sleep(0.05)

    def crash(self) -> None:
        """End it at once, as a power cut would for its clients; what was committed stays."""
        assert self.server is not None
        self.server.send_signal(signal.SIGCONT)
        self.server.send_signal(signal.SIGQUIT)
        self.server.wait(60)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Meanwhile none of its processes does anything; connections stand."""
        assert self.server is not None
        everybody = [self.server.pid]
        try:
            os.kill(self.server.pid, signal.SIGSTOP)  # first: from now on it starts nobody
            children = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()
            everybody += map(int, children)
            for pid in everybody:
                send_signal(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in reversed(everybody):
                send_signal(pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it and throw everything away."""
        if self.server is not None and self.server.poll() is None:
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)


class Redis:
    """A Redis server that keeps nothing, on a port that stays."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.server: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start empty."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self.port, self.server, "redis-server")

    def kill(self) -> None:
        """End it with everything it held."""
        assert self.server is not None
        self.server.kill()
        self.server.wait(20)

    def stop(self) -> None:
        """End it for good."""
        if self.server is not None and self.server.poll() is None:
            self.kill()


class CommitCutter:
    """A proxy before PostgreSQL that cuts the connection around one COMMIT.

    - `cut(n, is_done=True)`: the n-th COMMIT from now is carried out and its answer lost; else it never arrives.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.commits, self._at, self._is_done = 0, 0, True
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, number: int, *, is_done: bool) -> None:
        """Arm it; 0 lets everything pass and only counts."""
        with self._lock:
            self.commits, self._at, self._is_done = 0, number, is_done

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                client.close()
                continue
            doomed = threading.Event()
            both = [
                threading.Thread(target=self._to_server, args=(client, server, doomed), daemon=True),
                threading.Thread(target=self._to_client, args=(server, client, doomed), daemon=True),
            ]
            for one in both:
                one.start()
            threading.Thread(target=self._hang_up, args=(both, client, server), daemon=True).start()

    @staticmethod
    def _hang_up(both: list[threading.Thread], *ends: socket.socket) -> None:
        for one in both:
            one.join()
        for end in ends:
            end.close()

    def _meets_cut(self, data: bytes) -> bool:
        found = data.count(b"COMMIT\0")
        with self._lock:
            before, self.commits = self.commits, self.commits + found
            return bool(found) and before < self._at <= self.commits

    def _to_server(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        try:
            while data := client.recv(65536):
                if self._meets_cut(data):
                    doomed.set()
                    if self._is_done:
                        server.sendall(data)
                        continue
                    break
                server.sendall(data)
        except OSError:
            doomed.set()
        _close(client, server)

    def _to_client(self, server: socket.socket, client: socket.socket, doomed: threading.Event) -> None:
        try:
            while data := server.recv(65536):
                if doomed.is_set():
                    break
                client.sendall(data)
        except OSError:
            doomed.set()
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
