"""Rights count when they are used: whatever is taken back between approval and run, nothing is written."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role, RunState
from applyviz.records.models import ApplyRun, Approval, AuditEntry, EmergencyApply, ObjectChange, Plan
from applyviz.records.sealing import Sealed
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.people import teams
from applyviz.workflow.plans import conflict_rules, planner, reviews
from applyviz.workflow.policies.windows import Window
from applyviz.workflow.runs import emergency_apply
from applyviz.workflow.runs.lease import claim_run
from tests.builders import grant_role, make_person, make_policy, take_roles
from tests.stories import SETTINGS, Killed, config_map, let_lease_run_out

pytestmark = pytest.mark.django_db
ALWAYS = Window(tuple(range(7)), "00:00", "23:59")
MONDAYS = Window((0,), "00:00", "23:59")


def close_account(person):
    person.is_active = False
    person.save()


TAKEN_BACK = {
    "approver loses the role": lambda team: take_roles(team.bob),
    "approver's account is closed": lambda team: close_account(team.bob),
    "requester loses the role": lambda team: take_roles(team.alice),
    "requester's account is closed": lambda team: close_account(team.alice),
    "policy is written": lambda team: make_policy(approvals=1),
    "policy is raised": lambda team: make_policy(approvals=2),
    "policy freezes": lambda team: make_policy(windows=(MONDAYS,)),
}


@pytest.mark.core(3)
@pytest.mark.parametrize("what", list(TAKEN_BACK))
def test_nothing_is_written_once_it_is_taken_back(team, what):
    run = team.start(team.plan(config_map(a="1")))
    TAKEN_BACK[what](team)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert run.error


def test_role_in_another_place_is_no_right_here(team):
    run = team.start(team.plan(config_map(a="1")))
    take_roles(team.bob)
    grant_role(team.bob, Role.APPROVER, cluster="other")

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])


def test_window_must_be_open_to_start_and_for_the_first_worker(team, move_clock):
    move_clock(datetime(2026, 11, 23, 23, 58, tzinfo=UTC))  # a Monday
    make_policy(windows=(MONDAYS,))
    run = team.start(team.plan(config_map(a="1")))
    other = team.plan(config_map("b", a="1"))
    approving.approve_plan(other, by=team.bob, digest=other.digest)
    move_clock(datetime(2026, 11, 24, 0, 1, tzinfo=UTC))

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "change window is closed" in run.error
    with pytest.raises(NotPossibleError, match="change window is closed"):
        runs.start_run(other, by=team.bob, digest=other.digest)


def die_at(point):
    def hook(where):
        if where == point:
            raise Killed

    failpoints.hooks.append(hook)


@pytest.mark.long
def test_what_was_begun_in_the_window_is_ended(team, move_clock):
    move_clock(datetime(2026, 11, 23, 23, 58, tzinfo=UTC))
    make_policy(windows=(MONDAYS,))
    run = team.start(team.plan(config_map(a="1"), config_map("other", a="1")))
    die_at("run.intended")
    with pytest.raises(Killed):
        team.work(run)
    failpoints.hooks.clear()
    let_lease_run_out(run)
    move_clock(datetime(2026, 11, 24, 0, 1, tzinfo=UTC))

    assert team.work(run).state == RunState.APPLIED


@pytest.mark.long
def test_worker_that_died_before_anything_was_begun_opens_no_closed_window(team, move_clock):
    move_clock(datetime(2026, 11, 23, 23, 58, tzinfo=UTC))
    make_policy(windows=(MONDAYS,))
    run = team.start(team.plan(config_map(a="1")))
    move_clock(datetime(2026, 11, 24, 0, 1, tzinfo=UTC))
    assert claim_run(run.pk) is not None
    let_lease_run_out(run)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "change window is closed" in run.error


def test_accounts_that_turn_out_to_be_one_human_are_no_quorum(team):
    ida, carl = make_person("ida", Role.ADMINISTRATOR), make_person("carl", Role.APPROVER)
    make_policy(approvals=2)
    plan = team.plan(config_map(a="1"))
    for person in (team.bob, carl):
        approving.approve_plan(plan, by=person, digest=plan.digest)
    run = runs.start_run(plan, by=team.bob, digest=plan.digest)
    teams.link_accounts([team.bob, carl], by=ida)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "more approvals than were given" in run.error


@pytest.mark.long
def test_approver_who_turns_out_to_be_the_author_is_none(team):
    run = team.start(team.plan(config_map(a="1")))
    teams.link_accounts([team.bob, team.alice], by=make_person("ida", Role.ADMINISTRATOR))

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "more approvals than were given" in run.error


@pytest.mark.long
def test_conflict_rule_that_ended_meanwhile_decides_nothing(team):
    team.apply(config_map(a="1", b="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    draft = FieldRule("", "ConfigMap", "default", "settings", ("f:data", "f:a"), RuleResolution.OVERWRITE)
    rule = conflict_rules.propose_rule(team.plan(config_map(a="2")), draft, by=team.alice, reason="ours")
    conflict_rules.agree_rule(rule, by=team.bob)
    run = team.start(team.plan(config_map(a="2", b="2")))
    team.wire.writes.clear()
    conflict_rules.revoke_rule(rule, by=team.bob)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "conflict rule 1 changed" in run.error


@pytest.mark.long
def test_operator_runs_what_others_approved(team):
    olga = make_person("olga", Role.OPERATOR)
    plan = team.plan(config_map(a="1"))
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=olga, digest=plan.digest)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    assert team.work(runs.start_run(plan, by=olga, digest=plan.digest)).state == RunState.APPLIED


def test_author_reads_nothing_outside_the_own_places(team):
    take_roles(team.alice)
    grant_role(team.alice, Role.AUTHOR, cluster="box", namespace="default", is_cluster_scoped=False)
    inside = team.plan(config_map(a="1"))
    outside = team.plan(
        config_map(a="1") + "---\n" + config_map().replace("name: settings", "name: x\n  namespace: vault")
    )
    wide = team.plan("apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n")

    assert inside.state == "complete"
    assert (outside.state, outside.error) == ("failed", "alice can't create plans for namespace vault of box")
    assert (wide.state, wide.error) == ("failed", "alice can't create plans for cluster-scoped objects of box")
    assert not outside.changes.exists()
    with pytest.raises(NotVisibleError):
        team.plan(config_map(a="1"), namespace="vault")


class Glass:
    def __init__(self, team):
        self.dana = make_person("dana", Role.ADMINISTRATOR, Role.BREAK_GLASS)
        self.team, self.plan = team, team.plan(config_map(a="1"))

    def smash(self, **values):
        given = {"by": self.dana, "digest": self.plan.digest, "reason": "shop is down", "ticket": "INC-7"}
        return emergency_apply.start_emergency_apply(self.plan, **{**given, **values})


def test_emergency_apply_runs_and_leaves_a_record(team):
    emergency = Glass(team)

    run = team.work(emergency.smash())

    assert run.state == RunState.APPLIED
    record = EmergencyApply.objects.get()
    assert (record.by_name, record.reason, record.ticket) == ("dana", "shop is down", "INC-7")
    assert record.missing == ["1 approval missing"]
    entry = AuditEntry.objects.get(action=AuditAction.EMERGENCY_APPLIED)
    assert (entry.actor_name, entry.plan_digest, entry.detail["notified"]) == ("dana", emergency.plan.digest, ["dana"])
    assert not Approval.objects.exists()


def test_glass_needs_its_own_right(team):
    emergency = Glass(team)
    for role in (Role.ADMINISTRATOR, Role.APPROVER, Role.OPERATOR, Role.AUTHOR):
        with pytest.raises(NotAllowedError, match="needs the role break-glass"):
            emergency.smash(by=make_person(f"x-{role.name}", role))


@pytest.mark.parametrize("values", [{"reason": " "}, {"ticket": ""}])
def test_glass_needs_a_reason_and_a_ticket(team, values):
    with pytest.raises(NotValidError):
        Glass(team).smash(**values)


def test_glass_lifts_nothing_that_is_unsafe(team):
    emergency = Glass(team)
    with pytest.raises(NotPossibleError, match="this plan has changed"):
        emergency.smash(digest="b" * 64)
    following = reviews.replan_review(emergency.plan.review, by=team.alice)
    planner.make_plan(following.pk)
    with pytest.raises(NotPossibleError, match="superseded by plan 2"):
        emergency.smash()


def test_glass_is_not_broken_where_nothing_is_missing(team):
    emergency = Glass(team)
    approving.approve_plan(emergency.plan, by=team.bob, digest=emergency.plan.digest)

    with pytest.raises(NotPossibleError, match="no approval is missing"):
        emergency.smash()


def test_glass_opens_a_closed_window_and_spares_the_approvals(team, move_clock):
    move_clock(datetime(2026, 11, 24, 12, 0, tzinfo=UTC))  # a Tuesday
    make_policy(windows=(MONDAYS,))
    emergency = Glass(team)
    approving.approve_plan(emergency.plan, by=team.bob, digest=emergency.plan.digest)

    run = team.work(emergency.smash())

    assert run.state == RunState.APPLIED
    assert Approval.objects.get().spent_at is None


def test_right_to_break_is_looked_at_when_the_run_is_picked_up(team):
    emergency = Glass(team)
    run = emergency.smash()
    take_roles(emergency.dana)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])


@pytest.mark.long
def test_approval_is_spent_once(team):
    plan = team.plan(config_map(a="1"))
    run = team.start(plan)

    assert Approval.objects.get().run_id == run.pk
    assert quorum.list_valid_approvals(plan) == []
    with pytest.raises(NotPossibleError):
        runs.start_run(plan, by=team.bob, digest=plan.digest)


def test_run_that_loses_an_approval_meanwhile_is_not_made(team, monkeypatch):
    plan = team.plan(config_map(a="1"))
    approval = approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    asked = runs.start.find_run_blockers

    def revoke_between(*args, **kwargs):
        found = asked(*args, **kwargs)
        Approval.objects.filter(pk=approval.pk).update(revoked_at=timezone.now() + timedelta(0))
        return found

    monkeypatch.setattr(runs.start, "find_run_blockers", revoke_between)
    with pytest.raises(NotPossibleError, match="revoked or used"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)
    assert not runs.list_runs(for_user=team.bob).exists()


FLIPS = {
    "options": lambda plan: {"options": {**plan.options, "order": "as-given"}},
    "field manager": lambda plan: {"options": {**plan.options, "field_manager": "mallory"}},
    "decisions": lambda plan: {
        "decisions": [{"object": ["", "ConfigMap", "default", "x"], "path": [], "resolution": "x"}]
    },
    "policy version": lambda plan: {"policy_version": "lax@1"},
    "cluster": lambda plan: {"cluster_uid": "another"},
    "digest": lambda plan: {"digest": plan.digest[:-1] + ("0" if plan.digest[-1] != "0" else "1")},
}


@pytest.mark.long
@pytest.mark.parametrize("what", list(FLIPS))
def test_flipped_plan_writes_nothing(team, what):
    run = team.start(team.plan(config_map(a="1"), config_map("other", a="1")))
    triggers.lift("default")
    Plan.objects.filter(pk=run.plan_id).update(**FLIPS[what](run.plan))
    triggers.install("default")

    team.work(ApplyRun.objects.get(pk=run.pk))

    assert team.wire.writes == []
    assert ApplyRun.objects.get(pk=run.pk).state == RunState.FAILED


@pytest.mark.long
@pytest.mark.parametrize("column", ["step", "position", "effect", "sealed", "gone", "swapped"])
def test_flipped_change_writes_nothing(team, column):
    run = team.start(team.plan(config_map(a="1"), config_map("other", a="1")))
    first, second = run.plan.changes.order_by("position")
    triggers.lift("default")
    rows = ObjectChange.objects.filter(pk=first.pk)
    match column:
        case "step":
            rows.update(step=7)
        case "position":
            rows.update(position=7)
        case "effect":
            rows.update(effect="0" * 64)
        case "sealed":
            token = first.sealed.token
            rows.update(sealed=Sealed(token[:40] + bytes([token[40] ^ 1]) + token[41:]))
        case "gone":
            run.results.filter(change=first).delete()
            rows.delete()
        case "swapped":
            rows.update(sealed=second.sealed)
    triggers.install("default")

    team.work(run)

    assert team.wire.writes == []
    assert run.state != RunState.APPLIED
