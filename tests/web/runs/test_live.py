"""The page of the live objects of a run: what is not ready first, why, and its events; empty and error states."""

from __future__ import annotations

import pytest
from django.urls import reverse

from applyviz.engine.readiness.pods import PodCounts
from applyviz.engine.readiness.status import State
from applyviz.records.models import Cluster
from applyviz.workflow import worker_requests
from applyviz.workflow.live.run_health import LiveEvent, LivePod, ObjectHealth, RunHealth
from tests.web import reading

HTMX = {"HX-Request": "true"}
POD = LivePod("frontend-1", "Running", 3, "CrashLoopBackOff", "server", "back-off <b>40s", "OOMKilled")
EVENT = LiveEvent("2026-11-20T09:05:00Z", True, "BackOff", "Pod/frontend-1", "Back-off restarting", 7)
BUSY = ObjectHealth(0, State.IN_PROGRESS, "1 of 3 pods are available", PodCounts(1, 1, 3), (POD,), 1, 2, (EVENT, EVENT))


@pytest.fixture
def answer(monkeypatch):
    """Let the worker answer with this state."""

    def give(found: RunHealth) -> None:
        monkeypatch.setattr(worker_requests, "read_run_health", lambda run, by, after=0: found)

    return give


def url(run) -> str:
    return reverse("runs:show-live", args=[run.number])


def test_pods_that_are_not_ready_and_events_are_shown(as_viewer, run, answer):
    Cluster.objects.update(simulates_workloads=True)
    answer(RunHealth((BUSY,), left=4))

    lines = reading.lines_of(reading.read(as_viewer, url(run)))
    page = as_viewer.get(url(run)).content.decode()

    for said in (
        "0 of 1 object is ready · 2 pods are not ready",
        "1 of 3 pods are available · 1 of 3 new pods ready",
        "CrashLoopBackOff · container server · 3 restarts, last end: OOMKilled",
        "1 more pod",
        "4 more objects are not read here.",
    ):
        assert said in lines.replace("\n", " ")
    assert "back-off &lt;b&gt;40s" in page
    assert page.count("Back-off restarting") == 2
    assert "does not simulate workloads" not in page
    assert "every 5s" in page


def test_a_fragment_is_the_part_that_moves_and_a_calm_page_asks_less_often(as_viewer, run, answer):
    answer(RunHealth((ObjectHealth(0, State.CURRENT, "all 3 pods are available", events=(EVENT, EVENT)),)))

    fragment = as_viewer.get(url(run), headers=HTMX).content.decode()

    assert ("<html" in fragment, "every 30s" in fragment, fragment.count("Back-off restarting")) == (False, True, 1)
    assert "does not simulate workloads" in fragment


def test_nothing_to_watch_a_problem_and_missing_permissions_are_said(as_viewer, run, answer):
    answer(RunHealth())
    empty = as_viewer.get(url(run)).content.decode()
    answer(RunHealth(problem="The server did not answer."))
    failed = as_viewer.get(url(run)).content.decode()
    answer(RunHealth((ObjectHealth(0, State.UNKNOWN, unread={"pods": 403, "events": 500, "object": -1}),)))
    unread = as_viewer.get(url(run)).content.decode()

    assert ("Nothing to watch" in empty, "every " in empty) == (True, False)
    assert "The server did not answer." in failed
    assert "The pods could not be read: this needs the permission list pods in the cluster." in unread
    assert "The events could not be read (500)." in unread
    assert "The object could not be read (no answer)." in unread


def test_the_tab_is_on_each_page_of_a_run_and_closed_to_outsiders(as_viewer, as_charlie, run, answer):
    answer(RunHealth())

    assert f'href="{url(run)}"' in as_viewer.get(reverse("runs:show-run", args=[run.number])).content.decode()
    assert 'aria-current="page">Live' in as_viewer.get(url(run)).content.decode()
    assert as_charlie.get(url(run)).status_code == 404
