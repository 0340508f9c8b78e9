"""Children of a fork server get nothing from the installation, share nothing, and end with their question."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from applyviz.sources import child, fork_server
from applyviz.sources.fork_server import SERVERS, ForkServer

CHILD = "tests.sources.probing_child"
LONG = 60.0


@pytest.fixture
def server() -> Iterator[ForkServer]:
    """Return a new fork server, and stop it after the test."""
    found = ForkServer(CHILD)
    yield found
    found.close()


def ask(server: ForkServer) -> dict[str, Any]:
    answer, code = server.ask(b"tell\n", LONG)
    assert code == 0
    found: dict[str, Any] = json.loads(answer)
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(2000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_child_has_nothing_of_ours(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLYVIZ_SECRET_KEY", "hidden")
    with open("/etc/hostname") as opened:  # noqa: PTH123 - its descriptor is what must not be there
        os.set_inheritable(opened.fileno(), True)
        found = ask(server)

    assert found["environment"] == {"LANG": "C.UTF-8"}
    assert found["folder"] == "/"
    assert found["flags"] == [1, 1]
    assert sorted(name.split(":")[0] for name in found["files"]) == ["/dev/null"] * 3 + ["pipe"] * 2


def test_children_share_a_server_and_nothing_that_a_question_did(server: ForkServer) -> None:
    first, second = ask(server), ask(server)

    assert first["server"] == second["server"] != os.getpid()
    assert (first["asked"], second["asked"]) == (["tell"], ["tell"])


@pytest.mark.parametrize(("act", "code"), [("end 9", -9), ("end 24", -24), ("raise a", 1), ("nothing", 0)])
def test_end_of_a_child_is_told(server: ForkServer, act: str, code: int) -> None:
    assert server.ask(f"{act}\n".encode(), LONG) == (b"", code)
    assert ask(server)["asked"] == ["tell"]


def test_large_questions_and_answers_arrive_whole(server: ForkServer) -> None:
    text = os.urandom(3_000_000)

    assert server.ask(b"echo\n" + text, LONG) == (text, 0)


def test_question_that_is_not_read_keeps_nobody_waiting(server: ForkServer) -> None:
    assert server.ask(b"nothing\n" + b"x" * 3_000_000, LONG) == (b"", 0)


def test_child_that_takes_too_long_is_ended(server: ForkServer) -> None:
    server.start()
    ask(server)

    answer, code = server.ask(b"sleep\n", 2.0)

    assert code is None
    wait_until(lambda: not is_alive(int(answer)))
    assert ask(server)["asked"] == ["tell"]


def test_many_threads_are_answered_by_one_server(server: ForkServer) -> None:
    texts = [str(number).encode() * 50_000 for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: server.ask(b"echo\n" + text, LONG), texts))

    assert answers == [(text, 0) for text in texts]


def test_server_that_was_killed_is_started_again(server: ForkServer) -> None:
    killed = ask(server)["server"]
    os.kill(killed, signal.SIGKILL)

    assert ask(server)["server"] != killed


def test_module_that_cannot_be_loaded_is_no_matter_of_time() -> None:
    assert ForkServer("tests.sources.no_such_child").ask(b"tell\n", LONG) == (b"", fork_server.NOT_STARTED)
    _answer, reason = child.ask_child("tests.sources.no_such_child", b"tell\n", child.ChildLimits())
    assert reason == "reading it failed: its process did not start"


def test_child_whose_supervisor_is_killed_is_no_matter_of_time(server: ForkServer) -> None:
    assert server.ask(f"orphan {signal.SIGKILL:d}\n".encode(), LONG) == (b"", 1)


def test_server_that_hangs_is_replaced(server: ForkServer) -> None:
    hung = ask(server)["server"]
    os.kill(hung, signal.SIGSTOP)

    assert server.ask(b"tell\n", 0.5) == (b"", None)
    assert not is_alive(hung)
    assert ask(server)["server"] != hung


def test_server_ends_when_nobody_asks(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "IDLE_SECONDS", 0.05)
    server.start()
    process = server._process
    assert process is not None

    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    server.start()
    assert process.returncode == 0
    assert server._process is not process, "the form that is opened next finds it loaded"
    assert ask(server)["asked"] == ["tell"]


def test_server_and_child_end_with_the_process_that_asks() -> None:
    text = (
        "import json, sys, threading, time; sys.path[:] = json.loads(sys.argv[1])\n"
        f"from applyviz.sources.fork_server import ForkServer; server = ForkServer({CHILD!r})\n"
        "print(json.loads(server.ask(b'tell\\n', 60)[0])['server'], flush=True)\n"
        "threading.Thread(target=server.ask, args=(b'sleep\\n', 60), daemon=True).start()\n"
        "time.sleep(60)"
    )
    arguments = [sys.executable, "-c", text, json.dumps(fork_server.list_search_path())]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout is not None
        pid = int(asker.stdout.readline())
        asker.kill()

    wait_until(lambda: not is_alive(pid))


def test_forked_process_has_servers_of_its_own() -> None:
    ours = ask(SERVERS.find(CHILD))["server"]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, str(ask(SERVERS.find(CHILD))["server"]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        theirs = int(told.read())
    os.waitpid(pid, 0)

    assert ours != theirs
    assert ask(SERVERS.find(CHILD))["server"] == ours
    SERVERS.find(CHILD).close()
