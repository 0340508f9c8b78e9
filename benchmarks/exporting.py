"""What it costs to take a history away: time and memory of the command, of the web server, and of the offline verifier.

Part of `benchmarks.audit`. Each is measured in a process of its own, by the most memory that the system saw it use
(`peak`), beside what that process needs before the first line; the web server is the one of `docker-compose.yml`.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

ROOT = Path(__file__).parents[1]
# Above what the process has before the first line; a history in memory takes more for 100,000 entries already.
MEMORY_LIMIT_MB = 64.0
START_SECONDS, PIECE = 60.0, 1 << 20


def run_measured(command: list[str]) -> tuple[float, float, str]:
    """Seconds, peak in MB, and what a command printed; raises when it fails."""
    started, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        # What `wait4` tells would count this process, too: the memory of a child before it became another program.
        with subprocess.Popen(command, cwd=ROOT, stdout=said) as process:
            while process.poll() is None:
                peak = max(peak, read_peak(process.pid))
                time.sleep(0.05)
        seconds = time.perf_counter() - started
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {text}")
    return seconds, peak, text


def read_peak(pid: int) -> float:
    """The most memory in MB that a process had so far; 0 when it is over."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def sign_in() -> str:
    """The cookie of a person who may export the history."""
    # Late: models exist only after Django is set up.
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    person, _ = User.objects.get_or_create(username="auditor-of-benchmarks", is_superuser=True)
    browser = Client()
    browser.force_login(person)
    name: str = settings.SESSION_COOKIE_NAME
    return f"{name}={browser.cookies[name].value}"


@contextmanager
def run_web() -> Iterator[tuple[int, int]]:
    """The web server on this database: its port and process."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "applyviz.asgi:application", "--port", str(port), "--lifespan", "off"]
    # Nothing here sends a message: the broker is only named.
    environment = {"REDIS_URL": "redis://", **os.environ, "ALLOWED_HOSTS": "127.0.0.1", "APPLYVIZ_HTTPS": "off"}
    with subprocess.Popen([*command, "--log-level", "error"], cwd=ROOT, env=environment) as process:
        try:
            wait_for_answer(port)
            yield port, process.pid
        finally:
            process.terminate()


def wait_for_answer(port: int) -> None:
    """Until the server answers; raises when it does not."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            ask(port, "/livez", "").read()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("the web server does not answer")


def ask(port: int, path: str, cookie: str) -> http.client.HTTPResponse:
    """The answer to one request, its body not read yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
    return connection.getresponse()


def print_row(what: str, count: int, seconds: float, peak: float, base: float) -> bool:
    """One line; whether it stays within the limit."""
    print(
        f"{what:22} {count / seconds:10,.0f} entries/s {seconds:8.1f} s  peak {peak:6.0f} MB, "
        f"{base:.0f} MB before the first line (limit {MEMORY_LIMIT_MB:.0f} MB more)",
        flush=True,
    )
    return peak - base <= MEMORY_LIMIT_MB


def print_web(count: int, form: str) -> bool:
    """The page's download, taken as fast as it comes."""
    cookie, lines = sign_in(), 0
    with run_web() as (port, pid):
        ask(port, "/history/", cookie).read()
        base, started = read_peak(pid), time.perf_counter()
        answer = ask(port, f"/history/export/{form}/", cookie)
        while piece := answer.read(PIECE):
            lines += piece.count(b"\n")
        seconds, peak = time.perf_counter() - started, read_peak(pid)
    if answer.status != 200 or lines < count:
        raise SystemExit(f"the export of {count} entries is {lines} lines, status {answer.status}")
    return print_row(f"web export {form}", count, seconds, peak, base)


def print_exports(count: int, folder: Path) -> bool:
    """Both forms by command and in the web, and the verifier on what was exported."""
    manage = [sys.executable, "manage.py", "audit"]
    _, base, _ = run_measured([*manage, "export", "--run", str(2**31 - 1)])
    is_good = True
    for form in ("csv", "jsonl"):
        path = folder / f"history.{form}"
        seconds, peak, _ = run_measured([*manage, "export", "--format", form, "--output", str(path)])
        is_good = print_row(f"command export {form}", count, seconds, peak, base) and is_good
        print(f"{'':22} {path.stat().st_size / 1e6:10,.0f} MB", flush=True)
        is_good = print_web(count, form) and is_good
    verifier = [sys.executable, "scripts/verify_export.py"]
    empty = folder / "empty.jsonl"
    empty.touch()
    _, base, _ = run_measured([*verifier, str(empty)])
    seconds, peak, said = run_measured([*verifier, str(folder / "history.jsonl")])
    print(said.splitlines()[0])
    return print_row("offline verifier", count, seconds, peak, base) and is_good
