"""Memory of each process of a team installation over many plans, and what a planned object adds to the database.

    .venv/bin/python -m benchmarks.memory [--objects 300] [--rounds 10] [--last 1000] [--mode server|client]

PostgreSQL, Redis and a real API server are started (`tests/controlplane`), and web, workers for plans, scans and short
work with the commands of `docker-compose.yml`. In each round Alice plans the same Deployments with another
image, Bob reads every tab of the plan, and the whole cluster is scanned; the last round plans and scans more objects.
Resident memory is that of the largest process of each service, as Linux counts it: shared pages count in each. Two
figures have limits: 300 MB in the last round, and 1.2 times the memory at the start after the rounds before it. The
start is when each process has loaded what any plan needs: after the first round.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from benchmarks.live import OURS, PASSWORD, Compose, Kubectl, People, make_files
from benchmarks.processes import list_processes, read_memory
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.services.browsing import Browser
from tests.services.servers import run_postgres, run_redis, wait_for_port
from tests.services.team import Team

SERVICES = ("web", "worker-plans", "worker-scans")
MOST_MB, MOST_GROWTH, MOST_KB = 300, 1.2, 30
_LARGEST = 6
_TABS = ("", "overview/", "changes/", "changes/objects/", "graph/", "owners/", "requests/", "activity/", "risks/")
_REQUEST = """
from applyviz.records.models import Cluster
from applyviz.workflow.live import scans
print(scans.request_scan(Cluster.objects.get(slug="real"), by=None).pk)
"""
_SIZES = """
SELECT json_object_agg(relname, pg_total_relation_size(oid))::text FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""


class ManyWorkers(Team):
    """A team whose queues have workers of their own, as in `docker-compose.yml`; of the others one is enough."""

    def __enter__(self) -> ManyWorkers:
        self.run("migrate")
        for name in (*SERVICES, "worker-short", "beat"):
            self.start(name)
        wait_for_port(self.port, self._processes["web"], "web")
        return self


class Watch:
    """Reads the memory of each service all the time; `peaks` are the highest of any of its processes, in MB."""

    def __init__(self, team: Team) -> None:
        self._team, self.peaks = team, dict.fromkeys(SERVICES, 0.0)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            for service, found in self.read().items():
                self.peaks[service] = max(self.peaks[service], found)

    def read(self) -> dict[str, float]:
        """Return the memory of the largest process of each service now."""
        pids = {service: list_processes(self._team.pid(service)) for service in SERVICES}
        return {service: max(map(read_memory, found)) for service, found in pids.items()}


def _read_pages(bob: Browser, review: int) -> None:
    bob.get(f"/reviews/{review}/")
    for tab in _TABS:
        bob.get(f"/reviews/{review}/plans/1/{tab}")


def _read_sizes(team: Team) -> Counter[str]:
    """Return the bytes of each table, with its indexes and what is stored beside it."""
    return Counter(json.loads(team.query(_SIZES)))


def _plan(team: Team, people: People, files: dict[str, str]) -> tuple[int, Counter[str]]:
    """Plan the files of a new review; return its number, and by how many bytes each table grew."""
    before, began = _read_sizes(team), time.monotonic()
    review = people.open_review(files)
    people.follow(f"/reviews/{review}/plans/1/events/", began)
    state = f"SELECT p.state FROM records_plan p JOIN records_review r ON r.id = p.review_id WHERE r.number = {review}"
    team.wait_for(state, "complete")
    return review, _read_sizes(team) - before


def _scan(team: Team) -> None:
    scan = team.python(_REQUEST)
    team.wait_for(f"SELECT finished_at IS NOT NULL FROM records_clusterscan WHERE id = {scan}", True)
    problem = team.query(f"SELECT problem FROM records_clusterscan WHERE id = {scan}")
    if problem:
        raise RuntimeError(problem)


def _show(name: str, found: dict[str, float], peaks: dict[str, float]) -> None:
    cells = (f"{found[service]:7.0f} {peaks[service]:6.0f}" for service in SERVICES)
    print(f"{name:<12}" + "  ".join(f"{cell:<16}" for cell in cells), flush=True)


def measure(team: Team, asked: argparse.Namespace, people: People) -> bool:
    """Play the rounds and print the figures; return whether each is within its limit."""
    bob = Browser(team.port)
    bob.sign_in("bob", PASSWORD.format("bob"))
    print("service     " + "  ".join(f"{service:<16}" for service in SERVICES))
    print("            " + "  ".join(f"{'MB    peak':>14}  " for _ in SERVICES))
    with Watch(team) as watch:
        base: dict[str, float] = {}
        found, grown = watch.read(), Counter[str]()
        _show("idle", found, watch.peaks)
        for number in range(1, asked.rounds + 1):
            review, added = _plan(team, people, make_files(asked.objects, f"round-{number}"))
            _read_pages(bob, review)
            _scan(team)
            found, grown = watch.read(), grown + added
            base = base or found
            _show(f"round {number}", found, watch.peaks)
        growth = {service: found[service] / base[service] for service in SERVICES}
        review, _ = _plan(team, people, make_files(asked.last, "last"))
        _read_pages(bob, review)
        _scan(team)
        _show(f"{asked.last} objects", watch.read(), watch.peaks)
    parts = {name: size / 1000 / asked.objects / asked.rounds for name, size in grown.most_common()}
    stored = sum(parts.values())
    print(f"{stored:.1f} kB per planned object in the database (most {MOST_KB}), of which")
    for name, size in list(parts.items())[:_LARGEST]:
        print(f"{size:5.1f} kB {name}")
    print("growth      " + "  ".join(f"{growth[service]:14.2f}  " for service in SERVICES) + f"(most {MOST_GROWTH})")
    return max(growth.values()) <= MOST_GROWTH and max(watch.peaks.values()) <= MOST_MB and stored <= MOST_KB


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=(__doc__ or "").partition("\n")[0])
    for name, default in (("objects", 300), ("rounds", 10), ("last", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--mode", choices=["client", "server"], default="server")
    asked = parser.parse_args()
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(find_binaries()))
        plane.kubectl("create", "namespace", OURS)
        Kubectl(plane, asked.mode).run("apply", make_files(asked.last, "first"), OURS)
        first = plane.kubectl("get", "--raw", f"/apis/apps/v1/namespaces/{OURS}/deployments?limit=1").stdout
        size = len(json.dumps(json.loads(first)["items"][0], separators=(",", ":"))) / 1000
        print(f"{asked.last} Deployments, live {size:.1f} kB each, {asked.mode}-side; load {os.getloadavg()[0]:.1f}")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="applyviz-memory-")))
        database, broker = stack.enter_context(run_postgres()), stack.enter_context(run_redis())
        team = stack.enter_context(ManyWorkers(folder, database=database, broker=broker))
        return 0 if measure(team, asked, People(Compose(team, plane.kubeconfig), asked.mode)) else 1


if __name__ == "__main__":
    sys.exit(main())
