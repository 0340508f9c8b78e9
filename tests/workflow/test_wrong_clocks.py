"""The clock of a cluster differs from ours: times of both are compared only after conversion."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from applyviz import clock
from applyviz.clusters import sandbox
from applyviz.clusters.server_clock import compare_clocks, read_date
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import FindingSort, Outcome
from applyviz.records.models import ClusterScan, JournalEntry, LiveFinding, ObjectResult
from applyviz.workflow.live import inventory, ownership_history, run_health, scans
from tests.memory import Memory, start
from tests.stories import SETTINGS, Team, config_map
from tests.workloads import answer_lists, deployment, slow_team

pytestmark = pytest.mark.django_db

DAY, HOUR, SOON = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
KEY = ("", "ConfigMap", "default", "settings")


class ServerClock:
    """Set the clock of the API server of sandboxes `ahead` of ours."""

    def __init__(self, ahead: timedelta) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return clock.host_now() + self.ahead


@pytest.fixture(params=[-DAY, timedelta(), DAY], ids=["behind", "equal", "ahead"])
def server_clock(request, monkeypatch):
    made = ServerClock(request.param)
    monkeypatch.setattr(sandbox, "_now", made.now)
    return made


@pytest.fixture
def team(server_clock, monkeypatch):
    return Team().wire_up(monkeypatch)


def scan(team, *sorts):
    """Scan the cluster; return the findings of these sorts."""
    made = scans.request_scan(team.cluster, by=team.alice)
    scans.scan_cluster(made.pk)
    assert ClusterScan.objects.get(pk=made.pk).problem == ""
    return list(LiveFinding.objects.filter(gone_at=None, sort__in=sorts or [FindingSort.CHANGED]).order_by("id"))


def is_now(at):
    return abs(at - clock.now()) < SOON


@pytest.mark.core(1)
def test_what_a_run_applied_is_explained(team):
    team.apply(config_map(a="1"))

    assert scan(team, FindingSort.CHANGED, FindingSort.DRIFTED) == []


@pytest.mark.core(1)
def test_edit_is_found_and_dated_by_our_clock(team):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2"}})

    [found] = scan(team)

    assert (found.manager, is_now(found.changed_at)) == ("kubectl-edit", True)


@pytest.mark.core(1)
def test_same_name_at_another_time_is_no_run(team, move_clock):
    team.apply(config_map(a="1"))
    move_clock(clock.now() + HOUR)
    team.edit(SETTINGS, {"data": {"a": "2"}}, manager="applyviz")

    assert [one.manager for one in scan(team)] == ["applyviz"]


@pytest.mark.core(1)
def test_write_whose_answer_was_lost_is_explained(team):
    team.wire.fault = lambda request, number: "lose answer" if number == 1 else ""
    run = team.apply(config_map(a="1"))

    assert team.outcomes(run) == [Outcome.VERIFIED]
    assert JournalEntry.objects.get().note != ""
    assert scan(team) == []


@pytest.mark.core(1)
def test_clock_that_was_corrected_since_changes_nothing(team, server_clock):
    team.apply(config_map(a="1"))
    server_clock.ahead = timedelta()

    assert scan(team) == []


@pytest.mark.core(1)
def test_what_was_there_before_a_run_found_it_as_approved_is_no_finding(team, move_clock, server_clock):
    team.apply_as("applyviz", config_map(a="1"))
    move_clock(clock.now() + HOUR)
    run = team.apply(config_map(a="1"), config_map("other", a="1"), mode=ApplyMode.SERVER)
    before = scan(team)
    move_clock(clock.now() + HOUR)
    team.edit(SETTINGS, {"data": {"b": "2"}})

    result = ObjectResult.objects.get(run=run, change__name="settings")
    assert (result.outcome, result.journal.count(), before) == (Outcome.UNCHANGED, 0, [])
    assert abs(result.server_ahead - server_clock.ahead) < SOON
    assert [one.manager for one in scan(team)] == ["kubectl-edit"]


def test_finding_is_the_same_one_after_the_clock_was_corrected(team, server_clock):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-hand"}, "data": {"a": "1"}}
    team.send(Request("POST", "/api/v1/namespaces/default/configmaps", {"fieldManager": "kubectl-create"}, JSON, body))
    first = [one.pk for one in scan(team, FindingSort.UNREVIEWED) if one.name == "by-hand"]
    server_clock.ahead = timedelta()

    assert [one.pk for one in scan(team, FindingSort.UNREVIEWED) if one.name == "by-hand"] == first


@pytest.mark.core(1)
def test_owners_over_time_are_dated_by_our_clock(team, move_clock):
    options = {"field_manager": "ci", "mode": ApplyMode.SERVER, "takes_over": True}
    team.apply(config_map(a="1"), **options)
    move_clock(clock.now() + HOUR)
    edited_at = clock.now()
    team.edit(SETTINGS, {"data": {"a": "9"}})
    move_clock(clock.now() + HOUR)
    team.apply(config_map(a="1"), **options)

    back, edited, made, _absent = ownership_history.owners_of("box", KEY, for_user=team.bob).moments

    assert abs(edited.at - edited_at) < SOON
    assert is_now(back.at)
    assert abs(made.at + HOUR - edited_at) < SOON


@pytest.mark.core(1)
def test_last_writes_of_a_field_manager_are_dated_by_our_clock(team):
    team.apply(config_map(a="1"))

    [held] = inventory.read_holdings(team.cluster, "applyviz", for_user=team.alice).objects

    assert is_now(datetime.fromisoformat(held.owner.time))


@pytest.mark.core(1)
@pytest.mark.parametrize("ahead", [-DAY, timedelta(), DAY], ids=["behind", "equal", "ahead"])
def test_events_of_live_objects_are_dated_by_our_clock(ahead, monkeypatch):
    memory = Memory(has_controllers=False)
    slow = slow_team(memory, monkeypatch)
    run = slow.work(start(slow, deployment()))
    server_now = clock.host_now() + ahead
    about = {"involvedObject": {"kind": "Deployment", "name": "web"}, "reason": "ScalingReplicaSet"}
    texts = [server_now.isoformat(), "at noon", ""]
    answer_lists(memory, monkeypatch, [], [{**about, "lastTimestamp": text} for text in texts])
    send = memory.send
    monkeypatch.setattr(memory, "send", lambda request: replace(send(request), at=clock.host_now() + ahead))

    [found] = run_health.read_health(run, for_user=slow.bob).objects

    shown = {event.at for event in found.events}
    assert {"at noon", ""} < shown
    [at] = shown - {"at noon", ""}
    assert is_now(datetime.fromisoformat(at))


def test_clocks_that_differ_by_seconds_are_equal():
    noon = datetime(2026, 8, 20, 12, tzinfo=UTC)

    assert compare_clocks(noon + timedelta(seconds=9), noon) == timedelta()
    assert compare_clocks(noon - timedelta(seconds=11), noon) == timedelta(seconds=-11)
    assert compare_clocks(None, noon) is None


@pytest.mark.parametrize(
    ("header", "at"),
    [
        ("Thu, 20 Aug 2026 12:00:00 GMT", datetime(2026, 8, 20, 12, tzinfo=UTC)),
        ("Thu, 20 Aug 2026 12:00:00 -0000", datetime(2026, 8, 20, 12, tzinfo=UTC)),
        ("yesterday", None),
        ("Thu, 99 Aug 2026 99:00:00 GMT", None),
        ("", None),
    ],
)
def test_date_of_an_answer_is_read(header, at):
    assert read_date(header) == at
