"""The database itself refuses: changing history, approving one's own, changing what was agreed."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import Applier, AuditAction, PlanState, Role, RunState
from applyviz.records.models import (
    AccountLink,
    ApplyRun,
    Approval,
    AuditEntry,
    ChangeRequest,
    ConflictRule,
    EmergencyApply,
    Grant,
    ObjectChange,
    Plan,
    PlanDetails,
    PolicyVersion,
    Resolution,
    Review,
    SourceRevision,
    Target,
    Team,
    TeamMember,
)
from applyviz.workflow.audit import trail
from tests.builders import build_emergency, make_person, make_plan_row, make_policy
from tests.records.rows import approve, refused, run_row

pytestmark = pytest.mark.django_db


TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'audit_words%'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgname NOT LIKE '%_no_truncate'",
}


def test_every_guard_is_installed():
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor])
        found = {row[0] for row in cursor.fetchall()}

    assert found == {guard.name for guard in triggers.GUARDS}


def test_audit_entries_are_never_changed():
    entry = trail.record(AuditAction.COMMENT_ADDED, by=None, about=trail.AuditSubject(review=1))

    assert "never changed" in refused(lambda: AuditEntry.objects.filter(pk=entry.pk).update(actor_name="mallory"))
    assert "never deleted" in refused(lambda: AuditEntry.objects.filter(pk=entry.pk).delete())


def test_nobody_approves_what_they_wrote_or_requested():
    alice, bob, dora = (make_person(name, Role.AUTHOR, Role.APPROVER) for name in ("alice", "bob", "dora"))
    plan = make_plan_row(alice, requester=bob)

    for person in (alice, bob):
        assert "a person cannot approve" in refused(lambda person=person: approve(plan, person))
    assert approve(plan, dora).pk


def test_approval_names_the_digest_of_a_complete_plan():
    alice, bob = make_person("alice"), make_person("bob")
    failed = make_plan_row(alice, state=PlanState.FAILED)
    plan = make_plan_row(alice)

    assert "complete plan" in refused(lambda: approve(failed, bob))
    assert "complete plan" in refused(lambda: approve(plan, bob, digest="b" * 64))


def test_one_person_approves_once():
    plan = make_plan_row(make_person("alice"))
    bob = make_person("bob")
    approve(plan, bob)

    assert "one person approves once" in refused(lambda: approve(plan, bob))


def test_spent_approval_stays_spent():
    plan = make_plan_row(make_person("alice"))
    approval = approve(plan, make_person("bob"))
    now = timezone.now()
    Approval.objects.filter(pk=approval.pk).update(spent_at=now)

    assert "once" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(spent_at=None))
    assert "once" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(revoked_at=now))
    assert "never deleted" in refused(lambda: Approval.objects.filter(pk=approval.pk).delete())


def test_complete_plan_is_immutable():
    plan = make_plan_row(make_person("alice"))

    assert "immutable" in refused(lambda: Plan.objects.filter(pk=plan.pk).update(digest="b" * 64))
    assert "immutable" in refused(lambda: ObjectChange.objects.filter(plan=plan).update(effect="f" * 64))
    assert "never deleted" in refused(lambda: ObjectChange.objects.filter(plan=plan).delete())
    assert "immutable" in refused(lambda: PlanDetails.objects.filter(plan=plan).update(overview={}))
    assert "never deleted" in refused(lambda: PlanDetails.objects.filter(plan=plan).delete())


def test_whoever_had_a_hand_in_a_plan_does_not_approve_it():
    alice, bob, carol = (make_person(name, Role.APPROVER) for name in ("alice", "bob", "carol"))
    plan = make_plan_row(alice)
    now = timezone.now()
    Resolution.objects.create(review=plan.review, plan=plan, by=bob, object_key="x", choice="overwrite", created_at=now)
    Plan.objects.create(
        review=plan.review,
        target=plan.target,
        revision=plan.revision,
        number=2,
        options={},
        requested_by=carol,
        tag_key=plan.tag_key,
        created_at=now,
    )

    for person in (alice, bob, carol):
        assert "a person cannot approve" in refused(lambda person=person: approve(plan, person))
    assert approve(plan, make_person("dora")).pk


def test_editor_of_the_manifests_does_not_approve_them():
    alice, ed = make_person("alice"), make_person("ed")
    plan = make_plan_row(alice)
    SourceRevision.objects.filter(pk=plan.revision_id).update(created_by=ed)

    assert "a person cannot approve" in refused(lambda: approve(plan, ed))


def test_accounts_of_one_human_are_one():
    alice, shadow, bob, twin = (make_person(name) for name in ("alice", "shadow", "bob", "twin"))
    for person, human in ((alice, "a"), (shadow, "a"), (bob, "b"), (twin, "b")):
        AccountLink.objects.create(person=person, human=human)
    plan = make_plan_row(alice)

    assert "a person cannot approve" in refused(lambda: approve(plan, shadow))
    assert approve(plan, bob).pk
    assert "approves once" in refused(lambda: approve(plan, twin))


def test_expired_approval_is_never_spent():
    now = timezone.now()
    approval = approve(make_plan_row(make_person("alice")), make_person("bob"), expires_at=now)

    late = now + timedelta(microseconds=1)
    assert "never spent" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(spent_at=late))
    later = refused(lambda: Approval.objects.filter(pk=approval.pk).update(expires_at=now + timedelta(days=1)))
    assert "once" in later
    assert Approval.objects.filter(pk=approval.pk).update(spent_at=now) == 1


def test_grants_and_memberships_are_only_ended():
    person = make_person("bob", Role.VIEWER)
    grant = Grant.objects.get()
    team = Team.objects.create(slug="sre", name="SRE", created_at=timezone.now())
    member = TeamMember.objects.create(team=team, person=person, since=timezone.now())

    for values in ({"role": "administrator"}, {"cluster_pattern": "prod"}, {"is_cluster_scoped": False}):
        assert "only ever ended" in refused(lambda values=values: Grant.objects.filter(pk=grant.pk).update(**values))
    for model, row in ((Grant, grant), (TeamMember, member)):
        assert "never deleted" in refused(lambda model=model, row=row: model.objects.filter(pk=row.pk).delete())
        assert model.objects.filter(pk=row.pk).update(ended_at=timezone.now()) == 1
        again = refused(lambda model=model, row=row: model.objects.filter(pk=row.pk).update(ended_at=None))
        assert "only ever ended" in again


def test_grant_goes_to_a_person_or_a_team():
    assert "grant_to_a_person_or_a_team" in refused(
        lambda: Grant.objects.create(role=Role.VIEWER, since=timezone.now())
    )


def test_versions_of_policies_are_never_changed():
    version = make_policy(approvals=2)

    assert "never changed" in refused(lambda: PolicyVersion.objects.filter(pk=version.pk).update(rules={}))
    assert "never deleted" in refused(lambda: PolicyVersion.objects.filter(pk=version.pk).delete())


def test_emergency_apply_stays_on_record():
    plan, dana = make_plan_row(make_person("alice")), make_person("dana")
    row = build_emergency(plan, dana, reason="r", ticket="t")
    row.save()

    assert "never changed" in refused(lambda: EmergencyApply.objects.filter(pk=row.pk).update(reason="nothing"))
    assert "never deleted" in refused(lambda: EmergencyApply.objects.filter(pk=row.pk).delete())


def claim(run):
    return ApplyRun.objects.filter(pk=run.pk).update(state=RunState.APPLYING, epoch=1)


def test_run_without_spent_approvals_is_never_picked_up():
    alice, bob, carol = (make_person(name) for name in ("alice", "bob", "carol"))
    plan = make_plan_row(alice)
    run = run_row(plan, bob, needed=2)
    given = [approve(plan, person) for person in (bob, carol)]
    rows = Approval.objects.filter(pk=given[0].pk)

    assert "without the approvals" in refused(lambda: claim(run))
    rows.update(spent_at=timezone.now(), run=run)
    assert "without the approvals" in refused(lambda: claim(run))
    Approval.objects.filter(pk=given[1].pk).update(spent_at=timezone.now())
    assert "without the approvals" in refused(lambda: claim(run)), "spent, but not on this run"


def test_run_with_its_approvals_is_picked_up():
    alice, bob = make_person("alice"), make_person("bob")
    plan = make_plan_row(alice)
    run = run_row(plan, bob)
    approval = approve(plan, bob)
    Approval.objects.filter(pk=approval.pk).update(spent_at=timezone.now(), run=run)

    assert claim(run) == 1


def test_approvals_of_another_plan_carry_no_run():
    alice, bob = make_person("alice"), make_person("bob")
    plan, other = make_plan_row(alice), make_plan_row(alice)
    run = run_row(plan, bob)
    approval = approve(other, bob)
    Plan.objects.filter(pk=other.pk)
    Approval.objects.filter(pk=approval.pk).update(spent_at=timezone.now(), run=run)

    # Both rows name one digest: what counts is that the approval is of the run's review.
    assert "without the approvals" in refused(lambda: claim(run))


def test_run_that_asks_for_nothing_needs_a_policy_that_says_so_or_emergency_apply():
    alice, bob = make_person("alice"), make_person("bob")
    plain = make_plan_row(alice)
    assert "requires the approvals of its policy" in refused(lambda: run_row(plain, bob, needed=0))
    make_policy("strict", approvals=1)
    assert "requires the approvals" in refused(
        lambda: run_row(make_plan_row(alice, policy_version="strict@1"), bob, needed=0)
    )
    make_policy("lax", approvals=0)
    assert "requires the approvals" in refused(
        lambda: run_row(make_plan_row(alice, policy_version="strict@1"), bob, needed=0)
    )
    lax = run_row(make_plan_row(alice, policy_version="strict@1 lax@1"), bob, needed=0)
    assert claim(lax) == 1
    build_emergency(plain, bob, reason="r", ticket="t").save()
    assert claim(run_row(plain, bob, needed=0, number=2)) == 1


@pytest.mark.parametrize("values", [{"state": "applying"}, {"state": "applied"}, {"epoch": 1}])
def test_run_begins_waiting_for_a_worker(values):
    plan = make_plan_row(make_person("alice"))

    assert "a new run is queued" in refused(lambda: run_row(plan, make_person("bob"), **values))


def test_what_another_tool_applies_is_never_run_here():
    alice, bob = make_person("alice"), make_person("bob")
    for applier in Applier:
        plan = make_plan_row(alice)
        if applier is Applier.SELF:
            assert run_row(plan, bob).pk
            continue
        review = Review.objects.create(
            number=900 + Review.objects.count(), title="x", author=alice, applied_by=applier, created_at=timezone.now(),
            updated_at=timezone.now(),
        )  # fmt: skip
        target = Target.objects.create(review=review, cluster=plan.target.cluster)
        watched = Plan.objects.create(
            review=review, target=target, revision=plan.revision, number=1, options={}, requested_by=alice,
            tag_key=plan.tag_key, created_at=timezone.now(),
        )  # fmt: skip
        Plan.objects.filter(pk=watched.pk).update(state=PlanState.COMPLETE, digest="c" * 64)
        assert "that applyviz itself applies" in refused(lambda plan=watched: run_row(plan, bob, number=9))
        rows = Review.objects.filter(pk=review.pk)
        assert "never changes" in refused(lambda rows=rows: rows.update(applied_by=""))
        rows.update(title="another title")


def test_unfinished_plan_is_never_run():
    alice, bob = make_person("alice"), make_person("bob")

    assert "complete plan" in refused(lambda: run_row(make_plan_row(alice, state=PlanState.FAILED), bob))


def test_run_stays_with_its_plan_and_its_end():
    alice, bob = make_person("alice"), make_person("bob")
    plan, other = make_plan_row(alice), make_plan_row(alice)
    run = run_row(plan, bob)
    rows = ApplyRun.objects.filter(pk=run.pk)

    for values in ({"plan": other}, {"needed": 0}, {"state": "applying"}):
        assert "never changes its plan" in refused(lambda values=values: rows.update(**values))
    rows.update(state=RunState.FAILED)
    for state in ("queued", "applying"):
        assert "never changes its plan" in refused(lambda state=state: rows.update(state=state))
    assert "never deleted" in refused(rows.delete)


def test_request_for_changes_is_only_withdrawn():
    plan, bob = make_plan_row(make_person("alice")), make_person("bob")
    row = ChangeRequest.objects.create(plan=plan, digest=plan.digest, by=bob, note="no", created_at=timezone.now())

    assert "withdrawn" in refused(lambda: ChangeRequest.objects.filter(pk=row.pk).update(note="yes"))
    assert "never deleted" in refused(lambda: ChangeRequest.objects.filter(pk=row.pk).delete())
    assert ChangeRequest.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now()) == 1
    assert "once" in refused(lambda: ChangeRequest.objects.filter(pk=row.pk).update(withdrawn_at=None))


def test_quorum_is_of_humans_in_the_database_too():
    """Two accounts of one human, one after the other: the first is spent before the second approves."""
    alice, bob, twin = (make_person(name) for name in ("alice", "bob", "twin"))
    for person in (bob, twin):
        AccountLink.objects.create(person=person, human="b")
    plan = make_plan_row(alice)
    run, now = run_row(plan, bob, needed=2), timezone.now()
    first = approve(plan, bob)
    Approval.objects.filter(pk=first.pk).update(spent_at=now, run=run)
    second = approve(plan, twin)

    assert "counts once in a run" in refused(
        lambda: Approval.objects.filter(pk=second.pk).update(spent_at=now, run=run)
    )
    Approval.objects.filter(pk=second.pk).update(revoked_at=now)
    assert "without the approvals" in refused(lambda: claim(run))


def test_approval_begins_unspent():
    plan, bob, now = make_plan_row(make_person("alice")), make_person("bob"), timezone.now()
    run = run_row(plan, bob)

    for values in ({"spent_at": now}, {"revoked_at": now}, {"run": run}, {"spent_at": now, "run": run}):
        assert "begins unspent" in refused(lambda values=values: approve(plan, bob, **values))


def test_approval_of_who_took_part_afterwards_is_never_spent():
    plan, bob = make_plan_row(make_person("alice")), make_person("bob")
    approval, now = approve(plan, bob), timezone.now()
    Resolution.objects.create(review=plan.review, plan=plan, by=bob, object_key="x", choice="overwrite", created_at=now)

    assert "never spent" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(spent_at=now))


def test_links_of_accounts_stay():
    AccountLink.objects.create(person=make_person("bob"), human="b")

    assert "stay one" in refused(AccountLink.objects.all().delete)


def rule_row(plan, by):
    return ConflictRule.objects.create(
        cluster=plan.target.cluster, number=1, kind="ConfigMap", name="x", path=".data.x", elements=["f:data", "f:x"],
        resolution="overwrite", reason="because", plan=plan, proposed_by=by, proposed_at=timezone.now(),
    )  # fmt: skip


def test_what_a_conflict_rule_says_stays():
    alice, other = make_person("alice"), make_person("other")
    rule = rule_row(make_plan_row(alice), alice)
    rows = ConflictRule.objects.filter(pk=rule.pk)

    for values in (
        {"elements": ["f:data"]},
        {"group": "apps"},
        {"number": 2},
        {"reason": "x"},
        {"resolution": "leave"},
    ):
        assert "only ever approved" in refused(lambda values=values: rows.update(**values))
    rows.update(state="in-force", agreed_by=other)
    assert "only ever approved" in refused(lambda: rows.update(agreed_by=make_person("third")))


def test_nobody_agrees_to_their_own_rule_under_another_account():
    alice, twin = make_person("alice"), make_person("twin")
    for person in (alice, twin):
        AccountLink.objects.create(person=person, human="a")
    rule = rule_row(make_plan_row(alice), alice)

    agree = ConflictRule.objects.filter(pk=rule.pk).update
    assert "their own conflict rule" in refused(lambda: agree(state="in-force", agreed_by=twin))
