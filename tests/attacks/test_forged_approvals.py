"""Whoever writes into the database, past triggers too, gets nothing run and is named by every verifier (N6)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import AuditAction, ReviewState, RunState
from applyviz.records.models import ApplyRun, Approval, AuditEntry, EmergencyApply, ObjectResult, Plan, Review
from applyviz.workflow.approvals import quorum
from applyviz.workflow.audit import approval_macs, checkpoints, trail
from applyviz.workflow.evidence.history import export_entries
from tests.builders import make_approval
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def wired(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    return team.wire_up(monkeypatch)


def row_of(plan: Plan, team: Team, **values: object) -> dict[str, object]:
    """What an approval by Bob looks like."""
    return {
        "plan": plan,
        "digest": plan.digest,
        "by": team.bob,
        "by_name": "bob",
        "created_at": timezone.now(),
        **values,
    }


def write_entry(plan: Plan, team: Team, action: AuditAction) -> AuditEntry:
    """An entry that continues the chain as a true one does: hashes need no key."""
    return trail.record(action, by=team.bob, about=trail.AuditSubject.of_plan(plan), detail={"note": ""})


def without_entry(plan: Plan, team: Team) -> Approval:
    return Approval.objects.create(**row_of(plan, team))


def with_guessed_mac(plan: Plan, team: Team) -> Approval:
    entry = write_entry(plan, team, AuditAction.APPROVAL_GIVEN)
    return Approval.objects.create(**row_of(plan, team, entry=entry, mac="0" * 64))


def with_mac_of_another(plan: Plan, team: Team) -> Approval:
    """A genuine MAC, of what Bob approved elsewhere at another time."""
    genuine = make_approval(team.plan(config_map("other", a="1")), team.bob)
    entry = write_entry(plan, team, AuditAction.APPROVAL_GIVEN)
    return Approval.objects.create(**row_of(plan, team, entry=entry, mac=genuine.mac, created_at=genuine.created_at))


def with_mac_under_no_key(plan: Plan, team: Team) -> Approval:
    """The MAC that an empty key would make, which everybody can calculate."""
    row = Approval(**row_of(plan, team))
    entry = write_entry(plan, team, AuditAction.APPROVAL_GIVEN)
    row.entry = entry
    row.mac = approval_macs._make(row, "")
    row.save()
    return row


FORGERIES = [without_entry, with_guessed_mac, with_mac_of_another, with_mac_under_no_key]


def start_past_use_cases(plan: Plan, team: Team, given: Approval | None) -> ApplyRun:
    """What an insert makes of a plan: a run that looks consented."""
    needed = 1 if given else 0
    run = ApplyRun.objects.create(number=1, plan=plan, requested_by=team.bob, needed=needed, created_at=timezone.now())
    ObjectResult.objects.bulk_create(
        ObjectResult(run=run, change=change, position=change.position, step=change.step)
        for change in plan.changes.all()
    )
    Review.objects.filter(pk=plan.review_id).update(state=ReviewState.APPLYING)
    if given:
        Approval.objects.filter(pk=given.pk).update(spent_at=timezone.now(), run=run)
    return run


def verify() -> str:
    """What `audit verify` says of a database that it does not believe."""
    with pytest.raises(CommandError) as raised:
        call_command("audit", "verify", "--processes", "1")
    return str(raised.value)


def verify_offline(folder: Path) -> tuple[int, str]:
    """What the verifier says that needs nothing of the product."""
    export, published = folder / "export.jsonl", folder / "heads.jsonl"
    published.write_text(f"{checkpoints.publish(by=None)}\n")
    export.write_text("".join(export_entries({}, "jsonl")))
    words = [str(export), "--heads", str(published), "--key", checkpoints.public_key()]
    done = subprocess.run([sys.executable, ROOT / "scripts/verify_export.py", *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.core(2)
@pytest.mark.parametrize("forge", FORGERIES)
def test_forged_approval_counts_for_nothing(wired: Team, forge: Callable[[Plan, Team], Approval]) -> None:
    plan = wired.plan(config_map(a="1"))
    triggers.lift("default")

    forge(plan, wired)

    assert (quorum.list_valid_approvals(plan), quorum.count_quorum(plan).missing) == ([], 1)


@pytest.mark.core(2)
@pytest.mark.parametrize("forge", FORGERIES)
def test_run_on_a_forged_approval_writes_nothing(wired: Team, forge: Callable[[Plan, Team], Approval]) -> None:
    plan = wired.plan(config_map(a="1"))
    triggers.lift("default")

    run = wired.work(start_past_use_cases(plan, wired, forge(plan, wired)))

    assert (run.state, wired.wire.writes) == (RunState.FAILED, [])
    assert "the approval by bob is forged" in run.error


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_run_on_a_forged_emergency_apply_writes_nothing(wired: Team, mac: str) -> None:
    plan = wired.plan(config_map(a="1"))
    triggers.lift("default")
    entry = write_entry(plan, wired, AuditAction.EMERGENCY_APPLIED)
    EmergencyApply.objects.create(**row_of(plan, wired, reason="r", ticket="t", entry=entry, mac=mac))

    run = wired.work(start_past_use_cases(plan, wired, None))

    assert (run.state, wired.wire.writes) == (RunState.FAILED, [])
    assert "the emergency apply by bob is forged" in run.error


@pytest.mark.core(2)
@pytest.mark.parametrize("forge", FORGERIES)
def test_every_verifier_names_a_forged_approval(
    wired: Team, forge: Callable[[Plan, Team], Approval], tmp_path: Path
) -> None:
    plan = wired.plan(config_map(a="1"))
    triggers.lift("default")
    forged = forge(plan, wired)

    assert f"approval {forged.pk} by bob of plan 1 of review {plan.review.number}" in verify()
    status, said = verify_offline(tmp_path)
    assert (status, "records forged approvals" in said, f"approval {forged.pk} by bob" in said) == (1, True, True)


def test_true_approvals_are_vouched_for_offline(wired: Team, tmp_path: Path) -> None:
    wired.apply(config_map(a="1"))

    status, said = verify_offline(tmp_path)

    assert (status, "1 approvals were found genuine" in said, "a published checkpoint covers it" in said) == (
        0,
        True,
        True,
    )


def test_approval_that_was_taken_out_is_missed_offline(wired: Team, tmp_path: Path) -> None:
    """The history tells of two, and one row is left."""
    plan = wired.plan(config_map(a="1"))
    make_approval(plan, wired.bob)
    gone = make_approval(wired.plan(config_map(b="1")), wired.bob)
    triggers.lift("default")
    Approval.objects.filter(pk=gone.pk).delete()

    status, said = verify_offline(tmp_path)

    assert (status, "records 1 approvals, the audit log has 2" in said) == (1, True)


@pytest.mark.parametrize("changed", [{"by_name": "carol"}, {"created_at": timezone.now()}, {"is_sole": True}])
def test_changed_approval_is_forged(wired: Team, changed: dict[str, object]) -> None:
    approval = make_approval(wired.plan(config_map(a="1")), wired.bob)
    triggers.lift("default")

    Approval.objects.filter(pk=approval.pk).update(**changed)

    (forged,) = approval_macs.check_all().forged
    assert (forged.number, forged.fault) == (approval.pk, "it was not made by this installation")


def test_key_of_before_still_vouches(wired: Team, settings: Any) -> None:
    make_approval(wired.plan(config_map(a="1")), wired.bob)
    before = settings.APPLYVIZ_APPROVAL_KEY
    settings.APPLYVIZ_APPROVAL_KEY = "the-next-key-of-this-installation-0123456789"
    assert len(approval_macs.check_all().forged) == 1

    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = [before]

    assert approval_macs.check_all().forged == ()


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_database_takes_no_approval_without_its_entry(wired: Team, mac: str) -> None:
    plan = wired.plan(config_map(a="1"))
    other = write_entry(plan, wired, AuditAction.COMMENT_ADDED)

    for entry in (None, other):
        with pytest.raises(DatabaseError, match="names the audit entry"), transaction.atomic():
            Approval.objects.create(**row_of(plan, wired, entry=entry, mac=mac))
    with pytest.raises(DatabaseError, match="names the audit entry"), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO records_approval (plan_id, digest, by_id, by_name, note, created_at, mac, is_sole)"
            " VALUES (%s, %s, %s, 'bob', '', %s, %s, %s)",
            [plan.pk, plan.digest, wired.bob.pk, timezone.now(), mac, False],
        )
