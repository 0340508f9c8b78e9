"""The reads of a run: does its journal say what was read, when, with which answer, and why?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.clusters.read_log import ReadLog
from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult
from applyviz.web.runs.pages import run_page
from tests.stories import SETTINGS, Team, config_map
from tests.web.reading import lines_of, read

pytestmark = pytest.mark.django_db
CLIENT = {"mode": ApplyMode.CLIENT}


def show(team: Team, name: str, run: ApplyRun, *more: object) -> str:
    """A page of a run without its spaces: addresses may break anywhere."""
    client = Client()
    client.force_login(team.alice)
    return "".join(lines_of(read(client, reverse(name, args=[run.number, *more]))).split())


def squeeze(text: str) -> str:
    return "".join(text.split())


def list_statuses(run: ApplyRun) -> list[list[int]]:
    """The answers to the reads before each request of a run."""
    entries = JournalEntry.objects.filter(result__run=run).order_by("id")
    return [[one["status"] for one in entry.reads] for entry in entries]


@pytest.mark.long
def test_read_before_a_create_and_before_a_patch_is_journaled(team: Team) -> None:
    created = team.apply(config_map(a="1"), **CLIENT)
    updated = team.apply(config_map(a="2"), **CLIENT)

    assert list_statuses(created) == [[404]]
    assert list_statuses(updated) == [[200]]
    (entry,) = JournalEntry.objects.filter(result__run=created)
    assert entry.reads[0]["path"] == SETTINGS
    assert datetime.fromisoformat(entry.reads[0]["at"]) <= entry.sent_at


def test_run_pages_show_reads_with_their_reason(team: Team) -> None:
    run = team.apply(config_map(a="1"), **CLIENT)

    for page in (show(team, "runs:list-requests", run), show(team, "runs:show-result", run, 0)):
        assert squeeze(f"GET {SETTINGS} 404 to compare the effect with the approved one") in page
    assert "readsofdiscoveryandschemas" in show(team, "runs:list-requests", run)
    run.refresh_from_db()
    assert {"/api", "/apis", "/openapi/v3"} <= {one["path"] for one in run.reads}


@pytest.mark.core(1)
@pytest.mark.parametrize("name", ["runs:list-requests", "runs:show-graph", "runs:show-live"])
def test_tabs_beside_the_timeline_make_no_list_of_its_objects(
    team: Team, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run = team.apply(config_map(a="1"), **CLIENT)
    listed: list[ApplyRun] = []
    monkeypatch.setattr(run_page, "_present_body", lambda shown, *_results, **_more: listed.append(shown))

    show(team, name, run)

    assert listed == []


@pytest.mark.long
def test_unchanged_object_is_only_read(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    run = team.apply(config_map(a="1"), config_map("zeta", a="1"), **CLIENT)

    assert not JournalEntry.objects.filter(result__run=run, result__position=0).exists()
    assert [one["status"] for one in ObjectResult.objects.get(run=run, position=0).reads] == [200]
    assert squeeze("The object was only read.") in show(team, "runs:show-result", run, 0)


def make_conflict(team: Team, times: int = 1) -> Callable[[Request, int], str]:
    """Another client labels the object just before each of the first writes arrives."""
    first = len(team.wire.writes) + 1

    def interfere(request: Request, number: int) -> str:
        if number < first + times:
            assert team.edit(SETTINGS, {"metadata": {"labels": {"seen": f"time-{number}"}}}).is_ok
        return ""

    return interfere


def test_retry_after_a_conflict_reads_again_and_says_so(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    plan = team.plan(config_map(a="2"), **CLIENT)
    run = team.start(plan)
    team.wire.fault = make_conflict(team)

    run = team.work(run)

    assert list(JournalEntry.objects.filter(result__run=run).order_by("id").values_list("status", flat=True)) == [
        409,
        200,
    ]
    reads = list_statuses(run)
    assert reads[0] == [200]
    assert reads[1]
    for page in (show(team, "runs:list-requests", run), show(team, "runs:show-result", run, 0)):
        assert squeeze("200 again, because the server answered 409: another client wrote the object") in page


@pytest.mark.core(1)
@pytest.mark.parametrize(("times", "outcome"), [(5, "applied"), (6, "failed")])
def test_conflicting_write_is_retried_five_times_as_kubectl_does(team: Team, times: int, outcome: str) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    run = team.start(team.plan(config_map(a="2"), **CLIENT))
    team.wire.fault = make_conflict(team, times)

    run = team.work(run)

    entries = JournalEntry.objects.filter(result__run=run).order_by("id")
    assert list(entries.values_list("status", flat=True)) == ([409] * times + [200])[:6]
    assert team.outcomes(run) == [outcome]
    shown = show(team, "runs:show-result", run, 0)
    assert shown.count(squeeze("again, because the server answered 409: another client wrote the object")) >= 5


def test_lost_answer_is_resolved_by_a_read(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    run = team.start(team.plan(config_map(a="2"), **CLIENT))
    team.wire.fault = lambda request, number: "lose answer"

    run = team.work(run)

    assert run.state == "applied"
    assert squeeze("200 to see whether the request was carried out") in show(team, "runs:show-result", run, 0)


@pytest.mark.long
def test_deleted_object_is_read_until_it_is_gone(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    run = team.apply(config_map(a="1"), action=SetAction.DELETE)

    assert squeeze("404 to see whether the object is gone") in show(team, "runs:show-result", run, 0)


def test_log_keeps_the_first_reads_and_the_last() -> None:
    times = (datetime(2026, 6, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(20))
    log = ReadLog(lambda: next(times))
    for number in range(10):
        log.add("/a", 200 + number)
    log.add("/b", 0)

    assert log.take_others({"/a"}) == [{"path": "/b", "status": 0, "at": "2026-06-01T00:00:10+00:00"}]
    found = log.take("/a")
    assert [one["status"] for one in found] == [200, 201, 202, 203, 204, 205, 209]
    assert found[-1]["skipped"] == 3
    assert log.take("/a") == []


def test_log_of_seven_reads_skips_none() -> None:
    log = ReadLog(lambda: datetime(2026, 6, 1, tzinfo=UTC))
    for _ in range(7):
        log.add("/a", 200)

    assert [one.get("skipped") for one in log.take("/a")] == [None] * 7


def test_steady_clock_goes_on_without_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([5.0, 7.5])
    monkeypatch.setattr(clock, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 6, 1, tzinfo=UTC))

    assert clock.start_steady()() == datetime(2026, 6, 1, 0, 0, 2, 500_000, tzinfo=UTC)
