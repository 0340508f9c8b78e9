"""P1: no write is sent whose bytes, target, identity, order and flags are not in a plan approved by quorum, once.

Threats B1 (every field of a stored plan), B2 (edit against approve), B6 (replay), B7 (rights), B8 (target swap),
H1 (forged messages).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import celery
import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from applyviz.queue import TaskName
from applyviz.records.fields import seal_for
from applyviz.records.models import ApplyRun, Approval, ObjectChange, Plan, SourceFile
from applyviz.records.sealing import Unsealed
from applyviz.sources.bundle import BundledFile as BundledFile
from applyviz.sources.bundle import SourceBundle
from applyviz.tasks import execute_run, make_plan
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import NotPossibleError, WorkflowError
from applyviz.workflow.plans import reviews
from tests.builders import make_policy, take_roles
from tests.model.world import World
from tests.stories import config_map

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
# One field of four in every run, each of them in the long lane.
EVERY = pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.long)])


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    else:
        yield path


def _flip(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case None:
            return "x"
        case _:
            return {"x": 1} if isinstance(value, dict) else ["x"]


def _flipped(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    if not path:
        return _flip(changed)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = _flip(inner[path[-1]])
    return changed


def _refuses(scene, run_of: Plan, row: Any, /, **values: Any) -> str:
    """Change a stored row behind the product's back, let a worker run; gives what was sent all the same."""
    with transaction.atomic():
        point = transaction.savepoint()
        type(row).objects.filter(pk=row.pk).update(**values)
        scene.work(ApplyRun.objects.get(plan=run_of))
        sent = list(scene.writes)
        scene.world.exchanges.clear()
        transaction.savepoint_rollback(point)
    return f"{sorted(values)}: {sent}" if sent else ""


@EVERY
def test_every_flipped_field_of_a_sealed_change_keeps_the_run_from_writing(scene, unguarded, step):
    plan = scene.change()
    scene.start(plan)
    tried, sent = 0, []
    for row in plan.changes.all():
        sealed = row.sealed.open_json()
        for path in list(_leaves(sealed))[::step]:
            tried += 1
            flipped = seal_for(row, "sealed", Unsealed.of_json(_flipped(sealed, path)))
            sent += [(path, s) for s in [_refuses(scene, plan, row, sealed=flipped)] if s]

    assert sent == []
    assert tried > 60 // step


@EVERY
def test_every_flipped_field_that_was_shown_keeps_the_run_from_writing(scene, unguarded, step):
    plan = scene.change(config_map("there", x="2", w="1"))
    scene.start(plan)
    row = plan.changes.get()
    paths = list(_leaves(row.document))[::step]
    sent = [_refuses(scene, plan, row, document=_flipped(row.document, path)) for path in paths]

    assert set(sent) == {""}


@pytest.mark.core(3)
@pytest.mark.parametrize(
    "column",
    ["step", "group", "version", "kind", "namespace", "name", "operation", "method", "certainty", "has_effect",
     "conflicts", "risks", "highest_risk", "risk_levels", "error", "effect"],
)  # fmt: skip
def test_every_flipped_column_of_a_change_keeps_the_run_from_writing(scene, unguarded, column):
    plan = scene.change(config_map("there", x="2", w="1"))
    scene.start(plan)
    row = plan.changes.get()

    assert _refuses(scene, plan, row, **{column: _flip(getattr(row, column))}) == ""


@pytest.mark.core(3)
@pytest.mark.parametrize("column", ["options", "decisions", "digest", "cluster_uid", "policy_version", "policy_digest"])
def test_every_flipped_column_of_a_plan_keeps_the_run_from_writing(scene, unguarded, column):
    plan = scene.change()
    scene.start(plan)
    for path in _leaves(getattr(plan, column)):
        assert _refuses(scene, plan, plan, **{column: _flipped(getattr(plan, column), path)}) == ""


def test_changed_manifests_and_other_changes_keep_the_run_from_writing(scene, unguarded):
    plan = scene.change()
    scene.start(plan)
    file = SourceFile.objects.filter(revision=plan.revision).first()
    first, second = plan.changes.order_by("position")

    other = seal_for(file, "content", Unsealed.of_bytes(config_map("there", x="666").encode()))
    assert _refuses(scene, plan, file, content=other) == ""
    assert _refuses(scene, plan, first, sealed=second.sealed) == ""
    assert _refuses(scene, plan, first, position=9) == ""
    assert _refuses(scene, plan, ObjectChange.objects.get(pk=first.pk), plan=scene.plan(config_map("z", a="1"))) == ""


