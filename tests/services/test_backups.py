"""A backup by `pg_dump`, restored into an empty database by the commands of `docs/configuration.md`."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.services.owned import APP, ROOT, make_roles, migrate, run_with, url_of
from tests.services.servers import environment_of, run_postgres

pytestmark = [pytest.mark.services, pytest.mark.long]
SCENE = """
import datetime
from django.conf import settings
from applyviz import clock
from applyviz.records.enums import NotificationKind, Role
from applyviz.workflow import notifications, runs
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.notifications import choices, webhooks
from applyviz.workflow.notifications.choices import NotificationChannels
from tests.builders import make_person
from tests.stories import Killed, Team, config_map, let_lease_run_out
team = Team()
settings.APPLYVIZ_MAIL, team.bob.email = True, "bob@example.com"
team.bob.save()
choices.choose({NotificationKind.NEEDS_YOU: NotificationChannels(is_shown=True, is_mailed=True)}, by=team.bob)
admin, kinds = make_person("root", Role.ADMINISTRATOR), [NotificationKind.NEEDS_YOU]
webhooks.add_webhook(name="chat", url="https://hooks.example/in", secret="x" * 32, events=kinds, by=admin)
print(team.apply(config_map("first", a="1")).state)
run = team.start(team.plan(config_map("one", a="1"), config_map("two", b="2")))
def die(point):
    if point == "run.concluded":
        raise Killed
failpoints.hooks.append(die)
try:
    runs.execute_run(run.pk)
except Killed:
    print("killed")
let_lease_run_out(run)
waiting = team.plan(config_map("third", a="1"))
runs.schedule_start(
    waiting, by=team.bob, digest=waiting.digest, expires_at=clock.now() + datetime.timedelta(days=1)
)
notifications.send_pending()
"""
AFTERWARDS = """
from django.contrib.auth.models import User
from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import Request
from applyviz.records.models import ApplyRun, Cluster, Delivery, Notification
from applyviz.workflow import runs
from applyviz.workflow.ops import recovery
recovery.recover()
mails = Notification.objects.filter(notification_event__event="review.needs_you").exclude(mail_due_at=None)
print("due", mails.count(), Delivery.objects.filter(state="waiting").count())
for run in ApplyRun.objects.order_by("pk"):
    runs.execute_run(run.pk)
    run.refresh_from_db()
    print(run.number, run.state, *run.results.order_by("position").values_list("outcome", flat=True))
cluster = Cluster.objects.get(slug="box")
for name in ("first", "one", "two", "third"):
    path = f"/api/v1/namespaces/default/configmaps/{name}"
    print(name, open_sandbox(cluster).handle(Request("GET", path)).status)
"""


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    return environment_of("")


def read_command(program: str) -> list[str]:
    """Return the arguments of the documented command that calls a program, without its redirection."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    found = re.search(rf"{program} (?P<words>[^<>\n`]*)", text)
    assert found is not None
    return [program, *shlex.split(found["words"])]


def call(program: str, superuser: str, backup: Path, *, writes: bool) -> None:
    """Run a documented command on a server: only the address and the user differ."""
    role, port = "applyviz", re.search(r":(\d+)/", superuser)[1]
    words = [role if word == "postgres" else word for word in read_command(program)]
    with backup.open("wb" if writes else "rb") as file:
        streams = {"stdout": file} if writes else {"stdin": file}
        done = subprocess.run([*words, "--host", "127.0.0.1", "--port", port], stderr=subprocess.PIPE, **streams)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture(scope="module")
def backup(keys, tmp_path_factory) -> Path:
    """Back up an installation with a run in progress and a scheduled start."""
    file = tmp_path_factory.mktemp("backup") / "applyviz.dump"
    with run_postgres() as superuser:
        app = migrate(keys, superuser)
        assert run_with(keys, app, "manage.py", "shell", "-v", "0", text=SCENE).stdout.split() == ["applied", "killed"]
        call("pg_dump", superuser, file, writes=True)
    return file


@pytest.fixture(scope="module")
def restored(keys, backup) -> Iterator[str]:
    """Another server with this backup; gives its superuser's address."""
    with run_postgres() as superuser:
        make_roles(superuser)
        call("pg_restore", superuser, backup, writes=False)
        yield superuser


def test_nothing_goes_on_after_a_restore(keys, restored):
    app = url_of(APP, restored)

    said = run_with(keys, app, "manage.py", "restored", "--reason", "the disk broke").stdout
    done = run_with(keys, app, "manage.py", "shell", "-v", "0", text=AFTERWARDS).stdout

    assert said.splitlines()[:2] == ["Runs canceled: 2", "Scheduled starts canceled: 1"]
    assert re.search(r"^Emails not sent: [1-9].*\nWebhook deliveries not sent: [1-9]", said, re.MULTILINE)
    assert done.splitlines() == [
        "due 0 0",
        "1 applied applied",
        "2 canceled applied not-attempted",
        *("first 200", "one 200", "two 404", "third 404"),
    ]


def test_history_is_intact(keys, restored):
    said = run_with(keys, url_of(APP, restored), "manage.py", "audit", "verify").stdout

    assert "intact" in said.lower()


def test_guards_came_with_the_backup(restored):
    with psycopg.connect(url_of(APP, restored), autocommit=True) as connection:
        with pytest.raises(psycopg.Error, match="audit"):
            connection.execute("UPDATE records_auditentry SET actor_name = 'nobody'")
        with pytest.raises(psycopg.Error, match="must be owner"):
            connection.execute("ALTER TABLE records_auditentry DISABLE TRIGGER ALL")


def test_without_the_keys_the_content_stays_closed(keys, restored):
    others = environment_of("")

    said = run_with(others, url_of(APP, restored), "manage.py", "keys", "show").stdout
    code = "from applyviz.records.models import Cluster; Cluster.objects.get(slug='box').credential.open_bytes()"

    assert said.splitlines()[0].split()[1] not in run_with(keys, "", "manage.py", "keys", "show").stdout
    with pytest.raises(AssertionError, match="SealError"):
        run_with(others, url_of(APP, restored), "manage.py", "shell", "-v", "0", "--command", code)
