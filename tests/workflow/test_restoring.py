"""After a restore nothing that was in progress at the time of the backup goes on without a person."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command

from applyviz import clock
from applyviz.records.enums import AuditAction, RunState, ScheduledStartState, StartEnd
from applyviz.records.models import ApplyRun, AuditEntry, ScheduledStart
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import chain
from applyviz.workflow.ops import recovery
from tests.stories import Killed, Team, config_map, let_lease_run_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(monkeypatch) -> Team:
    return Team().wire_up(monkeypatch)


def die() -> None:
    raise Killed


def restored(reason: str = "the disk broke") -> str:
    out = StringIO()
    call_command("restored", "--reason", reason, stdout=out)
    return out.getvalue()


def interrupt(team: Team, at_point) -> ApplyRun:
    """A run whose worker was lost after its first object: the state of a backup that was made meanwhile."""
    run = team.start(team.plan(config_map("one", a="1"), config_map("two", b="2")))
    at_point("run.concluded", die, 1)
    with pytest.raises(Killed):
        runs.execute_run(run.pk)
    let_lease_run_out(run)
    return run


def test_run_in_progress_writes_nothing_more(team, at_point):
    run = interrupt(team, at_point)

    said = restored()
    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.CANCELED, ["applied", "not-attempted"])
    assert len(team.wire.writes) == 1
    assert said.splitlines()[0] == f"Runs canceled: {run.number}"


def test_without_the_command_it_would_go_on(team, at_point):
    run = interrupt(team, at_point)

    team.work(run)

    assert team.outcomes(run) == ["applied", "applied"]


def test_scheduled_start_never_starts(team):
    plan = team.plan(config_map(a="1"))
    runs.schedule_start(plan, by=team.bob, digest=plan.digest, expires_at=clock.now() + timedelta(days=1))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    said = restored()
    recovery.recover()

    row = ScheduledStart.objects.get()
    assert (row.state, row.end, ApplyRun.objects.count()) == (ScheduledStartState.CANCELED, StartEnd.RESTORED, 0)
    assert "Scheduled starts canceled: 1" in said


def test_everybody_signs_in_again(team, client):
    client.force_login(team.alice)
    assert client.get("/").status_code == 200

    said = restored()

    assert (client.get("/").status_code, Session.objects.count()) == (302, 0)
    assert "Sessions ended: 1" in said


def test_restore_is_recorded_with_its_reason(team, at_point):
    run = interrupt(team, at_point)

    restored("the disk broke")

    entry = AuditEntry.objects.get(action=AuditAction.BACKUP_RESTORED)
    assert (entry.detail["reason"], entry.detail["runs"]) == ("the disk broke", [run.number])
    canceled = AuditEntry.objects.get(action=AuditAction.RUN_CANCELED)
    assert (canceled.run, canceled.detail) == (run.number, {"reason": "the disk broke"})
    assert chain.verify_chain().is_intact


def test_it_can_be_called_again(team, at_point):
    run = team.work(interrupt(team, at_point))

    restored()
    said = restored()

    assert run.state == RunState.APPLIED
    assert said.splitlines()[0] == "Runs canceled: none"


def test_reason_is_required():
    with pytest.raises(CommandError, match="give the reason"):
        restored("  ")