def test_untouched_plan_is_written(scene, unguarded):
    plan = scene.change()
    run = scene.work(scene.start(plan))

    assert (run.state, len(scene.writes)) == ("applied", 2)
    scene.judge(run)


def test_edit_drops_the_approval_and_an_old_digest_starts_nothing(scene):
    plan = scene.change()
    approving.approve_plan(plan, by=scene.bob, digest=plan.digest)
    bundle = SourceBundle((BundledFile("0.yaml", config_map("there", x="3", w="1").encode()),))
    edited = reviews.replan_review(plan.review, by=scene.alice, bundle=bundle)
    make_plan(edited.pk)
    edited.refresh_from_db()

    for chosen, digest in ((plan, plan.digest), (edited, plan.digest), (edited, edited.digest), (edited, "")):
        with pytest.raises(NotPossibleError):
            runs.start_run(chosen, by=scene.bob, digest=digest)
    assert not ApplyRun.objects.exists()


def test_approval_is_spent_once(scene):
    plan = scene.change()
    run = scene.work(scene.start(plan))
    spent = Approval.objects.get()

    assert (spent.run_id, spent.spent_at is not None) == (run.pk, True)
    for change in ({"spent_at": None}, {"revoked_at": timezone.now()}, {"run": None}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Approval.objects.filter(pk=spent.pk).update(**change)
    with pytest.raises(WorkflowError):
        approving.revoke_approval(spent, by=scene.bob)
    again = reviews.create_review(
        by=scene.alice,
        title="Again",
        reason="",
        ticket="",
        cluster=scene.cluster,
        options=plan_options(plan),
        bundle=SourceBundle((BundledFile("0.yaml", config_map("there", x="9", w="1").encode()),)),
    ).plans.get()
    make_plan(again.pk)
    again.refresh_from_db()
    with pytest.raises(NotPossibleError, match="1 approval missing"):
        runs.start_run(again, by=scene.bob, digest=again.digest)


def plan_options(plan: Plan) -> Any:
    from applyviz.engine.planning.digest.serialize import options_from_json  # noqa: PLC0415 - one use

    return options_from_json(plan.options)


def test_right_that_was_taken_away_keeps_the_run_from_writing(scene):
    for who, take in (("bob", take_roles), ("alice", take_roles), ("bob", _deactivate), ("alice", _deactivate)):
        with transaction.atomic():
            point = transaction.savepoint()
            run = scene.start(scene.change())
            take(scene.person(who))
            assert (scene.work(run).state, scene.writes) == ("failed", []), who
            scene.world.begin_anew()
            transaction.savepoint_rollback(point)


def _deactivate(person: Any) -> None:
    type(person).objects.filter(pk=person.pk).update(is_active=False)


def test_policy_that_changed_keeps_the_run_from_writing(scene):
    run = scene.start(scene.change())
    make_policy(approvals=2)

    assert (scene.work(run).state, scene.writes) == ("failed", [])


def test_other_cluster_behind_the_name_gets_nothing(scene, monkeypatch):
    run = scene.start(scene.change())
    other = World()
    other.wire_up(monkeypatch)

    assert scene.work(run).state == "failed"
    assert [e for e in other.exchanges if e.is_write] == []


def test_forged_messages_wake_nothing_that_was_not_approved(scene):
    waiting = scene.change()
    planned = scene.plan(config_map("second", a="1"))
    approving.approve_plan(planned, by=scene.bob, digest=planned.digest)
    scene.world.exchanges.clear()
    dice = random.Random(7)
    forged: list[Any] = [
        waiting.pk,
        planned.pk,
        0,
        -1,
        10**18,
        None,
        "1",
        "x",
        [],
        {},
        True,
        1.5,
        "1; DROP TABLE",
        b"\x80",
    ]
    for _ in range(200):
        for task in (execute_run, make_plan):
            try:
                task(dice.choice(forged))
            except Exception:
                continue

    assert (scene.writes, ApplyRun.objects.count()) == ([], 0)


def test_messages_hold_an_id_and_nothing_else():
    app = celery.current_app
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_ignore_result is True
    assert {name for name in app.tasks if name.startswith("applyviz.")} == {name.value for name in TaskName}


def test_expired_approval_starts_nothing(scene, move_clock):
    make_policy(approval_hours=1)
    plan = scene.change()
    approving.approve_plan(plan, by=scene.bob, digest=plan.digest)
    move_clock(timezone.now() + timedelta(minutes=61))

    with pytest.raises(NotPossibleError, match="missing"):
        runs.start_run(plan, by=scene.bob, digest=plan.digest)
