"""P8: nobody agrees with themselves; the database says so too, and the one way round it is loud and on record.

Threat B5 (self approval by any account, by any path).
"""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import ApplyRun, Approval, AuditEntry, EmergencyApply, Plan
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.runs import emergency_apply
from tests.builders import build_approval, link_rows, make_person, make_policy, overwrite_conflicts
from tests.promises.conftest import Scene
from tests.stories import config_map

pytestmark = [pytest.mark.promises, pytest.mark.django_db]


def _row(plan: Plan, by: User) -> Approval:
    return build_approval(plan, by)


def _ways(plan: Plan, by: User) -> dict[str, Any]:
    """Every way to an approval that does not ask the use case, and the use cases."""
    return {
        "save": lambda: _row(plan, by).save(),
        "create": lambda: Approval.objects.bulk_create([_row(plan, by)]),
        "use case": lambda: approving.approve_plan(plan, by=by, digest=plan.digest),
        "approve and run": lambda: runs.approve_and_run(plan, by=by, digest=plan.digest),
    }


@pytest.fixture
def all_rights(scene: Scene) -> dict[str, User]:
    """People who may do everything but agree with themselves."""
    everything = (Role.AUTHOR, Role.APPROVER)
    found = {name: make_person(name, *everything) for name in ("dora", "editor", "decider", "other", "root")}
    found["root"].is_superuser = True
    found["root"].save()
    return {name: User.objects.get(pk=person.pk) for name, person in found.items()}


def _involve(scene: Scene, people: dict[str, User]) -> Plan:
    """A plan that Alice wrote, the editor edited, the decider decided and asked for."""
    scene.world.apply_as("somebody", "there", {"x": "1"})
    review = scene.review({"0.yaml": config_map("there", x="2")})
    planner.make_plan(review.plans.get().pk)
    edited = reviews.replan_review(review, by=people["editor"])
    planner.make_plan(edited.pk)
    decided = overwrite_conflicts(review, by=people["decider"])
    planner.make_plan(decided.pk)
    return Plan.objects.get(pk=decided.pk)


@pytest.mark.core(4)
@pytest.mark.parametrize("who", ["alice", "editor", "decider"])
@pytest.mark.parametrize("way", ["save", "create", "use case", "approve and run"])
def test_whoever_took_part_cannot_approve_by_any_way(scene: Scene, all_rights, who, way):
    plan = _involve(scene, all_rights)

    with pytest.raises((DatabaseError, WorkflowError)), transaction.atomic():
        _ways(plan, User.objects.get(username=who))[way]()
    assert not Approval.objects.exists()


@pytest.mark.core(2)
@pytest.mark.parametrize("way", ["save", "create", "use case", "approve and run"])
def test_superuser_cannot_approve_their_own(scene: Scene, all_rights, way):
    scene.alice = all_rights["root"]
    plan = scene.change()

    with pytest.raises((DatabaseError, WorkflowError)), transaction.atomic():
        _ways(plan, all_rights["root"])[way]()


@pytest.mark.core(2)
@pytest.mark.parametrize("way", ["save", "create", "use case", "approve and run"])
def test_another_account_of_who_took_part_cannot_approve(scene: Scene, all_rights, way):
    plan = scene.change()
    link_rows("alice", scene.alice, all_rights["other"])

    with pytest.raises((DatabaseError, WorkflowError)), transaction.atomic():
        _ways(plan, all_rights["other"])[way]()


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_no_set_of_linked_accounts_reaches_a_quorum_of_two(scene: Scene, all_rights, step):
    make_policy(approvals=2)
    plan = scene.change()
    linked = [all_rights[name] for name in ("dora", "editor", "other")]
    link_rows("one", *linked)
    for order in list(permutations(linked))[::step]:
        with transaction.atomic():
            point = transaction.savepoint()
            for person in order:
                for way in _ways(plan, person).values():
                    try:
                        with transaction.atomic():
                            way()
                    except (DatabaseError, WorkflowError):
                        continue
            with pytest.raises(WorkflowError):
                runs.start_run(plan, by=scene.bob, digest=plan.digest)
            transaction.savepoint_rollback(point)


def test_other_digest_and_unfinished_plan_cannot_be_approved_in_the_database(scene: Scene):
    plan = scene.change()
    unfinished = scene.review({"0.yaml": config_map("z", a="1")}).plans.get()

    for row in (build_approval(plan, scene.bob, digest="f" * 64), build_approval(unfinished, scene.bob, digest="")):
        with pytest.raises(DatabaseError), transaction.atomic():
            row.save()


@pytest.mark.core(2)
@pytest.mark.parametrize("change", ["by", "digest", "plan", "expires_at"])
def test_approval_is_never_made_another_one(scene: Scene, all_rights, change):
    plan, second = scene.change(), scene.plan(config_map("z", a="1"))
    approval = approving.approve_plan(plan, by=scene.bob, digest=plan.digest)
    values = {
        "by": all_rights["other"].pk,
        "digest": second.digest,
        "plan": second.pk,
        "expires_at": timezone.now() + timedelta(days=9),
    }

    with pytest.raises(DatabaseError), transaction.atomic():
        Approval.objects.filter(pk=approval.pk).update(**{change: values[change]})
    with pytest.raises(DatabaseError), transaction.atomic():
        Approval.objects.filter(pk=approval.pk).delete()


def test_emergency_apply_is_a_record_of_its_own_that_stays(scene: Scene):
    plan = scene.change()
    ida = make_person("ida", Role.ADMINISTRATOR, Role.BREAK_GLASS)
    with pytest.raises(WorkflowError):
        emergency_apply.start_emergency_apply(plan, by=scene.bob, digest=plan.digest, reason="fire", ticket="T-1")
    run = emergency_apply.start_emergency_apply(plan, by=ida, digest=plan.digest, reason="fire", ticket="T-1")
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, told.is_emergency, told.consents) == ("applied", True, ())
    assert AuditEntry.objects.filter(action=AuditAction.EMERGENCY_APPLIED, actor=ida).count() == 1
    for act in (
        lambda: EmergencyApply.objects.update(reason="nothing"),
        lambda: EmergencyApply.objects.all().delete(),
        lambda: EmergencyApply.objects.all()._raw_delete("default"),
    ):
        with pytest.raises((DatabaseError, Exception)), transaction.atomic():
            act()
    assert ApplyRun.objects.count() == 1
