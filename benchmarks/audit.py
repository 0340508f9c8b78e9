"""What the history costs: to verify it, to page through it, to take it away, and to write it side by side.

    .venv/bin/python -m benchmarks.audit [--entries N] [--database URL]

Writes N chained entries (100,000 unless told) in runs of 40 objects: into a database of its own that is thrown away,
SQLite unless `--database` names an empty PostgreSQL (`postgresql` alone starts one). `page`: the 50th and the 95th of
100 calls (p50, p95) after one that warms up, beside the limit. Exports: `benchmarks/exporting.py`. `writers`: 1 and 4
processes that add entries to runs of their own, on PostgreSQL, against the same into one chain. Exit status 1 when a
limit is passed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.exporting import print_exports

ROUNDS = 100
KINDS = ("Deployment", "Service", "ConfigMap", "Secret", "Ingress")
PAGE_LIMIT_MS, VERIFY_LIMIT_S = 300.0, 60.0
PER_RUN = 40
PROCESSES = len(os.sched_getaffinity(0))
NAMES = ("frontend", "checkout", "payments", "catalogue", "ledger", "mailer", "search", "gateway")


def build_values(number: int, chain: int, sequence: int, previous: str, run: int, action: str) -> dict[str, Any]:
    """The columns of an entry but for hashes and words."""
    name, is_global = NAMES[number % 8], not chain
    return {
        "id": number,
        "chain": chain,
        "sequence": sequence,
        "at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number * 9),
        "action": action,
        "actor_id": None,
        "actor_name": f"person-{run % 50}" if action == "run.started" else "applyviz",
        "roles": "approver" if action == "run.started" else "",
        "session": "web" if is_global else "worker",
        "address": f"10.0.{run % 250}.7" if is_global else "",
        "agent": "",
        "request_id": f"{number * 2654435761 % 2**64:016x}",
        "cluster": f"cluster-{run % 7}",
        "review": run,
        "plan": 1,
        "run": run,
        "group": "" if is_global else "apps",
        "kind": "" if is_global else KINDS[number % 5],
        "namespace": "" if is_global else f"team-{number % 30}",
        "name": "" if is_global else f"{name}-{number % 2000}",
        "field_manager": "ci" if number % 3 else "applyviz",
        "plan_digest": f"{run * 11400714819323198485 % 2**256:064x}",
        "detail": build_detail(number, name),
        "salt": f"{number * 6364136223846793005 % 2**128:032x}",
        "pruned_by": None,
        "previous_hash": previous,
    }


def build_detail(number: int, name: str) -> dict[str, Any]:
    return {
        "outcome": "applied",
        "method": "PATCH",
        "path": f"/apis/apps/v1/namespaces/team-{number % 30}/deployments/{name}-{number % 2000}",
        "body": {"spec": {"replicas": number % 9, "image": f"registry/{name}:v{number % 900}"}},
        "note": "needle" if number % 250_000 == 7 else "",
        "changes": [
            {"path": ".spec.replicas" if number % 3 else ".data.level", "before": "1", "after": str(number % 9)},
            {"path": f'.spec.containers[name="{name}"].image', "before": "", "after": f"{name}:v{number % 900}"},
        ],
    }


def seal(values: dict[str, Any]) -> dict[str, Any]:
    """With the words that are searched, and both hashes."""
    # Late: models exist only after Django is set up.
    from applyviz.engine.objects.values import canonical_json
    from applyviz.records.full_text import collect_words
    from applyviz.workflow.audit import trail as audit

    detail = canonical_json(values["detail"])
    values["words"] = collect_words((values[name] for name in audit.SEARCHED), values["detail"], detail)
    values["detail_hash"] = audit.hash_detail(values["salt"], detail)
    values["hash"] = audit.hash_entry(values)
    return values


def build_rows(count: int, heads: dict[int, tuple[int, str]]) -> Iterator[dict[str, Any]]:
    """Runs one behind the other: the start, what happens to 40 objects, and the end, which names the run's head."""
    from applyviz.workflow.audit.trail import GENESIS

    number, run = 0, 0
    heads[0] = (0, GENESIS)

    def tell(action: str, **told: Any) -> dict[str, Any]:
        values = build_values(number, 0, heads[0][0] + 1, heads[0][1], run, action)
        values["detail"] |= told
        heads[0] = (heads[0][0] + 1, seal(values)["hash"])
        return values

    while number < count:
        run, number = run + 1, number + 1
        yield tell("run.started")
        chained = heads[0][1]
        for place in range(1, min(PER_RUN, count - number) + 1):
            number += 1
            values = build_values(number, run, place, chained, run, "object.result" if place % 2 else "object.intent")
            chained = seal(values)["hash"]
            heads[run] = (place, chained)
            yield values
        if number < count:
            number += 1
            yield tell("run.finished", heads={str(run): "{}:{}".format(*heads[run])})


def fill_postgresql(columns: list[str], rows: Iterator[dict[str, Any]]) -> None:
    from django.db import connection

    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor, cursor.copy(f"COPY records_auditentry ({names}) FROM STDIN") as copy:
        for values in rows:
            values["detail"] = json.dumps(values["detail"])
            copy.write_row([values[name] for name in columns])


def fill_sqlite(columns: list[str], rows: Iterator[dict[str, Any]]) -> None:
    from django.db import connection, transaction

    names = ", ".join(f'"{name}"' for name in columns)
    statement = f"INSERT INTO records_auditentry ({names}) VALUES ({', '.join(['?'] * len(columns))})"

    def bind(values: dict[str, Any]) -> list[Any]:
        values["detail"] = json.dumps(values["detail"])
        values["at"] = str(values["at"].replace(tzinfo=None))
        return [values[name] for name in columns]

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER audit_words_insert")
        cursor.connection.executemany(statement, map(bind, rows))
        cursor.execute("INSERT INTO audit_words(audit_words) VALUES ('rebuild')")


