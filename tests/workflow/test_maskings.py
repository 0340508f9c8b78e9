"""Credentials in plain fields: masked by default, switched per cluster by a page and a command, and audited."""

from __future__ import annotations

from io import StringIO

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.test import Client

from applyviz.records.enums import Role
from applyviz.records.models import AuditEntry
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation.errors import NotAllowedError
from tests.attacks.conftest import find_leaks
from tests.builders import make_person
from tests.stories import Team

pytestmark = pytest.mark.django_db
CANARY = "gX4vQ9tLm2Zr"


def config(value: str = CANARY) -> str:
    data = {"app.env": f"DB_PASS={value}\nURL=postgres://app:{value}@db\n", "plain": "text"}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})


def test_credentials_of_a_plan_and_its_run_are_stored_masked():
    team = Team()

    run = team.apply(config())

    assert team.outcomes(run) == ["applied"]
    assert find_leaks(CANARY) == []


def test_cluster_switches_it_for_new_plans_and_the_history_knows():
    team, admin = Team(), make_person("ada", Role.ADMINISTRATOR)
    before = team.plan(config())
    with pytest.raises(NotAllowedError):
        masking_settings.mask_credentials(team.cluster, is_on=False, by=team.alice)

    assert masking_settings.mask_credentials(team.cluster, is_on=False, by=admin)
    assert not masking_settings.mask_credentials(team.cluster, is_on=False, by=admin)

    assert CANARY in str(team.plan(config()).changes.get().document)
    assert CANARY not in str(before.changes.get().document)
    entry = AuditEntry.objects.get(action="cluster.changed")
    assert (entry.cluster, entry.detail) == ("box", {"credentials in plain fields": "shown"})


def test_setting_adds_names_and_switches_the_list(settings):
    team = Team()
    settings.APPLYVIZ_MASK_CREDENTIALS = False
    settings.APPLYVIZ_MASK_NAMES = ("plain",)

    shown = str(team.plan(config()).changes.get().document)

    assert CANARY in shown
    assert "'plain': 'text'" not in shown


def test_page_of_the_cluster_has_a_switch_for_administrators():
    team, admin = Team(), make_person("ada", Role.ADMINISTRATOR)
    client = Client()
    client.force_login(team.alice)
    assert "Mask credentials" not in (page := client.get("/clusters/box/settings/").content.decode())
    assert "Credentials outside Secrets" in page
    assert client.post("/clusters/box/masking/", {"is_on": "off"}).status_code == 403
    client.force_login(admin)

    answer = client.post("/clusters/box/masking/", {"is_on": "off"}, follow=True)

    assert "New plans show credentials in plain fields." in answer.content.decode()
    assert "Mask credentials" in answer.content.decode()


def test_command_tells_and_switches():
    team, said = Team(), StringIO()

    call_command("masking", "box", stdout=said)
    call_command("masking", "box", "--off", stdout=said)
    call_command("masking", "box", "--on", stdout=said)

    words = [line.rsplit(" ", 1)[-1] for line in said.getvalue().splitlines()]
    assert words == ["masked", "shown", "masked"]
    assert team.cluster.slug == "box"
    with pytest.raises(CommandError):
        call_command("masking", "nowhere")
