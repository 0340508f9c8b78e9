"""The audit entry of a write lists the fields that it changed: found by path and value, and without Secrets."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.evidence import history
from applyviz.workflow.runs import changed_fields
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db


def read_last():
    return AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT).order_by("pk").last()


def test_an_update_tells_field_before_and_after(team):
    team.apply(config_map(tier="gold", region="north"))
    created = read_last().detail["changes"]
    team.apply(config_map(tier="platinum", region="north"))
    changed = read_last().detail["changes"]

    assert {"path": ".data.tier", "before": "", "after": "gold"} in created
    assert {"path": ".data.tier", "before": "gold", "after": "platinum"} in changed
    assert [one["path"] for one in changed] == [".data.tier"]


@pytest.mark.core(1)
@pytest.mark.parametrize("text", ["data.tier", "platinum", "tier gold platinum"])
def test_the_history_finds_it_by_path_and_by_value(team, text):
    team.apply(config_map(tier="gold"))
    team.apply(config_map(tier="platinum"))

    found = history.find_page({"text": text, "action": "object.result"}, before=None, count=9)

    assert read_last().pk in [entry.pk for entry in found]


@pytest.mark.long
def test_the_entry_the_list_and_the_export_show_it(team):
    team.apply(config_map(tier="gold"))
    team.apply(config_map(tier="platinum"))
    browser = Client()
    browser.force_login(User.objects.get(username="bob"))

    page = browser.get(reverse("history:show-entry", args=[read_last().pk])).content.decode()
    listed = browser.get("/history/?action=object.result").content.decode()

    assert "Changed fields" in page
    assert "<code>platinum</code>" in page
    assert "data.tier: gold → platinum" in listed
    assert "platinum" in "".join(history.export_entries({}, history.ExportFormat.JSONL))


def test_values_of_a_secret_are_masked_and_a_compared_one_tells_nothing(team):
    team.apply(secret(password="canary-one"))
    created = str(read_last().detail)
    team.apply(secret(password="canary-two"))
    compared = read_last().detail

    assert "canary" not in created + str(compared)
    assert "changes" not in compared


@pytest.mark.long
def test_what_was_not_written_changed_nothing(team):
    team.apply(config_map(tier="gold"))
    run = team.apply(config_map(tier="gold"), config_map("other", tier="gold"))

    told = AuditEntry.objects.filter(run=run.number, action=AuditAction.OBJECT_RESULT).order_by("name")
    assert [(entry.name, "changes" in entry.detail) for entry in told] == [("other", True), ("settings", False)]


@pytest.mark.long
def test_very_many_fields_and_long_values_are_cut(team, monkeypatch):
    monkeypatch.setattr(changed_fields, "MOST_FIELDS", 2)
    team.apply(config_map(**{f"key-{n}": "x" * 500 for n in range(5)}))

    detail = read_last().detail

    assert len(detail["changes"]) == 2
    assert detail["more"] >= 3
    assert max(len(one["after"]) for one in detail["changes"]) <= 200
