"""Nobody reads the logs, the disk is full, the folder of work takes nothing: runs and requests go on or are refused.

What was done is told by the history in the database, whatever becomes of files and pipes.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from applyviz import sealing_keys
from applyviz.logsink import BackgroundHandler
from tests.faults.checker import find_violations
from tests.faults.fork_server import ROOT
from tests.faults.kill_trials import environment
from tests.keys import public_key_of
from tests.ports import free_port

pytestmark = pytest.mark.faults
SMALLEST_PIPE = 4096


@contextmanager
def _unread_pipe() -> Iterator[tuple[int, int]]:
    """A pipe that holds as little as a pipe can: (where nobody reads, where is written)."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    try:
        yield reads, writes
    finally:
        os.close(reads)
        with suppress(OSError):
            os.close(writes)


def _judge(stage, run):
    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    return history.runs[0]


def test_run_whose_worker_logs_into_a_full_pipe_goes_on(stage):
    run = stage.bring()
    pid = stage.forge.fork("work_unread", run_id=run)

    assert stage.forge.wait(pid, seconds=40) == 0
    told = _judge(stage, run)
    assert (told.state, told.epoch) == ("applied", 1)


def test_worker_whose_disk_is_full_ends_the_run_and_tells_the_truth(stage):
    run = stage.bring()
    assert stage.forge.wait(stage.forge.fork("work_without_disk", run_id=run)) == 0

    told = _judge(stage, run)
    writes = [e for e in stage.api.exchanges if e.is_write]
    assert (told.state, len(writes)) in [("applied", 3), ("failed", 0)], told.error


def test_lines_that_nobody_read_are_counted_and_told():
    with _unread_pipe() as (reads, writes):
        handler = BackgroundHandler(writes)
        for number in range(400):
            handler.emit(_record(f"line {number:04} {'x' * 90}"))
        lost = handler.lost
        seen = os.read(reads, 1 << 16)
        handler.emit(_record("afterwards"))
        later = os.read(reads, 1 << 16).decode()

    assert lost > 300
    assert seen.startswith(b"line 0000 ")
    assert later.splitlines() == [f"{lost} log lines were dropped because the reader was too slow", "afterwards"]


def test_lines_in_a_file_stay_where_they_belong(tmp_path):
    """What is printed and what is logged share one file, as after `> log 2>&1`."""
    path = tmp_path / "log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    handler = BackgroundHandler(descriptor)
    for number in range(3):
        handler.emit(_record(f"logged {number}"))
        os.write(descriptor, f"printed {number}\n".encode())
    os.close(descriptor)

    assert path.read_text().split("\n") == [
        *(line for n in range(3) for line in (f"logged {n}", f"printed {n}")),
        "",
    ]


def _record(text):
    return logging.LogRecord("test", logging.INFO, "", 0, text, (), None)


def test_requests_are_answered_while_nobody_reads_the_log(tmp_path):
    """Each request writes a line: many more than the pipe holds."""
    port = free_port()
    # Nothing here sends a message: the broker is only named.
    own = environment(tmp_path, f"sqlite:///{tmp_path / 'web.sqlite3'}") | {
        "LOG_LEVEL": "DEBUG",
        "REDIS_URL": "redis://",
    }
    own["APPLYVIZ_SEALING_KEY"] = sealing_keys.sealing_key_of(own.pop("APPLYVIZ_OPENING_KEYS"))
    own["APPLYVIZ_CHECKPOINT_PUBLIC_KEY"] = public_key_of(own.pop("APPLYVIZ_DIGEST_KEY"))
    command = ["-m", "uvicorn", "applyviz.asgi:application", "--port", str(port), "--lifespan", "off"]
    with _unread_pipe() as (_, writes):
        web = subprocess.Popen([sys.executable, *command], env=own, cwd=ROOT, stdout=writes, stderr=writes)
        try:
            answers = [_ask(port, until=time.monotonic() + 60)]
            answers += [_ask(port, until=0) for _ in range(150)]
        finally:
            web.terminate()
            ended = web.wait(20)

    assert (set(answers), ended in (0, -15)) == ({200}, True)


def _ask(port, *, until):
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
                return answer.status
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
