"""A new pair of keys and a new approval key on PostgreSQL, by the steps of `docs/configuration.md`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from applyviz import sealing_keys
from tests.services.owned import migrate, run_with
from tests.services.servers import environment_of, run_postgres

pytestmark = [pytest.mark.services, pytest.mark.long]
BEFORE = """
import datetime
from applyviz import clock
from applyviz.records.enums import Role
from applyviz.workflow.approvals import approving
from applyviz.workflow.notifications import webhooks
from tests.builders import make_person
from tests.stories import Team, config_map
team = Team()
print(team.apply(config_map("first", a="1")).state)
admin = make_person("root", Role.ADMINISTRATOR)
webhooks.add_webhook(name="chat", url="https://hooks.example/in", secret="x" * 32, events=[], by=admin)
plan = team.plan(config_map("second", a="1"))
approving.approve_plan(plan, by=team.bob, digest=plan.digest)
"""
COUNT = """
from applyviz.records.models import Plan
from applyviz.workflow.approvals import approving
print(len(approving.list_valid_approvals(Plan.objects.latest("pk"))))
"""
AFTERWARDS = """
from django.contrib.auth.models import User
from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import Request
from applyviz.records.models import Cluster, Plan, Webhook
from applyviz.workflow import runs
print(Webhook.objects.get().secret.open_bytes().decode()[:1])
plan = Plan.objects.latest("pk")
run = runs.start_run(plan, by=User.objects.get(username="bob"), digest=plan.digest)
runs.execute_run(run.pk)
run.refresh_from_db()
print(run.state, run.error)
path = "/api/v1/namespaces/default/configmaps/second"
print(open_sandbox(Cluster.objects.get(slug="box")).handle(Request("GET", path)).status)
"""
OPEN_ALL = """
from applyviz.workflow.ops.key_rotation import _is_fixed, _list_columns
for model, field in _list_columns():
    for row in model._default_manager.exclude(**{field.name: None}):
        if not _is_fixed(row):
            getattr(row, field.name).open_bytes()
print("opened")
"""


def shell(keys: Mapping[str, str], database: str, text: str) -> list[str]:
    return run_with(keys, database, "manage.py", "shell", "-v", "0", text=text).stdout.split()


def test_keys_are_changed_by_the_documented_steps():
    first = environment_of("")
    with run_postgres() as superuser:
        app = migrate(first, superuser)
        assert shell(first, app, BEFORE) == ["applied"]

        made = dict(
            line.split("=", 1) for line in run_with(first, app, "manage.py", "keys", "make").stdout.splitlines()
        )
        both = {
            **first,
            "APPLYVIZ_OPENING_KEYS": f"{made['APPLYVIZ_OPENING_KEYS']},{first['APPLYVIZ_OPENING_KEYS']}",
            "APPLYVIZ_SEALING_KEY": made["APPLYVIZ_SEALING_KEY"],
        }
        said = run_with(both, app, "manage.py", "keys", "reseal").stdout
        again = run_with(both, app, "manage.py", "keys", "reseal").stdout
        new = {**both, "APPLYVIZ_OPENING_KEYS": made["APPLYVIZ_OPENING_KEYS"]}

        assert said.splitlines()[-1].startswith("Keep the earlier keys")
        assert all(line.split()[1] == "0" for line in again.splitlines()[:-1])
        assert shell(new, app, OPEN_ALL) == ["opened"]
        assert shell(both, app, AFTERWARDS) == ["x", "applied", "200"]
        assert (
            sealing_keys.name_of(made["APPLYVIZ_SEALING_KEY"]) in run_with(new, app, "manage.py", "keys", "show").stdout
        )


def test_approvals_count_under_an_earlier_approval_key():
    first = environment_of("")
    changed = {**first, "APPLYVIZ_APPROVAL_KEY": "a-new-key-of-approvals-that-this-test-knows"}
    kept = {**changed, "APPLYVIZ_APPROVAL_KEY_FALLBACKS": first["APPLYVIZ_APPROVAL_KEY"]}
    with run_postgres() as superuser:
        app = migrate(first, superuser)
        shell(first, app, BEFORE)

        counted = [shell(keys, app, COUNT) for keys in (first, kept, changed)]

        assert counted == [["1"], ["1"], ["0"]]
        assert "no longer needed" in run_with(kept, app, "manage.py", "keys", "re-sign").stdout
        assert shell(changed, app, COUNT) == ["1"]
        assert "entries are intact" in run_with(changed, app, "manage.py", "audit", "verify").stdout
        assert shell(kept, app, AFTERWARDS) == ["x", "applied", "200"]
