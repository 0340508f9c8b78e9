"""Runs of several writes per object: ownership, the apply, kubectl's record; nothing is lost, repeated or a move."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.audit import chain
from applyviz.workflow.foundation import failpoints
from tests.stories import SETTINGS, Killed, Team, _Wired, config_map, let_lease_run_out

pytestmark = pytest.mark.django_db
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT_SIDE = "kubectl-client-side-apply"
KUBECTL = {"mode": ApplyMode.CLIENT, "field_manager": CLIENT_SIDE}
POINTS = (
    "run.intending",
    "run.intended",
    "run.answered",
    "run.recording",
    "run.recorded",
    "run.concluding",
    "run.telling",
    "run.concluded",
)
# The writes of a takeover: kubectl's record of what was applied follows the apply of the manager kubectl.
WRITES = {"applyviz": 2, "kubectl": 3}
TIMES = [(manager, time) for manager, count in WRITES.items() for time in range(1, count + 1)]
BEFORE, AFTER = config_map(a="1", old="x"), config_map(a="2")
HANDED_BACK = config_map(a="2", kept="k")


@pytest.fixture
def team(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(BEFORE, **KUBECTL)
    return team


def die():
    raise Killed


def work(run: ApplyRun) -> None:
    """A worker that may die picks the run up; nothing waits."""
    runs.execute_run(run.pk, sleep=lambda seconds: None)


def write_status(team: Team) -> None:
    """What a controller does meanwhile: a write of something that no plan touches."""
    team.edit(SETTINGS, {"metadata": {"annotations": {"controller/seen": "1"}}}, manager="some-controller")


def write_label(team: Team) -> None:
    """A controller's write beside the annotations, which client-side apply makes anew where an object has none."""
    team.edit(SETTINGS, {"metadata": {"labels": {"controller": "seen"}}}, manager="some-controller")


def assert_taken_over(team: Team, manager: str) -> None:
    live = team.live()
    owners = {entry["manager"] for entry in live["metadata"]["managedFields"]} - {"some-controller"}
    keepers = {"kubectl-last-applied"} if manager == "kubectl" else set()
    assert (live["data"], owners) == ({"a": "2"}, {manager, *keepers})
    text = live["metadata"].get("annotations", {}).get(ANNOTATION)
    assert (json.loads(text)["data"] if text else None) == ({"a": "2"} if manager == "kubectl" else None)


@pytest.mark.core(1)
@pytest.mark.parametrize("manager", ["applyviz", "kubectl"])
def test_run_ends_verified_and_the_next_plan_has_nothing_to_apply(team, manager):
    run = team.work(team.start(team.plan(AFTER, field_manager=manager)))

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    assert_taken_over(team, manager)
    assert [change.operation for change in team.plan(AFTER, field_manager=manager).changes.all()] == ["unchanged"]


@pytest.mark.core(1)
@pytest.mark.parametrize(("manager", "time"), TIMES)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("meets", [None, write_status])
def test_next_worker_goes_on_from_every_point(team, at_point, point, manager, time, meets):
    run = team.start(team.plan(AFTER, field_manager=manager))
    before = len(team.wire.effective)
    at_point(point, die, time)
    try:
        work(run)
    except Killed:
        let_lease_run_out(run)
        failpoints.hooks.clear()
        if meets is not None:
            meets(team)
        assert set(team.live()["data"].items()) in ({("a", "1"), ("old", "x")}, {("a", "2")})
        team.work(run)

    run.refresh_from_db()
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail
    assert_taken_over(team, manager)
    assert len(team.wire.effective) - before == WRITES[manager]
    assert chain.verify_chain().is_intact


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("manager", "time"), [(manager, time) for manager, n in WRITES.items() for time in range(1, 2 * n + 1)]
)
def test_writes_of_controllers_in_between_are_no_moves(team, at_point, manager, time):
    run = team.start(team.plan(AFTER, field_manager=manager))
    for point in ("run.intended", "run.answered"):
        at_point(point, lambda: write_status(team), time)

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail
    assert_taken_over(team, manager)


@pytest.mark.core(1)
@pytest.mark.parametrize("manager", WRITES)
@pytest.mark.parametrize(("point", "time"), [("run.answered", 1), ("run.recorded", 1), ("run.intended", 2)])
@pytest.mark.parametrize("is_killed", [False, True])
def test_value_that_others_change_in_between_stops_the_object(team, at_point, manager, point, time, is_killed):
    run = team.start(team.plan(AFTER, field_manager=manager))

    def meddle():
        team.edit(SETTINGS, {"data": {"a": "by hand"}})
        if is_killed:
            die()

    at_point(point, meddle, time)
    try:
        work(run)
    except Killed:
        let_lease_run_out(run)
        team.work(run)

    run.refresh_from_db()
    assert run.state != RunState.APPLIED
    assert team.live()["data"]["a"] == "by hand"


