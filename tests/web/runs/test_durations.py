"""How long a run took, on its page and in lists."""

from datetime import timedelta

from django.urls import reverse

from applyviz.records.models import ApplyRun, RunAttempt
from tests.web import reading, rows


def test_duration_of_a_retried_run_leaves_out_the_time_between_attempts(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="failed")
    first_end, retry = rows.NOW + timedelta(seconds=10), rows.NOW + timedelta(hours=1)
    RunAttempt.objects.create(run=run, number=2, requested_by=bob, first_epoch=2, ended_at=first_end, created_at=retry)
    ApplyRun.objects.update(state="queued", attempt=2)
    ApplyRun.objects.update(state="applied", finished_at=retry + timedelta(seconds=20))

    texts = [
        reading.text_of(reading.read(as_viewer, url))
        for url in (reverse("runs:show-run", args=[run.number]), reverse("runs:list-runs"))
    ]

    assert [("took 30.0 s" in text, "took 1:00" in text) for text in texts] == [(True, False)] * 2
