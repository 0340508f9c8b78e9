"""The page of a run says that the run waits for a worker, compares live, or is being canceled."""

import pytest
from django.urls import reverse

from applyviz.records.models import ApplyRun, ObjectResult
from tests.web import reading


def url(run) -> str:
    return reverse("runs:show-run", args=[run.number])


def test_run_that_is_canceled_does_not_say_that_it_is_being_canceled(as_bob, run):
    as_bob.post(reverse("runs:cancel-run", args=[run.number]))
    ApplyRun.objects.update(state="canceled")

    page = as_bob.get(url(run)).content.decode()

    assert ("Canceling" in page, "Stopping" in page, "The run was canceled." in page) == (False, False, True)


def test_queued_run_says_that_it_waits_for_a_worker(as_viewer, run):
    ApplyRun.objects.update(state="queued")

    assert "Waiting for a worker." in as_viewer.get(url(run)).content.decode()


@pytest.mark.parametrize(
    ("epoch", "outcome", "is_told"), [(1, "waiting", True), (1, "applying", False), (2, "waiting", False)]
)
def test_run_that_compares_before_its_first_write_says_so(as_viewer, run, epoch, outcome, is_told):
    """A worker that continues a run does not compare the set again."""
    ApplyRun.objects.update(epoch=epoch)
    ObjectResult.objects.update(outcome=outcome)

    text = reading.text_of(reading.read(as_viewer, url(run)))

    assert ("Comparing live with the approved plan first. Nothing is written yet." in text) is is_told
