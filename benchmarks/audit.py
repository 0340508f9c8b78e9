"""What the history costs: entries verified and exported per second, how long a page takes, how writers share it.

    .venv/bin/python -m benchmarks.audit [--entries N] [--database URL]

Writes N chained entries (100,000 unless told) in runs of 40 objects: into a database of its own that is thrown away,
SQLite unless `--database` names an empty PostgreSQL (`postgresql` alone starts one). `page`: the 50th and the 95th of
100 calls (p50, p95) after one that warms up, beside the limit. `writers`: 1 and 4 processes that add entries to runs
of their own, on PostgreSQL, against the same into one chain. Exit status 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROUNDS = 100
KINDS = ("Deployment", "Service", "ConfigMap", "Secret", "Ingress")
PAGE_LIMIT_MS, VERIFY_LIMIT_S = 300.0, 60.0
PER_RUN = 40
NAMES = ("frontend", "checkout", "payments", "catalogue", "ledger", "mailer", "search", "gateway")


def build_entry(number: int, chain: int, sequence: int, previous: str, run: int) -> Any:
    # Late: models exist only after Django is set up.
    from applyviz.records.models import AuditEntry
    from applyviz.workflow.audit import FORM, seal

    name = NAMES[number % 8]
    action = "run.started" if not chain else "object.intent" if number % 2 else "object.result"
    entry = AuditEntry(
        chain=chain,
        sequence=sequence,
        form=FORM,
        at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number * 9),
        action=action,
        actor_name=f"person-{run % 50}" if not chain else "applyviz",
        roles="approver" if not chain else "",
        session="web" if not chain else "worker",
        address=f"10.0.{run % 250}.7" if not chain else "",
        request_id=f"{number:016x}",
        cluster=f"cluster-{run % 7}",
        review=run,
        plan=1,
        run=run,
        group="apps",
        kind=KINDS[number % 5],
        namespace=f"team-{number % 30}",
        name=f"{name}-{number % 2000}",
        field_manager="ci" if number % 3 else "applyviz",
        plan_digest=f"{run:064x}",
        detail={
            "outcome": "applied and verified",
            "method": "PATCH",
            "path": f"/apis/apps/v1/namespaces/team-{number % 30}/deployments/{name}-{number % 2000}",
            "body": {"spec": {"replicas": number % 9, "image": f"registry/{name}:v{number % 900}"}},
            "note": "needle" if number % 250_000 == 7 else "",
        },
        salt=f"{number:032x}",
        previous_hash=previous,
    )
    seal(entry)
    return entry


def build_rows(count: int, heads: dict[int, tuple[int, str]]) -> Iterator[Any]:
    from applyviz.workflow.audit import GENESIS

    number, run = 0, 0
    heads[0] = (0, GENESIS)
    while number < count:
        run, number = run + 1, number + 1
        started = build_entry(number, 0, heads[0][0] + 1, heads[0][1], run)
        heads[0] = (started.sequence, started.hash)
        yield started
        chained = started.hash
        for place in range(1, min(PER_RUN, count - number) + 1):
            number += 1
            entry = build_entry(number, run, place, chained, run)
            chained, heads[run] = entry.hash, (place, entry.hash)
            yield entry


def fill(count: int) -> None:
    from applyviz.records.models import AuditEntry, AuditHead

    heads: dict[int, tuple[int, str]] = {}
    rows = build_rows(count, heads)
    while batch := list(islice(rows, 5_000)):
        AuditEntry.objects.bulk_create(batch)
    AuditHead.objects.bulk_create(
        AuditHead(chain=chain, sequence=sequence, hash=hashed) for chain, (sequence, hashed) in heads.items()
    )


def analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def measure(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def print_rates(count: int) -> bool:
    from applyviz.workflow import chain, history

    def take(form: history.ExportFormat) -> int:
        return sum(map(len, history.export_entries({}, form)))

    def verify() -> None:
        report = chain.verify_chain()
        if not report.is_intact or report.entries != count:
            raise SystemExit(f"the history is not intact: {report}")

    cpu = time.process_time()
    seconds = measure(verify)
    cpu = time.process_time() - cpu
    limit = VERIFY_LIMIT_S * max(count / 1_000_000, 0.1)
    rate = f"{count / seconds:10,.0f} entries/s"
    print(f"verify        {rate} {seconds:8.1f} s, {cpu:.1f} s of it at work (limit {limit:.0f} s)", flush=True)
    for form in history.ExportFormat:
        export = measure(partial(take, form))
        print(f"export {form.value:6} {count / export:10,.0f} entries/s", flush=True)
    return seconds <= limit


def list_pages(count: int) -> dict[str, tuple[dict[str, Any], int | None]]:
    middle = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=count * 9 // 2)
    return {
        "newest": ({}, None),
        "cluster": ({"cluster": "cluster-3"}, None),
        "object": ({"kind": "Secret", "namespace": "team-3", "name": "ledger-3"}, None),
        "kind+ns none": ({"kind": "Secret", "namespace": "team-4"}, None),
        "name": ({"name": "ledger-4"}, None),
        "nobody": ({"person": "nobody"}, None),
        "manager": ({"manager": "helm"}, None),
        "person+cluster": ({"person": "person-7", "cluster": "cluster-3"}, None),
        "action": ({"action": "run.started"}, None),
        "until": ({"until": middle.date()}, None),
        "until+two": ({"until": middle.date(), "person": "person-7", "cluster": "cluster-3"}, None),
        "a day": ({"since": middle.date(), "until": middle.date()}, None),
        "far back": ({}, count // 50),
        "text common": ({"text": "verified"}, None),
        "text some": ({"text": "ledger"}, None),
        "text prefix": ({"text": "ledg"}, None),
        "text rare": ({"text": "needle"}, None),
        "text nothing": ({"text": "a text nobody wrote"}, None),
        "text two": ({"text": "ledger person"}, None),
        "text disjoint": ({"text": "ledger v1 gateway"}, None),
        "text+filter": ({"text": "v77", "cluster": "cluster-3", "kind": "Secret"}, None),
        "text+none": ({"text": "ledger", "manager": "helm"}, None),
    }


def print_pages(count: int) -> bool:
    from applyviz.web.presenters.history import present_history

    is_good = True
    for name, (chosen, before) in list_pages(count).items():
        work = partial(present_history, chosen, before=before)
        times = sorted([measure(work) for _ in range(ROUNDS + 1)][1:])
        p50, p95 = times[ROUNDS // 2] * 1000, times[ROUNDS * 95 // 100 - 1] * 1000
        is_good = is_good and p95 <= PAGE_LIMIT_MS
        print(f"page {name:15} p50 {p50:8.1f} ms  p95 {p95:8.1f} ms (limit {PAGE_LIMIT_MS:.0f} ms)", flush=True)
    return is_good


WRITER = """
import sys, time
import django; django.setup()
from django.db import transaction
from applyviz.records.enums import AuditAction
from applyviz.workflow import audit
run, count, holds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
started = time.perf_counter()
for n in range(count):
    with transaction.atomic():
        audit.record(AuditAction.OBJECT_INTENT, by=None, about=audit.Subject(run=run or None), detail={"n": n})
        time.sleep(holds)