@pytest.mark.core(1)
@pytest.mark.parametrize(("manager", "number"), TIMES)
@pytest.mark.parametrize("fault", ["lose answer", "lose request", "refuse connection"])
@pytest.mark.parametrize("meets", [None, write_status])
def test_lost_messages_are_resolved_by_reading_live(team, fault, manager, number, meets):
    run = team.start(team.plan(AFTER, field_manager=manager))
    first = len(team.wire.writes)

    def break_one(request, count):
        if count - first != number:
            return ""
        if meets is not None and fault == "lose request" and number == 1:
            meets(team)
        return fault

    team.wire.fault = break_one
    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail
    assert_taken_over(team, manager)


@pytest.mark.core(1)
@pytest.mark.parametrize("manager", ["applyviz", "kubectl"])
def test_last_applied_never_holds_what_binds_a_write(team, manager):
    team.apply(AFTER, field_manager=manager)
    back = team.work(team.start(team.plan(BEFORE, **KUBECTL)))

    text = json.loads(team.live()["metadata"]["annotations"][ANNOTATION])
    assert back.state == RunState.APPLIED
    assert not {"uid", "resourceVersion"} & set(text["metadata"])
    assert team.live()["data"] == {"a": "1", "old": "x"}


def assert_handed_back(team: Team) -> None:
    live = team.live()
    owners = {(e["manager"], e["operation"]) for e in live["metadata"]["managedFields"]}
    assert (live["data"], owners - {("some-controller", "Update")}) == (
        {"a": "2", "kept": "k"},
        {(CLIENT_SIDE, "Update")},
    )
    assert json.loads(live["metadata"]["annotations"][ANNOTATION])["data"] == {"a": "2", "kept": "k"}


@pytest.fixture
def server_side(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1", old="x", kept="k"), field_manager="kubectl")
    return team


# Whether a first write that nobody answered was carried out cannot be known when another manager wrote since.
WAYS_BACK = [
    (meets, point, time)
    for meets in (None, write_label)
    for point in POINTS
    for time in (1, 2)
    if (meets, point, time) != (write_label, "run.intended", 1)
]


@pytest.mark.long
def test_first_write_back_without_an_answer_is_unknown_once_another_manager_wrote(server_side, at_point):
    team, run = server_side, server_side.start(server_side.plan(HANDED_BACK, **KUBECTL))
    at_point("run.intended", die, 1)
    with pytest.raises(Killed):
        work(run)
    let_lease_run_out(run)
    failpoints.hooks.clear()
    write_label(team)
    team.work(run)

    run.refresh_from_db()
    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["unknown"])
    assert team.live()["data"] == {"a": "1", "old": "x", "kept": "k"}


@pytest.mark.long
@pytest.mark.parametrize(("meets", "point", "time"), WAYS_BACK)
def test_next_worker_goes_on_from_every_point_of_the_way_back(server_side, at_point, point, time, meets):
    team, run = server_side, server_side.start(server_side.plan(HANDED_BACK, **KUBECTL))
    before = len(team.wire.effective)
    at_point(point, die, time)
    try:
        work(run)
    except Killed:
        let_lease_run_out(run)
        failpoints.hooks.clear()
        if meets is not None:
            meets(team)
        team.work(run)

    run.refresh_from_db()
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail
    assert_handed_back(team)
    assert len(team.wire.effective) - before == 2
    assert team.plan(HANDED_BACK, **KUBECTL).changes.get().operation == "unchanged"


@pytest.mark.long
def test_write_between_a_read_and_a_dry_run_of_the_way_back_is_no_move(server_side, monkeypatch):
    """A controller writes after the object was read and before a dry run answers, whose answer holds its write."""
    team, run = server_side, server_side.start(server_side.plan(HANDED_BACK, **KUBECTL))
    send, asked = _Wired.send, []

    def send_late(wired, request):
        if request.is_dry_run and request.path == SETTINGS:
            asked.append(request.method)
            if len(asked) == 1:
                write_status(team)
        return send(wired, request)

    monkeypatch.setattr(_Wired, "send", send_late)
    work(run)

    run.refresh_from_db()
    assert asked
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("fault", ["lose answer", "lose request", "refuse connection"])
def test_lost_messages_of_the_way_back_are_resolved_by_reading_live(server_side, fault, number):
    team, run = server_side, server_side.start(server_side.plan(HANDED_BACK, **KUBECTL))
    first = len(team.wire.writes)
    team.wire.fault = lambda request, count: fault if count - first == number else ""

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"]), run.results.get().detail
    assert_handed_back(team)
