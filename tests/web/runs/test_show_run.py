"""Apply runs: progress, endings, requests and answers, cancel."""

import pytest
from django.urls import reverse

from applyviz.records.models import ApplyRun
from tests.web import rows

HTMX = {"HX-Request": "true"}


def url(run) -> str:
    return reverse("runs:show-run", args=[run.number])


def test_run_shows_how_far_it_is_and_polls(as_viewer, run):
    page = as_viewer.get(url(run)).content.decode()
    fragment = as_viewer.get(url(run), headers=HTMX).content.decode()

    assert "1 of 1 object done" in page
    assert ('hx-trigger="look, every' in page, 'hx-trigger="look, every' in fragment, "<html" in fragment) == (
        True,
        True,
        False,
    )


def test_finished_run_stops_polling_and_says_how_it_ended(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="succeeded")

    page = as_viewer.get(url(run)).content.decode()
    fragment = as_viewer.get(url(run), headers=HTMX).content.decode()

    assert "Everything that was approved is applied." in page
    assert ('hx-trigger="look, every' in page, 'hx-trigger="look, every' in fragment) == (False, False)


@pytest.mark.parametrize(("state", "text"), [("stale", "Live moved"), ("failed", "stopped at an error")])
def test_run_that_went_wrong_says_why(as_viewer, plan, bob, state, text):
    run = rows.make_run(plan, bob, state=state, outcome="failed")

    page = as_viewer.get(url(run)).content.decode()

    assert text in page
    assert "Needs attention" in page


def test_result_shows_requests_and_answers(as_viewer, run):
    address = reverse("runs:show-result", args=[run.number, 0])

    page = as_viewer.get(address).content.decode()
    fragment = as_viewer.get(address, headers=HTMX).content.decode()

    assert [text for text in ("PATCH", "fieldManager=ci", "200", "9 ms") if text not in fragment] == []
    assert ("<html" in page, "<html" in fragment) == (True, False)


def test_unknown_run_or_object_is_not_found(as_viewer, run):
    assert as_viewer.get("/runs/99/").status_code == 404
    assert as_viewer.get(reverse("runs:show-result", args=[run.number, 99])).status_code == 404


def test_run_is_hidden_from_outsiders(as_charlie, run):
    assert as_charlie.get(url(run)).status_code == 404


def test_cancelling_asks_the_run_to_stop(as_bob, run):
    address = reverse("runs:cancel-run", args=[run.number])

    assert f'action="{address}"' in as_bob.get(url(run)).content.decode()
    assert as_bob.post(address).status_code == 302
    assert ApplyRun.objects.get().cancel_requested_at is not None
    assert "stopping after the object" in as_bob.get(url(run)).content.decode()
    assert as_bob.post(address).status_code == 409


def test_author_may_not_cancel(as_alice, run):
    address = reverse("runs:cancel-run", args=[run.number])

    assert address not in as_alice.get(url(run)).content.decode()
    assert as_alice.post(address).status_code == 403


def test_cancelling_takes_no_get(as_bob, run):
    assert as_bob.get(reverse("runs:cancel-run", args=[run.number])).status_code == 405


def test_finished_run_can_be_asked_what_would_undo_it(as_alice, as_bob, plan, bob):
    run = rows.make_run(plan, bob, state="succeeded")
    address = reverse("runs:undo-run", args=[run.number])

    assert f'action="{address}"' in as_alice.get(url(run)).content.decode()
    assert address not in as_bob.get(url(run)).content.decode()
    assert (as_bob.post(address).status_code, as_alice.get(address).status_code) == (403, 405)
    review = as_alice.post(address)["Location"]
    assert review.startswith("/reviews/")
    assert "This review undoes run" in as_alice.get(review, follow=True).content.decode()
