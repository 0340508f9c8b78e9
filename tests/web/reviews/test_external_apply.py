"""The page of a review that another tool applies: no apply button, verify now, what live says."""

import pytest

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import Verification
from tests.web import builders, rows


@pytest.fixture
def watched(alice):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    fields = tuple(f for f in change.fields if f.operation is not FieldOperation.CONFLICT)
    return rows.make_plan(alice, [replace(change, fields=fields)], applied_by="helm")


def url(plan, end=""):
    return f"/reviews/{plan.review.number}/plans/{plan.number}/{end}"


def test_page_has_no_apply_button_and_offers_to_verify(as_bob, watched):
    page = as_bob.get(url(watched)).content.decode()

    assert ("Approve plan" in page, "Helm applies this." in page, "Verify now" in page) == (False, True, True)
    assert "Not verified yet." in page


def test_verifying_asks_a_worker_and_polls(as_bob, watched):
    assert as_bob.post(url(watched, "verify/")).status_code == 302

    page = as_bob.get(url(watched)).content.decode()

    assert Verification.objects.get().state == "waiting"
    assert ("Reading live objects…" in page, "Verify now" in page) == (True, False)
    assert f'hx-get="{url(watched, "watch/")}"' in page
    assert as_bob.post(url(watched, "verify/")).status_code == 409


def test_results_are_shown_per_object(as_bob, bob, watched):
    results = [
        {
            "position": 0,
            "verdict": "differs",
            "detail": "",
            "differences": [{"path": ".spec.replicas", "promised": "3", "got": "<5>"}],
        }
    ]
    Verification.objects.create(
        plan=watched, requested_by=bob, state="done", results=results, created_at=rows.NOW, finished_at=rows.NOW
    )

    fragment = as_bob.get(url(watched, "watch/"), headers={"HX-Request": "true"}).content.decode()

    assert ("1 differs" in fragment, "expected 3, got &lt;5&gt;" in fragment, "hx-trigger" in fragment) == (
        True,
        True,
        False,
    )


def test_failed_look_says_why(as_bob, bob, watched):
    Verification.objects.create(
        plan=watched, requested_by=bob, state="failed", error="no answer", created_at=rows.NOW, finished_at=rows.NOW
    )

    assert "Verification failed: no answer" in as_bob.get(url(watched)).content.decode()


def test_outsiders_and_other_reviews(as_charlie, as_bob, plan):
    assert as_charlie.get(url(plan, "watch/")).status_code == 404
    assert as_charlie.post(url(plan, "verify/")).status_code == 404
    assert as_bob.post(url(plan, "verify/")).status_code == 409
    assert as_bob.get(url(plan, "verify/")).status_code == 405
    assert 'id="watch"' not in as_bob.get(url(plan)).content.decode()
