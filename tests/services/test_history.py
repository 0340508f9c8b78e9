"""The history on PostgreSQL: runs write side by side, the superuser is found out, full text, retention."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from applyviz import sealing_keys
from tests.services.forks import MANAGE, Forks
from tests.services.servers import run_postgres

pytestmark = pytest.mark.services
ROOT = Path(__file__).parents[2]

WRITE = """
import sys
from django.db import transaction
from applyviz.records.enums import AuditAction
from applyviz.workflow.audit import trail as audit
run = int(sys.argv[1])
about = audit.AuditSubject(cluster="box", run=run)
audit.record(AuditAction.RUN_STARTED, by=None, about=about)
for number in range(100):
    with transaction.atomic():
        audit.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"note": f"umbrella {run} {number}"})
audit.record(AuditAction.RUN_FINISHED, by=None, about=about)
"""
VERIFY = """
from applyviz.workflow.audit import chain
report = chain.verify_chain()
print(report.bad or f"{report.entries} entries, {report.runs} runs")
"""
TAMPER = """
import sys
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("ALTER TABLE records_auditentry DISABLE TRIGGER USER")
    cursor.execute(sys.argv[1])
    cursor.execute("ALTER TABLE records_auditentry ENABLE TRIGGER USER")
"""
HOLD = """
from django.db import transaction
from applyviz.records.enums import AuditAction
from applyviz.workflow.audit import trail as audit
with transaction.atomic():
    audit.record(AuditAction.OBJECT_INTENT, by=None, about=audit.AuditSubject(run=901))
    print("holding", flush=True)
    input()
"""
PASS_BY = """
from django.db import connection
from applyviz.records.enums import AuditAction
from applyviz.workflow.audit import trail as audit
with connection.cursor() as cursor:
    cursor.execute("SET lock_timeout = '60s'")
audit.record(AuditAction.OBJECT_INTENT, by=None, about=audit.AuditSubject(run=902))
audit.record(AuditAction.COMMENT_ADDED, by=None, about=audit.AuditSubject())
print("passed")
"""
SEARCH = """
from applyviz.workflow.evidence import history
found = history.find_page({"text": "UMBRELLA 2 17"}, before=None, count=9)
print(len(found), history.find_entries({"text": "umbr"}).count())
"""
PRUNE = """
from datetime import timedelta
from django.db import DatabaseError, transaction
from django.utils import timezone
from applyviz.records.models import AuditEntry, RetentionPolicy
from applyviz.workflow.audit import chain
from applyviz.workflow.evidence import history
from applyviz.workflow.audit import retention
from applyviz.workflow.foundation import row_macs
now = timezone.now()
policy = RetentionPolicy(name="short", days=30, actions=["object.result"], created_at=now)
row_macs.vouch(policy)
policy.save()
print(retention.prune(policy, now=now + timedelta(days=31)).entries, chain.verify_chain().is_intact)
print(history.find_entries({"text": "umbrella"}).count())
for change in ({"detail": {}}, {"actor_name": "mallory"}, {"detail": {}, "salt": "", "pruned_by": 1}):
    try:
        with transaction.atomic():
            AuditEntry.objects.filter(action="run.started").update(**change)
    except DatabaseError as error:
        print(str(error).splitlines()[0])
