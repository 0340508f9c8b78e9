"""The page of a run that ended or lost its worker: what stays applied, and the next step."""

import re

import pytest
from django.urls import reverse

from applyviz import clock
from applyviz.records.enums import EntryState
from applyviz.records.models import ApplyRun, Cluster, JournalEntry
from applyviz.workflow.plans import reviews
from tests.web import rows
from tests.web.runs import scenes


def url(run) -> str:
    return reverse("runs:show-run", args=[run.number])


def test_run_whose_review_has_a_newer_plan_leads_to_it_and_asks_for_none(as_alice, alice, plan, bob):
    rows.make_run(plan, bob, state="stale", outcome="stale")
    reviews.replan_review(plan.review, by=alice, seen=plan)

    page = as_alice.get("/runs/1/").content.decode()

    assert "Plan 2 of the review shows what changed and what is left to apply." in page
    assert "Re-plan in the review" not in page


@pytest.mark.parametrize("applied", [0, 1])
def test_stale_run_says_what_stays_applied(as_viewer, alice, bob, applied):
    run = rows.make_run(
        rows.make_plan(alice, scenes.list_changes(scenes.STEPS[:2])), bob, state="stale", outcome="stale"
    )
    run.results.filter(position__lt=applied).update(outcome="applied")

    page = as_viewer.get(url(run)).content.decode()

    assert "so the run stopped before writing anything unapproved." in page
    assert ("Objects applied before stay applied." in page) == bool(applied)


def test_run_without_a_worker_compares_nothing(as_viewer, run):
    run.results.update(outcome="waiting")
    ApplyRun.objects.update(epoch=1, lease_until=rows.NOW)

    page = as_viewer.get(url(run)).content.decode()

    assert ("The run has no worker at the moment" in page, "Comparing live" in page) == (True, False)


def test_run_on_a_paused_cluster_says_why_it_cannot_be_reverted(as_alice, plan, bob):
    run = rows.make_run(plan, bob, state="applied")
    Cluster.objects.update(name="demo", paused_at=clock.now(), pause_reason="")

    page = as_alice.get(url(run)).content.decode()
    answer = as_alice.post(reverse("runs:undo-run", args=[run.number]))

    paused = "demo is paused. An administrator can resume it on its page"
    assert (f"No revert now: {paused}." in page, "Revert…" in page) == (True, False)
    assert (answer.status_code, paused[1:] in answer.content.decode()) == (409, True)


def test_request_without_an_answer_is_never_called_unsent(as_viewer, run):
    """The journal records a request before it is sent, so a lost worker may or may not have sent it."""
    JournalEntry.objects.update(state=EntryState.INTENT, status=0)
    result = run.results.first()

    pages = [as_viewer.get(url(run)), as_viewer.get(reverse("runs:show-result", args=[run.number, result.position]))]

    texts = [page.content.decode() for page in pages]
    assert [("no answer" in text, "not sent" in text) for text in texts] == [(True, False)] * 2


def test_message_of_the_server_stands_in_the_column_of_the_other_facts(as_viewer, run):
    run.results.update(outcome="failed", detail="the server answered 422: spec.replicas: Invalid value: -1")

    page = as_viewer.get(reverse("runs:show-result", args=[run.number, 0])).content.decode()

    assert '<div class="pane-how"><details class="server-message">' in re.sub(r">\s+<", "><", page)
