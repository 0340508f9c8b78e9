"""The verification page, held to published checkpoints as people paste them."""

import pytest
from django.urls import reverse

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit import checkpoints, trail

pytestmark = pytest.mark.django_db
VERIFY = reverse("history:verify-chain")


@pytest.fixture
def published(db):
    """Three heads that were published, with entries between them."""
    found = []
    for number in range(3):
        trail.record(AuditAction.COMMENT_ADDED, by=None, about=trail.AuditSubject(), detail={"note": str(number)})
        found.append(checkpoints.publish(by=None))
    return found


def verify(browser, text):
    page = browser.post(VERIFY, {"head": text}, headers={"HX-Request": "true"}).content.decode()
    return " ".join(page.split())


def test_newest_and_older_heads_are_in_the_history(as_auditor, published):
    oldest, middle, newest = published

    assert "The published checkpoint matches." in verify(as_auditor, str(newest))
    assert "The published checkpoint matches." in verify(as_auditor, str(oldest.head))
    pasted = f"\r\n{oldest}\r\n {middle.head} \r\n\r\n{newest}\r\n"
    assert "All 3 published checkpoints match." in verify(as_auditor, pasted)
    assert "published checkpoint matches" not in verify(as_auditor, "")


def test_older_head_that_does_not_fit_is_named_though_the_newest_does(as_auditor, published):
    oldest, _, newest = published
    wrong = f"{oldest.head.sequence}:{'0' * 64}"

    page = verify(as_auditor, f"{newest}\n{wrong}")

    entry = AuditEntry.objects.get(chain=0, sequence=oldest.head.sequence)
    assert f"entry {oldest.head.sequence} is bad: it is not the published checkpoint" in page
    assert reverse("history:show-entry", args=[entry.pk]) in page
    assert "intact" not in page


def test_head_of_another_installation_is_told_from_one_of_this(as_auditor, published, settings):
    theirs = str(published[0])
    settings.APPLYVIZ_DIGEST_KEY = "the-key-of-another-installation-000000000"

    page = verify(as_auditor, theirs)

    assert f"checkpoint {published[0].head} was not signed by this installation" in page
    assert "intact" not in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "line 1: a published checkpoint has the form sequence:hash"),
        ("{}", "line 1: not a published checkpoint"),
        ("1:0\n", "line 1: a published checkpoint has the form sequence:hash"),
        ("9" * 30 + ":" + "0" * 64, "line 1: a published checkpoint has the form sequence:hash"),
        ("{ours}\n<script>\n", "line 2: a published checkpoint has the form sequence:hash"),
        ("{ours}{ours}", "line 1: not a published checkpoint"),
    ],
)
def test_what_is_no_head_is_named_by_its_line(as_auditor, published, text, said):
    page = verify(as_auditor, text.replace("{ours}", str(published[0])))

    assert (said in page, "intact" in page, "<script>" in page) == (True, False, False)


def test_heads_go_along_from_slice_to_slice(as_auditor, published, monkeypatch):
    monkeypatch.setattr("applyviz.web.history.pages.verification.SLICE", 2)
    pasted = f"{published[0].head}\n{published[2].head}"

    page = as_auditor.post(VERIFY, {"head": pasted}, headers={"HX-Request": "true"}).content.decode()

    assert f'name="head" value="{pasted}"' in page
    assert "entries verified so far" in page