print(time.perf_counter() - started)
"""


def write_at_once(processes: int, *, is_shared: bool, count: int = 200, holds: float = 0.005) -> float:
    """Entries per second of so many processes; each holds its transaction open for a while, as a run does."""
    commands = [
        [sys.executable, "-c", WRITER, str(0 if is_shared else 900_000 + n), str(count), str(holds)]
        for n in range(processes)
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    seconds = [float(process.communicate()[0]) for process in running]
    return processes * count / max(seconds)


def print_writers() -> None:
    for processes in (1, 4):
        for is_shared in (True, False):
            rate = write_at_once(processes, is_shared=is_shared)
            where = "into one chain" if is_shared else "into chains of their own"
            print(f"writers {processes} {where:24} {rate:8,.0f} entries/s", flush=True)


def run_all(count: int) -> bool:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    print(f"{connection.vendor}: {count:,} entries written in {measure(lambda: fill(count)):.1f} s", flush=True)
    analyze()
    is_good = print_rates(count)
    is_good = print_pages(count) and is_good
    if connection.vendor == "postgresql":
        print_writers()
    connection.close()
    return is_good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--database", default="", help="an empty PostgreSQL by its URL, or `postgresql`")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="applyviz-benchmark-"))
    os.environ |= {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings", "DEBUG": "off"}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        database = given.database
        if database == "postgresql":
            from tests.services.servers import run_postgres

            database = stack.enter_context(run_postgres())
        if database:
            from cryptography.fernet import Fernet

            keys = {"APPLYVIZ_ENCRYPTION_KEYS": Fernet.generate_key().decode(), "APPLYVIZ_DIGEST_KEY": "k" * 40}
            os.environ |= {"DATABASE_URL": database, "SECRET_KEY": "s" * 40, **keys}
        if not run_all(given.entries):
            print("a limit was passed")
            sys.exit(1)


if __name__ == "__main__":
    main()
