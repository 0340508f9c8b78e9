"""One trial: a run on stage, one fault in it, other workers that finish, and the history of it all."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from applyviz import sealing_keys
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, MERGE_PATCH, Request
from applyviz.engine.objects.structs import replace
from tests.faults.apiserver import ApiServer
from tests.faults.durable import Durable
from tests.faults.fork_server import ROOT, Forge
from tests.faults.history import Exchange, History
from tests.faults.points import SLOW, Point
from tests.faults.servers import CommitCutter, Postgres

MAPS = "/api/v1/namespaces/default/configmaps"


def environment(folder: Path, database: str) -> dict[str, str]:
    """The settings of a team installation whose keys only this test knows."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        "DJANGO_SETTINGS_MODULE": "applyviz.settings",
        "DATABASE_URL": database,
        "SECRET_KEY": "a-key-that-only-this-test-knows-0123456789",
        "APPLYVIZ_DIGEST_KEY": "another-key-that-only-this-test-knows",
        "APPLYVIZ_WEB_KEY": "the-key-of-counters-that-only-this-test-knows",
        "APPLYVIZ_APPROVAL_KEY": "the-key-of-approvals-that-only-this-test-knows",
        "APPLYVIZ_OPENING_KEYS": sealing_keys.make_opening_key(),
        "APPLYVIZ_HTTPS": "off",
        "APPLYVIZ_LEASE_SECONDS": "18",
        "APPLYVIZ_HOME": str(folder / "home"),
        "ALLOWED_HOSTS": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
        "LOG_LEVEL": "CRITICAL",
    }


def config_map(name: str, namespace: str = "default", **data: str) -> str:
    """A ConfigMap as YAML."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {data}\n"


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"


@dataclass
class Stage:
    """Everything a trial needs: an API server, a database with its proxy, a forge."""

    api: ApiServer
    postgres: Postgres
    cutter: CommitCutter
    forge: Forge
    struck: bool = False
    workers: list[int] = field(default_factory=list)

    def seed(self) -> None:
        """The cluster before every trial: one object that will change, one that will not, one to be pruned."""
        self.api.begin()
        for name, data in (("changed", {"x": "1", "y": "1"}), ("same", {"x": "1"})):
            self.apply_as("applyviz", name, data)

    def apply_as(self, manager: str, name: str, data: Mapping[str, str]) -> None:
        """Somebody applies a ConfigMap with force."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}
        query = {"fieldManager": manager, "force": "true"}
        assert self.api.act(Request("PATCH", f"{MAPS}/{name}", query, APPLY_PATCH, body)).is_ok

    def edit(self, name: str, body: Mapping[str, Any]) -> None:
        """Somebody edits a ConfigMap."""
        self.api.act(Request("PATCH", f"{MAPS}/{name}", {"fieldManager": "kubectl-edit"}, MERGE_PATCH, dict(body)))

    def bring(self, **options: Any) -> int:
        """A run of four objects in two steps that waits for a worker; what was heard before is forgotten."""
        self.seed()
        texts = [
            NAMESPACE,
            config_map("changed", x="2", y="1"),
            config_map("same", x="1"),
            config_map("new", "shop", a="1"),
        ]
        run: int = self.forge.call("stage", texts=texts, **options)
        self.listen()
        return run

    def namespace(self, name: str) -> Request:
        """A request that makes a namespace."""
        return Request("POST", "/api/v1/namespaces", {}, JSON, {"metadata": {"name": name}})

    def listen(self) -> None:
        """Forget what was heard so far."""
        self.api.exchanges, self.api.number = [], 0
        if isinstance(self.api.durable, Durable):
            self.api.durable.since = time.time()

    def tell(self, *runs: int, is_settled: bool = True) -> History:
        """What happened."""
        self.ask_what_was_open()
        told: History = self.forge.call("tell", run_ids=list(runs), is_settled=is_settled)
        return replace(told, exchanges=tuple(self.api.exchanges))

    @property
    def asked_later(self) -> int:
        """About how many writes the database was asked later, because it was down when they arrived."""
        return self.api.durable.asked_later if isinstance(self.api.durable, Durable) else 0

    def ask_what_was_open(self) -> None:
        """Ask the database again about the writes that arrived while it was down."""
        if isinstance(self.api.durable, Durable):
            for seen in self.api.exchanges:
                if seen.is_write and seen.intents is None:
                    self.api.durable.ask_later(seen)

    def mutate(self, mutation: str) -> None:
        """Another actor changes live objects."""
        match mutation:
            case "field":
                self.edit("changed", {"data": {"x": "by hand"}})
            case "other field":
                self.edit("changed", {"data": {"other": "by hand"}})
            case "labels":
                self.edit("changed", {"metadata": {"labels": {"team": "shop"}}})
            case "owner":
                self.apply_as("somebody", "changed", {"x": "1"})
            case "status":
                self.edit("same", {"metadata": {"annotations": {"seen": str(time.time())}}})
            case "delete" | "anew":
                self.api.act(Request("DELETE", f"{MAPS}/changed"))
                if mutation == "anew":
                    self.apply_as("applyviz", "changed", {"x": "1", "y": "1"})
            case "appear":
                body = {"metadata": {"name": "new"}, "data": {"a": "by hand"}}
                self.api.act(Request("POST", MAPS.replace("default", "shop"), {}, JSON, body))


