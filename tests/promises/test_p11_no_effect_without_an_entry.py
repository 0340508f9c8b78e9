"""P11: no side effect without a durable audit entry before it; any later change of the history is found and located.

Threat H8 (audit edited, missing, or not writable).
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, transaction

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow import runs
from applyviz.workflow.audit import chain, trail
from tests.promises.conftest import Scene

pytestmark = [pytest.mark.promises, pytest.mark.django_db]


def test_intent_of_every_write_is_there_when_it_is_sent(scene: Scene):
    seen: list[int] = []
    scene.world.on_write = lambda exchange: seen.append(len(exchange.intents))
    run = scene.work(scene.start(scene.change()))

    scene.judge(run)
    assert len(seen) == 2
    assert 0 not in seen


@pytest.mark.parametrize(
    "action", [AuditAction.RUN_CLAIMED, AuditAction.OBJECT_INTENT], ids=["the claim", "the intent"]
)
def test_nothing_is_sent_while_the_history_takes_no_entry(scene: Scene, monkeypatch, action):
    run = scene.start(scene.change())
    record = trail.record

    def refuse(given: AuditAction, **values: Any) -> Any:
        if given == action:
            raise OperationalError("disk full")
        return record(given, **values)

    with monkeypatch.context() as patched:
        patched.setattr(trail, "record", refuse)
        with contextlib.suppress(OperationalError):
            runs.execute_run(run.pk, sleep=lambda seconds: None)
    assert scene.writes == []


def test_approval_and_start_leave_nothing_while_the_history_takes_no_entry(scene: Scene, monkeypatch):
    plan = scene.change()

    def refuse(*_: Any, **__: Any) -> Any:
        raise OperationalError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(trail, "record", refuse)
        with pytest.raises(OperationalError), transaction.atomic():
            runs.approve_and_run(plan, by=scene.bob, digest=plan.digest)

    assert not plan.approvals.exists()
    assert not hasattr(plan, "run") or plan.run is None


def test_database_refuses_to_change_or_forget_an_entry(scene: Scene):
    scene.work(scene.start(scene.change()))
    for act in (
        lambda: AuditEntry.objects.update(actor_name="nobody"),
        lambda: AuditEntry.objects.all()._raw_delete("default"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            act()


@pytest.mark.core(2)
@pytest.mark.parametrize(
    "column", ["actor_name", "action", "at", "cluster", "run", "kind", "name", "plan_digest", "detail"]
)
def test_change_of_any_column_is_found_at_its_entry(scene: Scene, unguarded, column):
    scene.work(scene.start(scene.change()))
    assert chain.verify_chain().is_intact
    for entry in AuditEntry.objects.all():
        with transaction.atomic():
            point = transaction.savepoint()
            AuditEntry.objects.filter(pk=entry.pk).update(**{column: _other(column, entry)})
            report = chain.verify_chain()
            assert report.bad is not None, (entry, column)
            assert (report.bad.chain, report.bad.sequence) == (entry.chain, entry.sequence)
            transaction.savepoint_rollback(point)


def _other(column: str, entry: AuditEntry) -> Any:
    value = getattr(entry, column)
    match column:
        case "at":
            return value.replace(year=value.year - 1)
        case "run":
            return 999
        case "detail":
            return {**value, "x": "y"}
        case "action":
            return AuditAction.SIGNED_IN
        case _:
            return f"{value}x"


def test_entry_that_is_gone_is_found(scene: Scene, unguarded):
    scene.work(scene.start(scene.change()))
    for entry in AuditEntry.objects.all():
        with transaction.atomic():
            point = transaction.savepoint()
            AuditEntry.objects.filter(pk=entry.pk)._raw_delete("default")
            assert not chain.verify_chain().is_intact, entry
            transaction.savepoint_rollback(point)
