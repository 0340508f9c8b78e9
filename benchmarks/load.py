"""Many runs at once on PostgreSQL and Redis with four worker processes: every one ends true, none acts twice.

    .venv/bin/python -m benchmarks.load [--runs 500] [--objects 10] [--idle 40] [--wide 200]

The processes are those of `docker-compose.yml`, the API server is the sandbox behind real sockets in this process.
Three figures have limits: confirm to first write when idle, overhead per object, runs that ended untrue or twice.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from applyviz.engine.objects.structs import replace
from benchmarks.__main__ import Figure, show
from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.fork_server import Forge
from tests.faults.history import Exchange
from tests.faults.kill_trials import Stage, config_map
from tests.faults.servers import CommitCutter, Postgres, Redis
from tests.services.team import Team

_BATCH = 25
_ANY = float("inf")  # told, not promised


@contextmanager
def open_installation() -> Iterator[Stage]:
    """A team installation with four worker processes, and a forge beside it."""
    with tempfile.TemporaryDirectory(prefix="applyviz-load-") as folder:
        postgres, redis = Postgres(), Redis()
        cutter = CommitCutter(postgres.port)
        try:
            team = Team(Path(folder), database=postgres.url, broker=redis.url)
            with ApiServer() as api, team:
                settings = {**team.environment, "DJANGO_SETTINGS_MODULE": "applyviz.settings", "LOG_LEVEL": "CRITICAL"}
                forge = Forge(Path(folder), settings)
                try:
                    forge.call("set_up", server=api.url)
                    yield Stage(api, postgres, cutter, forge, workers=_find_workers(team))
                finally:
                    forge.close()
        finally:
            cutter.close()
            redis.stop()
            postgres.stop()


def _find_workers(team: Team) -> list[int]:
    pid = team._processes["worker"].pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def _texts(name: str, count: int) -> list[str]:
    return [config_map(f"{name}-{n}", x="1", y="2") for n in range(count)]


def _plan_all(stage: Stage, bundles: list[list[str]]) -> list[int]:
    plans: list[int] = stage.forge.call("ask_for_plans", bundles=bundles)
    while stage.forge.call("count_unplanned"):
        time.sleep(0.2)
    return plans


def _wait(stage: Stage, runs: list[int]) -> list[str]:
    while set(states := stage.forge.call("list_states", run_ids=runs)) & {"queued", "applying"}:
        time.sleep(0.05 if len(runs) < 5 else 1)
    return list(states)


def _writes(stage: Stage) -> list[Exchange]:
    return [e for e in list(stage.api.exchanges) if e.is_write]


def _processor_time(stage: Stage) -> float:
    """The CPU time of the worker processes so far, in seconds."""
    ticks = 0
    for pid in stage.workers:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure_idle(stage: Stage, times: int) -> Iterator[Figure]:
    """From the confirmation of one object to its first write, with nothing else to do."""
    waits = []
    for plan in _plan_all(stage, [_texts(f"idle-{n}", 1) for n in range(times)]):
        stage.listen()
        began = time.time()
        run = stage.forge.call("start", plan_id=plan)
        _wait(stage, [run])
        waits.append(_writes(stage)[0].received - began)
    p95 = statistics.quantiles(waits, n=20)[-1] if len(waits) > 1 else waits[0]
    yield Figure(
        "confirm to first write, idle, p95", p95, "s", 1, f"median {statistics.median(waits):.3f} s of {times}"
    )


def _busy(exchanges: Iterable[Exchange]) -> float:
    """For how long at least one request was with the server."""
    busy, until = 0.0, 0.0
    for seen in sorted(exchanges, key=lambda e: e.received):
        busy += max(0.0, seen.answered - max(seen.received, until))
        until = max(until, seen.answered)
    return busy


def measure_overhead(stage: Stage, objects: int) -> Iterator[Figure]:
    """One run of many objects alone: its time without that in which the API server was at work."""
    (plan,) = _plan_all(stage, [_texts("wide", objects)])
    stage.listen()
    before = _processor_time(stage)
    run = stage.forge.call("start", plan_id=plan)
    _wait(stage, [run])
    computed = (_processor_time(stage) - before) / objects * 1000
    began, ended = stage.forge.call("read_times", run_id=run)
    busy = _busy(stage.api.exchanges)
    per_object = (ended - began - busy) / objects * 1000
    note = (
        f"{ended - began:.2f} s for {objects}, {busy:.2f} s of it the API server's; workers computed {computed:.1f} ms"
    )
    yield Figure("overhead per object", per_object, "ms", 15, note)


def measure_many(stage: Stage, runs: int, objects: int) -> Iterator[Figure]:
    """All of them queued at once; then every history is judged."""
    began = time.monotonic()
    plans = _plan_all(stage, [_texts(f"run-{n}", objects) for n in range(runs)])
    planned = time.monotonic() - began
    stage.listen()
    began = time.monotonic()
    started: list[int] = stage.forge.call("start_all", plan_ids=plans)
    queued = time.monotonic() - began
    states = Counter(_wait(stage, started))
    spent = time.monotonic() - began
    yield Figure(f"plan {runs} sets of {objects}", planned, "s", _ANY)
    note = f"all queued after {queued:.0f} s; {dict(states)}"
    yield Figure(f"{runs} runs of {objects} queued at once", spent, "s", _ANY, note)
    yield Figure("objects per second", runs * objects / spent, "/s", _ANY)
    twice = sum(n > 1 for n in Counter(e.place for e in _writes(stage) if e.is_effective).values())
    yield Figure("objects written twice", twice, "objects", 0, f"{sum(e.is_effective for e in _writes(stage))} written")
    yield Figure("runs that did not succeed", runs - states["applied"], "runs", 0)
    yield Figure("broken rules", sum(_judge(stage, started)), "rules", 0, "every history, by the checker of the tests")


def _judge(stage: Stage, runs: list[int]) -> Iterator[int]:
    by_name: dict[str, list[Exchange]] = {}
    for seen in stage.api.exchanges:
        by_name.setdefault(seen.place, []).append(seen)
    for n in range(0, len(runs), _BATCH):
        told = stage.forge.call("tell", run_ids=runs[n : n + _BATCH])
        own = [seen for run in told.runs for item in run.items for seen in by_name.get(item.path, ())]
        # Nobody asked the database at each write, which would be the load: what is audited is compared by time.
        times = {t.detail["request digest"]: t.at for t in told.audit if t.action == "object.intent"}
        durable = [replace(e, intents=tuple(d for d, at in times.items() if at <= e.received)) for e in own]
        yield len(find_violations(replace(told, exchanges=tuple(durable))))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").partition("\n")[0])
    for name, default in (("runs", 500), ("objects", 10), ("idle", 40), ("wide", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    print(f"{'what':<46} {'figure':<19} {'most':>4}")
    with open_installation() as stage:
        show(measure_idle(stage, asked.idle))
        show(measure_overhead(stage, asked.wide))
        show(measure_many(stage, asked.runs, asked.objects))


if __name__ == "__main__":
    main()
