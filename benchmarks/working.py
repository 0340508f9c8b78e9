"""Measure the process that plans and runs, of this tree and of another one, in alternating rounds.

    .venv/bin/python -m benchmarks.working [--objects 100] [--mode server|client] [--rounds 2] [--beside TREE]
                                           [--plan-only] [--stored] [--profile FILE]

A real API server is started (`tests/controlplane`). In each round each tree plans and runs the same change in a
process of its own: Deployments of 5.7 kB, one image changed in each, on SQLite, with all the work of a worker: reading,
masking, storing, journal, audit, verification; no pages. Processor time includes the child that reads
manifests. `--plan-only` leaves the run out; `--profile` writes the stacks that `py-spy` samples (`pip install py-spy`).
`--stored` prints how many bytes each column holds per object, the largest columns first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent.parent
NAMESPACE = "by-product"
_MOST_COLUMNS = 12


def _cpu() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _read_memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


class _Queries:
    """Counts the queries of all connections."""

    def __init__(self) -> None:
        from django.db.backends.utils import CursorWrapper

        self.count = 0
        original = CursorWrapper.execute

        def execute(cursor: Any, sql: str, params: Any = None) -> Any:
            self.count += 1
            return original(cursor, sql, params)

        CursorWrapper.execute = execute  # type: ignore[method-assign, assignment]


def _end_readers() -> None:
    """End the server of the reading children, so that the time of all of them counts; earlier trees have none."""
    with suppress(ImportError):
        from applyviz.sources.fork_server import SERVERS

        SERVERS.find("applyviz.sources.reading_child").close()


def _measure(work: Callable[[], object], queries: _Queries, count: int) -> dict[str, Any]:
    cpu, wall, asked = _cpu(), time.monotonic(), queries.count
    work()
    _end_readers()
    return {
        "ms": (_cpu() - cpu) * 1000 / count,
        "seconds": time.monotonic() - wall,
        "queries": queries.count - asked,
        "peak": _read_memory("VmHWM"),
        "resident": _read_memory("VmRSS"),
    }


def _read_stored() -> dict[str, int]:
    """Return the bytes of every column of the database, and those of its file (SQLite)."""
    from django.db import connection

    with connection.cursor() as cursor:
        found = {}
        for table in connection.introspection.table_names(cursor):
            for column in connection.introspection.get_table_description(cursor, table):
                cursor.execute(f'SELECT COALESCE(SUM(LENGTH(CAST("{column.name}" AS BLOB))), 0) FROM "{table}"')
                found[f"{table}.{column.name}"] = cursor.fetchone()[0]
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        found["(file)"] = cursor.fetchone()[0]
    return found


def _list_grown(before: dict[str, int], after: dict[str, int], count: int) -> list[tuple[float, str]]:
    """Return the kilobytes per object by which each column grew, the largest first."""
    grown = ((after[name] - before[name]) / 1000 / count for name in after)
    return sorted(zip(grown, after, strict=True), reverse=True)[:_MOST_COLUMNS]


def _work(kubeconfig: Path, asked: argparse.Namespace) -> None:
    """Play one round in this process, which imports the product from its path, and print the figures as JSON."""
    import django

    django.setup()
    from benchmarks.applying import Product
    from benchmarks.live import make_files

    product, files = Product(), make_files(asked.objects, asked.version)
    cluster, queries = product.add(SimpleNamespace(kubeconfig=kubeconfig)), _Queries()
    found: dict[str, Any] = {"start": _read_memory("VmRSS")}
    from applyviz.workflow.plans import planner

    make_plan = planner.make_plan

    def make_measured(plan_id: int) -> None:
        before = _read_stored() if asked.stored else {}
        found["plan"] = _measure(lambda: make_plan(plan_id), queries, asked.objects)
        if asked.stored:
            found["plan"]["stored"] = _list_grown(before, _read_stored(), asked.objects)

    planner.make_plan = make_measured
    run = product.prepare(cluster, files, NAMESPACE, asked.mode)
    if not asked.plan_only:
        before = _read_stored() if asked.stored else {}
        found["run"] = _measure(lambda: product.run(run), queries, asked.objects)
        if asked.stored:
            found["run"]["stored"] = _list_grown(before, _read_stored(), asked.objects)
    print(json.dumps(found))


def _play(tree: Path, kubeconfig: Path, asked: argparse.Namespace, version: str) -> dict[str, Any]:
    words = [sys.executable, str(Path(__file__).resolve()), "--work", str(kubeconfig), "--version", version]
    words += ["--objects", str(asked.objects), "--mode", asked.mode]
    words += [*(["--plan-only"] if asked.plan_only else []), *(["--stored"] if asked.stored else [])]
    words = ["py-spy", "record", "-f", "raw", "-o", str(asked.profile), "--", *words] if asked.profile else words
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PYTHONPATH": str(tree), "APPLYVIZ_HOME": home, "APPLYVIZ_HTTPS": "off"}
        environment["DJANGO_SETTINGS_MODULE"] = "applyviz.settings"
        # Migrations need as much memory as a plan of hundreds of objects, and no worker runs them.
        migrate = [sys.executable, str(tree / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run(migrate, env=environment, cwd=tree, check=True)
        done = subprocess.run(words, env=environment, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return found


def _show(name: str, found: dict[str, Any]) -> None:
    for step in ("plan", "run"):
        with suppress(KeyError):
            one = found[step]
            print(
                f"{name:<10} {step:<5} {one['ms']:8.1f} {one['seconds']:9.1f} {one['queries']:8} "
                f"{found['start']:7.0f} {one['peak']:7.0f} {one['resident']:9.0f}",
                flush=True,
            )
            for kilobytes, column in one.get("stored", ()):
                print(f"{'':<17}{kilobytes:8.1f} kB per object  {column}")


def _compare(asked: argparse.Namespace) -> None:
    from benchmarks.live import Kubectl, make_files
    from tests.controlplane.binaries import find_binaries
    from tests.controlplane.controlplane import ControlPlane

    trees = {"this": HERE} | ({"beside": asked.beside.resolve()} if asked.beside else {})
    with ControlPlane(find_binaries()) as plane:
        plane.kubectl("create", "namespace", NAMESPACE)
        kubectl = Kubectl(plane, asked.mode)
        kubectl.run("apply", make_files(asked.objects, "first"), NAMESPACE)
        print(f"{asked.objects} Deployments, {asked.mode}-side; load {os.getloadavg()[0]:.1f}")
        print("tree       step  ms/object   seconds  queries   start    peak  resident  (memory in MB)")
        for number in range(asked.rounds):
            for name, tree in trees.items():
                _show(name, _play(tree, plane.kubeconfig, asked, f"{name}-{number}"))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.working", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--objects", type=int, default=100)
    parser.add_argument("--mode", choices=["client", "server"], default="server")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--beside", type=Path, help="another tree to measure in the same rounds")
    parser.add_argument("--plan-only", action="store_true")
    parser.add_argument("--stored", action="store_true")
    parser.add_argument("--profile", type=Path, help="write the stacks that py-spy samples to this file")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--version", default="first", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        _work(asked.work, asked)
    else:
        _compare(asked)


if __name__ == "__main__":
    main()
