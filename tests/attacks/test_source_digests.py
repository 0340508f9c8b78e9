"""Whoever sees the digest of a source learns nothing of its bytes, and guesses as often as uploads are counted (N3)."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Plan, SourceFile, SourceRevision
from applyviz.workflow.plans import source_digests
from tests import moments
from tests.attacks.conftest import list_stored
from tests.builders import make_person
from tests.stories import Team, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PIN = secret(pin="483201")


@pytest.fixture
def plan(team: Team) -> Plan:
    return team.plan(PIN)


@pytest.fixture
def viewer(plan: Plan) -> Client:
    browser = Client()
    browser.force_login(make_person("vera", Role.VIEWER))
    return browser


def ask(browser: Client, plan: Plan, data: str) -> tuple[int, str]:
    """Compare a file on the page; the status and the page."""
    address = reverse("reviews:compare-file", args=[plan.review.number, plan.number])
    answer = browser.post(address, {"file": SimpleUploadedFile("mine.yaml", data.encode())})
    return answer.status_code, answer.content.decode()


def bare_digests(data: bytes) -> set[str]:
    """What somebody without the key calculates for a guess, with the names of files that the page shows."""
    found = {hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")}
    found |= {hmac.digest(key, data, "sha256").hex() for key in (b"", hashlib.sha256(b"").digest())}
    total = hashlib.sha256(b"applyviz source 1\n" + b"6:0.yaml" + b"%d:" % len(data) + hashlib.sha256(data).digest())
    return found | {total.hexdigest()}


def test_no_digest_of_the_bytes_is_stored_or_shown(plan: Plan, viewer: Client) -> None:
    pages = [
        viewer.get(reverse(name, args=[plan.review.number, plan.number])).content.decode()
        for name in ("reviews:show-plan", "reviews:show-record")
    ]
    stored = [text for _where, text in list_stored()]

    guesses = bare_digests(PIN.encode())
    assert [one for one in guesses if any(one[:12] in text for text in (*pages, *stored))] == []
    assert plan.revision.digest[:12] in pages[0]


def test_equal_files_have_no_equal_digests(team: Team, plan: Plan) -> None:
    """Else a guess in a review of one's own would be answered by comparing both pages."""
    team.plan(PIN)

    assert len(set(SourceRevision.objects.values_list("digest", flat=True))) == 2
    assert len(set(SourceFile.objects.values_list("digest", flat=True))) == 2


def test_digest_moves_with_the_key(plan: Plan, settings: Any) -> None:
    key = source_digests.key_of(plan.revision.salt)
    settings.APPLYVIZ_WEB_KEY = "the-key-of-another-installation-0123456789"

    assert source_digests.key_of(plan.revision.salt) != key


def test_who_holds_the_file_is_told_that_it_is_equal(plan: Plan, viewer: Client) -> None:
    equal, other = ask(viewer, plan, PIN), ask(viewer, plan, secret(pin="483202"))

    assert (equal[0], "is identical to" in equal[1], "0.yaml" in equal[1]) == (200, True, True)
    assert (other[0], "does not match any file of this plan" in other[1]) == (200, True)
    told = AuditEntry.objects.filter(action=AuditAction.FILE_COMPARED).order_by("id").values_list("detail", flat=True)
    assert list(told) == [{"equal to": ["0.yaml"]}, {"equal to": []}]
    assert "48320" not in json.dumps([text for _where, text in list_stored()])


@pytest.mark.parametrize("most", [5, pytest.param(20, marks=pytest.mark.long)])
def test_guesses_end_after_twenty_a_day(plan: Plan, viewer: Client, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    assert source_digests.MOST_A_DAY == 20
    monkeypatch.setattr(source_digests, "MOST_A_DAY", most)
    answers = [ask(viewer, plan, secret(pin=f"{n:06}"))[0] for n in range(source_digests.MOST_A_DAY)]
    refused, page = ask(viewer, plan, PIN)
    moments.move_to(clock.now() + timedelta(days=1, seconds=1))
    viewer.force_login(User.objects.get(username="vera"))  # a session does not last that long

    assert (set(answers), refused, "is equal" in page) == ({200}, 429, False)
    assert ask(viewer, plan, PIN)[0] == 200


def test_outsiders_compare_nothing(plan: Plan) -> None:
    browser = Client()
    browser.force_login(make_person("oscar"))

    assert ask(browser, plan, PIN)[0] == 404
