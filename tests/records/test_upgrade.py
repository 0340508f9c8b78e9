"""A database of the first release, with a team and a run in it, becomes one of today and loses nothing."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLD = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

call_command("migrate", "records", "0005", verbosity=0)
call_command("migrate", "auth", verbosity=0)
first = [("records", "0005_history_indexes"), ("auth", "0012_alter_user_first_name_max_length")]
apps = MigrationExecutor(connection).loader.project_state(first).apps
now = timezone.now()
user = apps.get_model("auth", "User").objects
group = apps.get_model("auth", "Group").objects
alice, bob = (user.create(username=name) for name in ("alice", "bob"))
alice.groups.add(group.create(name="author"))
bob.groups.add(group.create(name="approver"))
def make(model, **fields):
    return apps.get_model("records", model).objects.create(**fields)
from applyviz.records.sealing import Sealed
token = Sealed.of_bytes(b"k")
cluster = make("Cluster", slug="demo", name="Demo", kind="sandbox", uid="5d0c", credential=token, created_at=now)
review = make("Review", number=1, title="First", reason="why", author=alice, created_at=now, updated_at=now)
revision = make("SourceRevision", digest="d", created_at=now, created_by=alice)
plan = make("Plan", review=review, target=make("Target", review=review, cluster=cluster), revision=revision, number=1,
            options={}, requested_by=alice, tag_key=token, created_at=now, digest="abc", state="complete")
make("Approval", plan=plan, digest="abc", by=bob, by_name="bob", created_at=now, spent_at=now)
make("ApplyRun", number=1, plan=plan, requested_by=bob, state="succeeded", created_at=now)
with connection.cursor() as cursor:
    cursor.execute(
        "CREATE TRIGGER approval_not_ones_own BEFORE INSERT ON records_approval WHEN EXISTS"
        " (SELECT 1 FROM records_plan p WHERE p.id = NEW.plan_id AND p.requested_by_id = NEW.by_id)"
        " BEGIN SELECT RAISE(ABORT, 'own'); END"
    )
"""
NEW = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection

call_command("migrate", verbosity=0)
from applyviz.records.models import ApplyRun, Approval, Grant

run = ApplyRun.objects.get()
print(run.plan.digest, run.plan.review.title, Approval.objects.get().by_name)
print(sorted((grant.person.username, grant.role) for grant in Grant.objects.all()))
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name = 'approval_not_ones_own'")
    print(cursor.fetchone()[0])
"""


def run(script: str, home: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    environment |= {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_database_of_the_first_release_is_brought_up_to_date(tmp_path):
    run(OLD, tmp_path)

    assert run(NEW, tmp_path).splitlines() == [
        "abc First bob",
        "[('alice', 'author'), ('bob', 'approver')]",
        "1",
    ]
