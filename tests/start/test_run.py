"""`scripts/run` as people use it: it starts, says where, stops on Ctrl-C, keeps its data, begins anew when asked."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.start

ROOT = Path(__file__).parents[2]
START_SECONDS = 240
STOP_SECONDS = 60


class Running:
    """One `scripts/run` with a home of its own, in a process group of its own as in a terminal."""

    def __init__(self, home: Path, *options: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
        self.process = subprocess.Popen(
            [str(ROOT / "scripts" / "run"), "--port", "0", *options],
            env={**environment, "APPLYVIZ_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output, self.url, self.took = "", "", 0.0

    def wait_until_ready(self) -> None:
        """Read what it says until it says where it is; a process that says nothing for too long is killed."""
        assert self.process.stdout is not None
        watch = threading.Timer(START_SECONDS, os.killpg, (self.process.pid, signal.SIGKILL))
        watch.start()
        try:
            for line in self.process.stdout:
                self.output += line
                if "Ctrl-C stops everything" in line:
                    self.url = re.findall(r"is ready: (http://\S+)/", self.output)[0]
                    return
        finally:
            watch.cancel()
        raise AssertionError(f"it ended with {self.process.wait()}: {self.output}")

    @property
    def accounts(self) -> dict[str, str]:
        """The demo accounts that it printed, with their passwords."""
        return dict(re.findall(r"(?m)^  (alice|bob|charlie|dora|dana) +(\S+)", self.output))

    def press_control_c(self) -> int:
        """Interrupt the whole group; the exit status."""
        began = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        assert self.process.stdout is not None
        rest, _ = self.process.communicate(timeout=STOP_SECONDS)
        self.output += rest
        self.took = time.monotonic() - began
        return self.process.returncode

    def is_group_gone(self) -> bool:
        """Whether no process of the group is left."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("home")
    return folder


@pytest.fixture
def start(home):
    started: list[Running] = []

    def start_one(*options: str) -> Running:
        running = Running(home, *options)
        started.append(running)
        running.wait_until_ready()
        return running

    yield start_one
    for running in started:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
        running.process.stdout.close()


def get(running: Running, path: str) -> int:
    with urllib.request.urlopen(f"{running.url}{path}", timeout=STOP_SECONDS) as answer:
        status: int = answer.status
        return status


def test_run_tells_its_story_and_a_second_start_keeps_it(start):
    first = start()
    assert (get(first, "/readyz"), get(first, "/login/")) == (200, 200)
    assert sorted(first.accounts) == ["alice", "bob", "charlie", "dana", "dora"]
    assert first.press_control_c() == 0
    assert "GET /" not in first.output, "the address stays on the screen"
    assert first.is_group_gone()

    second = start()

    assert second.accounts == first.accounts
    assert "Preparing the demo" not in second.output
    assert second.press_control_c() == 0


@pytest.mark.long
def test_run_begins_anew_when_asked(start):
    before = start()
    before.press_control_c()
    assert before.took < 30  # about five on an idle machine; a stop that waits for watchers takes a minute

    after = start("--reset")

    assert "Preparing the demo" in after.output
    assert after.accounts.keys() == before.accounts.keys()
    assert set(after.accounts.values()).isdisjoint(before.accounts.values())
    after.press_control_c()


def test_run_says_when_the_port_is_busy(home):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]

        done = subprocess.run(
            [str(ROOT / "scripts" / "run"), "--port", str(port)],
            env={**os.environ, "APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )

    assert done.returncode != 0
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr
    assert "Traceback" not in done.stderr