@contextmanager
def open_stage(folder: Path) -> Iterator[Stage]:
    """Start everything, and end it."""
    postgres = Postgres()
    cutter, durable = CommitCutter(postgres.port), Durable(postgres.url)
    try:
        with ApiServer(durable=durable) as api:
            forge = Forge(folder, environment(folder, postgres.url))
            try:
                forge.call("set_up", server=api.url)
                yield Stage(api, postgres, cutter, forge)
            finally:
                forge.close()
    finally:
        cutter.close()
        durable.close()
        postgres.stop()


def _is_halted(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "Z", "t")


def wait_until_halted(pid: int) -> bool:
    """Until a process stands still: True when it halted, False when it ended."""
    deadline = time.monotonic() + 30
    while not _is_halted(pid):
        assert time.monotonic() < deadline, f"process {pid} neither halted nor ended"
        time.sleep(0.005)
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _kill(stage: Stage, point: Point, run: int) -> None:
    status = stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=f"{point.what}@{point.number}"))
    stage.struck = status == -signal.SIGKILL


def _halt(stage: Stage, point: Point, run: int) -> None:
    pid = stage.forge.fork("work", run_id=run, failpoint=f"{point.what}@{point.number}:stop")
    stage.struck = wait_until_halted(pid)
    if stage.struck:
        stage.forge.call("finish", run_id=run)
        os.kill(pid, signal.SIGCONT)
    stage.forge.wait(pid)


def _trace(stage: Stage, point: Point, run: int) -> None:
    pid = stage.forge.fork("work", run_id=run, is_halted=True)
    wait_until_halted(pid)
    inject = f"inject={point.what}:signal=KILL:when={point.number}"
    command = ["strace", "-f", "-p", str(pid), "-e", f"trace={point.what}", "-e", inject, "-o", "/dev/null"]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    assert "attached" in line, line
    os.kill(pid, signal.SIGCONT)
    stage.struck = stage.forge.wait(pid) == -signal.SIGKILL
    stage.struck |= "SIGKILL" in tracer.communicate(timeout=120)[1]


def _misbehave(stage: Stage, point: Point, run: int) -> None:
    def choose(seen: Exchange, number: int) -> str:
        stage.struck |= number == point.number
        return point.what if number == point.number else ""

    stage.api.choose = choose
    patience = 1.0 if point.what in SLOW else 0.0
    stage.forge.wait(stage.forge.fork("work", run_id=run, patience=patience))


def _interfere(stage: Stage, point: Point, run: int) -> None:
    def before(seen: Exchange, number: int) -> None:
        if number == point.number:
            stage.struck = True
            stage.mutate(point.what)

    stage.api.before = before
    stage.forge.wait(stage.forge.fork("work", run_id=run))


def _cut_commit(stage: Stage, point: Point, run: int) -> None:
    stage.cutter.cut(point.number, is_done=point.what == "unanswered")
    stage.forge.wait(stage.forge.fork("work", run_id=run, database=f"127.0.0.1:{stage.cutter.port}"))
    stage.struck = stage.cutter.commits >= point.number
    stage.cutter.cut(0, is_done=True)


_WAYS = {
    "kill": _kill,
    "halt": _halt,
    "system call": _trace,
    "api": _misbehave,
    "actor": _interfere,
    "commit": _cut_commit,
}


def try_point(stage: Stage, point: Point) -> History:
    """A run with this fault in it, finished by other workers; what happened."""
    run, stage.struck = stage.bring(), False
    _WAYS[point.kind](stage, point, run)
    stage.forge.call("finish", run_id=run)
    return stage.tell(run)


@dataclass(frozen=True)
class Kill:
    """Where a worker is killed: at its request of this number or, where that is lost, at its write of this number.

    A run writes several objects at once, so that the number of a request alone does not say which one is a write.
    """

    number: int
    is_lost: bool = False


def list_kills(seen: Sequence[Exchange]) -> list[Kill]:
    """Each request of a run; a write once carried out and once lost."""
    writes = sum(one.is_write for one in seen)
    return [Kill(n + 1) for n in range(len(seen))] + [Kill(n + 1, is_lost=True) for n in range(writes)]


def kill_at(stage: Stage, run: int, kill: Kill) -> bool:
    """Kill a worker at this request; the server is done with all it sent when this returns."""
    pid = stage.forge.fork("work", run_id=run, is_halted=True)
    assert wait_until_halted(pid)
    standing, met, struck = frozenset(stage.api.http.served), [0], []

    def choose(seen: Exchange, number: int) -> str:
        met[0] += seen.is_write or not kill.is_lost
        if struck or met[0] != kill.number:
            return ""
        struck.append(number)
        os.kill(pid, signal.SIGKILL)
        return "cut before acting" if kill.is_lost else ""

    stage.api.choose = choose
    os.kill(pid, signal.SIGCONT)
    is_killed = bool(stage.forge.wait(pid) == -signal.SIGKILL)
    stage.api.wait_for_the_dead(standing)
    stage.api.choose = lambda seen, number: ""
    return is_killed and bool(struck)