def fill(count: int) -> None:
    """Write all entries; indexes are made afterwards, as a restore does."""
    from django.db import connection

    from applyviz.records import full_text as words
    from applyviz.records.models import AuditEntry, ChainEnd

    columns = [str(field.column) for field in AuditEntry._meta.concrete_fields]
    heads: dict[int, tuple[int, str]] = {}
    with connection.schema_editor() as editor:
        for index in AuditEntry._meta.indexes:
            editor.remove_index(AuditEntry, index)
        if connection.vendor == "postgresql":
            editor.execute("DROP INDEX audit_by_beginnings")
    write = fill_postgresql if connection.vendor == "postgresql" else fill_sqlite
    write(columns, build_rows(count, heads))
    with connection.schema_editor() as editor:
        for index in AuditEntry._meta.indexes:
            editor.add_index(AuditEntry, index)
    words.install("default")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(pg_get_serial_sequence('records_auditentry', 'id'), %s)", [count])
    ChainEnd.objects.bulk_create(
        (ChainEnd(chain=chain, sequence=sequence, hash=hashed) for chain, (sequence, hashed) in heads.items()),
        batch_size=5_000,
    )


def analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def work_time() -> float:
    """Seconds at work of this process and of those it waited for; the database's are not among them."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def print_rates(count: int) -> bool:
    from applyviz.workflow.audit import chain

    def verify() -> None:
        report = chain.verify_chain(processes=PROCESSES)
        if not report.is_intact or report.entries != count:
            raise SystemExit(f"the history is not intact: {report}")

    cpu = work_time()
    seconds = measure(verify)
    cpu = work_time() - cpu
    limit = VERIFY_LIMIT_S * max(count / 1_000_000, 0.1)
    rate = f"{count / seconds:10,.0f} entries/s"
    print(f"verify        {rate} {seconds:8.1f} s, {cpu:.1f} s of it at work (limit {limit:.0f} s)", flush=True)
    return seconds <= limit


def list_pages(count: int) -> dict[str, tuple[dict[str, Any], int | None]]:
    middle = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=count * 9 // 2)
    return {
        "newest": ({}, None),
        "cluster": ({"cluster": "cluster-3"}, None),
        "object": ({"kind": "Secret", "namespace": "team-3", "name": "ledger-3"}, None),
        "kind+ns none": ({"kind": "Secret", "namespace": "team-4"}, None),
        "name": ({"name": "ledger-4"}, None),
        "kind start": ({"kind": "dep"}, None),
        "name start": ({"name": "LEDGER-19"}, None),
        "word of names": ({"cluster": "3", "namespace": "12"}, None),
        "field": ({"field": "spec.replicas"}, None),
        "field+name": ({"field": "image", "name": "ledger-4"}, None),
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


def list_works(count: int) -> dict[str, Callable[[], object]]:
    """What is measured by name: pages of the history as a filter chooses them, and evidence for a month."""
    from django.contrib.auth.models import User

    from applyviz.web.history.pages.entries import present_history
    from applyviz.web.history.pages.evidence import present_evidence
    from applyviz.workflow.evidence.report import Period

    auditor, _ = User.objects.get_or_create(username="auditor", is_superuser=True)
    works: dict[str, Callable[[], object]] = {
        name: partial(present_history, chosen, before=before) for name, (chosen, before) in list_pages(count).items()
    }
    month = Period(date(2026, 2, 1), date(2026, 2, 28))
    return works | {"evidence": partial(present_evidence, month, for_user=auditor)}


def print_pages(count: int) -> bool:
    is_good = True
    for name, work in list_works(count).items():
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
from applyviz.workflow.audit import trail as audit
run, count, holds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
started = time.perf_counter()
for n in range(count):
    with transaction.atomic():
        audit.record(AuditAction.OBJECT_INTENT, by=None, about=audit.AuditSubject(run=run or None), detail={"n": n})
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


def run_all(count: int, folder: Path) -> bool:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    print(f"{connection.vendor}: {count:,} entries written in {measure(lambda: fill(count)):.1f} s", flush=True)
    analyze()
    is_good = print_rates(count)
    is_good = print_pages(count) and is_good
    is_good = print_exports(count, folder) and is_good
    if connection.vendor == "postgresql":
        print_writers()
    connection.close()
    return is_good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--database", default="", help="an empty PostgreSQL by its URL, `postgresql`, `sqlite`")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="applyviz-benchmark-"))
    os.environ |= {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings", "DEBUG": "off"}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        database = "" if given.database == "sqlite" else given.database
        if database == "postgresql":
            from tests.services.servers import run_postgres

            database = stack.enter_context(run_postgres())
        if database:
            from applyviz.sealing_keys import make_opening_key

            names = ("SECRET_KEY", "APPLYVIZ_DIGEST_KEY", "APPLYVIZ_WEB_KEY", "APPLYVIZ_APPROVAL_KEY")
            keys = {name: f"a-key-for-this-measurement-alone-{name}" for name in names}
            os.environ |= {"DATABASE_URL": database, "APPLYVIZ_OPENING_KEYS": make_opening_key(), **keys}
        if not run_all(given.entries, home):
            print("a limit was passed")
            sys.exit(1)


if __name__ == "__main__":
    main()