"""


class Installation:
    """Scripts that run inside an installation on a database of its own."""

    def __init__(self, database: str, home: Path) -> None:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "applyviz.settings",
            "DATABASE_URL": database,
            "APPLYVIZ_HOME": str(home),
            "APPLYVIZ_LEASE_SECONDS": "900",  # a third of it is what PostgreSQL lets a transaction idle
            "SECRET_KEY": "a-key-that-only-this-test-knows-0123456789",
            "APPLYVIZ_DIGEST_KEY": "another-key-that-only-this-test-knows",
            "APPLYVIZ_WEB_KEY": "the-key-of-counters-that-only-this-test-knows",
            "APPLYVIZ_APPROVAL_KEY": "the-key-of-approvals-that-only-this-test-knows",
            "APPLYVIZ_OPENING_KEYS": sealing_keys.make_opening_key(),
        }
        self._forks = Forks(home, environment)
        self.manage("migrate")

    def close(self) -> None:
        """No more scripts are run."""
        self._forks.close()

    def manage(self, *words: str, seconds: int = 180) -> str:
        """What a command prints; whether it succeeds or not."""
        command = self._forks.command(MANAGE, *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return done.stdout + done.stderr

    def start(self, code: str, *words: str) -> subprocess.Popen[str]:
        """A script at work."""
        given, told = subprocess.PIPE, subprocess.PIPE
        return subprocess.Popen(self._forks.command(code, *words), stdin=given, stdout=told, text=True)

    def run(self, code: str, *words: str, seconds: int = 180) -> list[str]:
        """The lines that a script prints; one that takes longer is ended."""
        with self.start(code, *words) as process:
            try:
                out = process.communicate(timeout=seconds)[0]
            finally:
                process.kill()
        assert process.returncode == 0
        return out.splitlines()


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    with run_postgres() as database:
        found = Installation(database, tmp_path_factory.mktemp("home"))
        yield found
        found.close()


@pytest.fixture(scope="module")
def written(installation) -> Installation:
    """Return the installation with four runs, which four processes wrote at the same time."""
    writers = [installation.start(WRITE, str(run)) for run in range(1, 5)]
    for writer in writers:
        writer.communicate(timeout=180)
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    return installation


def test_runs_written_by_four_processes_are_one_intact_history(written):
    assert written.run(VERIFY) == ["408 entries, 4 runs"]
    assert "408 entries are intact, 4 run chains among them" in written.manage("audit", "verify")


def test_worker_in_a_long_transaction_keeps_no_other_waiting(installation):
    with installation.start(HOLD) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "holding"
        passed, is_held = installation.run(PASS_BY), holder.poll() is None
        holder.communicate("now\n", timeout=180)

    assert (passed, is_held, holder.returncode) == (["passed"], True, 0)


def test_full_text_finds_words_by_their_beginning(written):
    assert written.run(SEARCH) == ["1 400"]


FILL = "from benchmarks.audit import fill; fill(3000)"
TOUCH = """
import sys
from tests.services.touching import touch_all
for line in touch_all(sys.argv[1], 1):
    print(line)
"""


def touch(found: Installation, seed: str) -> None:
    said = found.run(TOUCH, seed)

    assert [line for line in said if "NOT NAMED" in line] == [], f"seed {seed}"
    assert (len(said), said[-1]) == (10, "intact")


def test_whatever_a_superuser_touches_is_named(written):
    touch(written, "the same in every run")


@pytest.mark.long
def test_whoever_holds_the_file_is_named_as_well(tmp_path):
    filled = Installation(f"sqlite:///{tmp_path / 'history.sqlite3'}", tmp_path)
    filled.run(FILL)

    touch(filled, secrets.token_hex(4))
    filled.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("sql", "back", "bad"),
    [
        (
            "UPDATE records_auditentry SET roles = 'approver' WHERE chain = 2 AND sequence = 50",
            "UPDATE records_auditentry SET roles = '' WHERE chain = 2 AND sequence = 50",
            "entry 50 of the chain of run 2 is bad",
        ),
        (
            "UPDATE records_auditentry SET sequence = 9000 + sequence WHERE chain = 3 AND sequence = 100",
            "UPDATE records_auditentry SET sequence = sequence - 9000 WHERE chain = 3 AND sequence > 9000",
            "entry 100 of the chain of run 3 is bad: it is missing",
        ),
    ],
)
def test_superuser_of_the_database_is_found_out(written, sql, back, bad):
    written.run(TAMPER, sql)
    said = written.manage("audit", "verify")
    written.run(TAMPER, back)

    assert bad in said


def test_bodies_go_by_policy_and_the_chain_holds(written):
    assert written.run(PRUNE) == ["400 True", "0", *["audit entries are never changed"] * 3]
    assert "400 bodies were removed by policy short" in written.manage("audit", "verify")
