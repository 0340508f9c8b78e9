"""A history of 100,000 entries, on both databases: whatever a superuser touches is named, and old ones are brought up.

Threat H8. `APPLYVIZ_HISTORY_SEED` repeats which entries are touched, `APPLYVIZ_HISTORY_ENTRIES` makes it shorter.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.services.servers import run_postgres
from tests.services.test_history import Installation

pytestmark = pytest.mark.long
COUNT = int(os.environ.get("APPLYVIZ_HISTORY_ENTRIES") or 100_000)
SOME, ROUNDS, SECONDS = COUNT * 7 // 9, 3, 3_600
FILL = f"from benchmarks.audit import fill; fill({COUNT})"
TOUCH = """
import sys
from tests.services.touching import touch_all
for line in touch_all(sys.argv[1], int(sys.argv[2])):
    print(line, flush=True)
"""
TAMPER = f"""
from django.db import connection
from applyviz.records import guards
guards.remove("default")
with connection.cursor() as cursor:
    cursor.execute("UPDATE records_auditentry SET actor_name = 'mallory' WHERE id = {SOME}")
guards.install("default")
from applyviz.records.models import AuditEntry
print(AuditEntry.objects.get(pk={SOME}).sequence, AuditEntry.objects.get(pk={SOME}).chain)
"""


@pytest.fixture(scope="module", params=["postgresql", "sqlite"])
def installation(request, tmp_path_factory) -> Iterator[Installation]:
    """One with a long history."""
    home = tmp_path_factory.mktemp("home")
    if request.param == "sqlite":
        found = Installation(f"sqlite:///{home / 'history.sqlite3'}", home)
        found.run(FILL, seconds=SECONDS)
        yield found
        return
    with run_postgres() as database:
        found = Installation(database, home)
        found.run(FILL, seconds=SECONDS)
        yield found


def test_whatever_a_superuser_touches_in_a_long_history_is_named(installation):
    seed = os.environ.get("APPLYVIZ_HISTORY_SEED") or secrets.token_hex(4)

    said = installation.run(TOUCH, seed, str(ROUNDS), seconds=SECONDS)

    assert [line for line in said if "NOT NAMED" in line] == [], f"APPLYVIZ_HISTORY_SEED={seed}"
    assert (len(said), said[-1]) == (7 * ROUNDS + 3, "intact")


def test_processes_side_by_side_name_the_same_entry(installation):
    assert f"{COUNT} entries are intact" in installation.manage("audit", "verify", "--processes", "2", seconds=SECONDS)
    [place] = installation.run(TAMPER)
    sequence, chain = place.split()

    for processes in ("1", "2"):
        said = installation.manage("audit", "verify", "--processes", processes, seconds=SECONDS)
        assert f"entry {sequence} of the chain of run {chain} is bad: its content is not what was written" in said


# As they were written before entries had bodies with hashes of their own, chains of runs and words.
OLD = f"""
from datetime import UTC, datetime, timedelta
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from itertools import islice
from applyviz.workflow import audit

call_command("migrate", "records", "0009", verbosity=0)
apps = MigrationExecutor(connection).loader.project_state([("records", "0009_undoing")]).apps
Entry, Head = apps.get_model("records", "AuditEntry"), apps.get_model("records", "AuditHead")

def rows():
    previous = "0" * 64
    for number in range(1, {COUNT} + 1):
        values = dict(
            sequence=number, at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number), action="object.result",
            actor_name="applyviz", request_id=f"{{number:016x}}", cluster="demo", review=1, plan=1,
            run=number // 40 + 1, group="apps", kind="Deployment", namespace="shop", name=f"web-{{number % 500}}",
            field_manager="ci",
            plan_digest=f"{{number:064x}}", detail={{"note": f"umbrella {{number}}", "ratio": 0.5, "ü": [None, True]}},
            previous_hash=previous,
        )
        previous = audit.hash_entry(values | {{"form": 1, "actor_id": None}})
        yield Entry(**values, hash=previous)

written, last = rows(), ""
while batch := list(islice(written, 5000)):
    Entry.objects.bulk_create(batch)
    last = batch[-1].hash
Head.objects.update_or_create(id=1, defaults={{"sequence": {COUNT}, "hash": last}})
"""
NEW = f"""
import time
from django.core.management import call_command
started = time.monotonic()
call_command("migrate", verbosity=0)
print(time.monotonic() - started)
from applyviz.records.enums import AuditAction
from applyviz.workflow import audit, chain, history
audit.record(AuditAction.OBJECT_RESULT, by=None, about=audit.Subject(run=7), detail={{"note": "after"}})
report = chain.verify_chain()
print(report.bad or report.entries)
print([history.find_entries({{"text": text}}).count() for text in ("umbrella {SOME}", "umbr")])
"""


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite"])
def test_long_history_of_an_earlier_version_is_brought_up(vendor, tmp_path):
    with run_postgres() if vendor == "postgresql" else nullcontext(f"sqlite:///{tmp_path / 'old.sqlite3'}") as database:
        old = Installation(database, tmp_path, is_migrated=False)
        old.run(OLD, seconds=SECONDS)

        seconds, entries, found = old.run(NEW, seconds=SECONDS)

    assert (entries, found) == (str(COUNT + 1), f"[1, {COUNT}]")
    assert float(seconds) < SECONDS
