"""One entry of a real run, read clause by clause: who, what, when, from where, digest, bytes, result."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from tests.stories import Team, secret

pytestmark = pytest.mark.django_db


def read(entry, person):
    browser = Client()
    browser.force_login(person)
    return browser.get(reverse("history:show-entry", args=[entry.pk])).content.decode()


def test_pages_of_a_run_say_who_what_when_where_digest_bytes_and_result(monkeypatch):
    team = Team().wire_up(monkeypatch)
    run = team.apply(secret(password="canary-7f3a91"))
    digest = run.plan.digest
    wanted = {
        AuditAction.APPROVAL_GIVEN: ["bob", "approver", digest],
        AuditAction.RUN_STARTED: ["bob", "approver", digest, "run 1"],
        AuditAction.OBJECT_INTENT: ["applyviz", "Secret default/login", digest, "method:", "body:", "request digest:"],
        AuditAction.OBJECT_RESULT: ["applyviz", "Secret default/login", digest, "outcome: applied"],
    }

    for action, texts in wanted.items():
        entry = AuditEntry.objects.get(action=action)
        page = read(entry, User.objects.get(username="bob"))
        told = [*texts, entry.hash, entry.at.strftime("%H:%M:%S")]
        assert [text for text in told if text not in page] == [], action
        assert [value for value in ("canary-7f3a91", "Y2FuYXJ5") if value in page] == [], action
