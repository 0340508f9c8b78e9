"""A history of 100,000 entries, on both databases: whatever a superuser touches is named.

Threat H8. `APPLYVIZ_HISTORY_SEED` repeats which entries are touched, `APPLYVIZ_HISTORY_ENTRIES` makes it shorter.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

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
from applyviz.records import full_text, triggers as guards
guards.lift("default")
with connection.cursor() as cursor:
    cursor.execute("UPDATE records_auditentry SET actor_name = 'mallory' WHERE id = {SOME}")
full_text.install("default")
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
        found.close()
        return
    with run_postgres() as database:
        found = Installation(database, home)
        found.run(FILL, seconds=SECONDS)
        yield found
        found.close()


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
