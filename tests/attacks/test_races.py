"""Somebody else is first, in the moment between what a person was shown and what they do: one act counts, in full.

The rival acts right before the lock that an act takes, or right after a worker claimed a run. Whoever is second is
refused, with whatever the rival did in the same transaction here; what was not approved is not written, and the history
names no act that did not take place. Threads of their own race on PostgreSQL in `tests/services/races.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType

import pytest
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.digest.serialize import options_to_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.deletions import DELETED
from applyviz.records.enums import AuditAction, PlanState, Role, RunState, TokenScope
from applyviz.records.models import Acknowledgment, ApplyRun, Approval, AuditEntry, Grant, PendingChange, Plan
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgments, approving, quorum
from applyviz.workflow.audit import chain
from applyviz.workflow.clusters import lifecycle
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import confirmations, pending_changes, teams, tokens
from applyviz.workflow.plans import planner, resolutions, reviews
from applyviz.workflow.runs import scheduled_starts, start
from tests.builders import grant_role, make_person, make_plan_row, make_policy, take_roles
from tests.stories import SETTINGS, Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
Rival = Callable[[], object]


@pytest.fixture
def wired(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    return team.wire_up(monkeypatch)


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, str, Rival], None]:
    """Lets a rival act right before a function is called for the first time."""

    def arrange(module: ModuleType, name: str, rival: Rival) -> None:
        called = getattr(module, name)

        def first(*given: object, **named: object) -> object:
            monkeypatch.setattr(module, name, called)
            rival()
            return called(*given, **named)

        monkeypatch.setattr(module, name, first)

    return arrange


@pytest.fixture
def at() -> Iterator[Callable[[str, Rival], None]]:
    """Lets a rival act when a worker first reaches a point."""

    def arrange(point: str, rival: Rival) -> None:
        waiting = [rival]
        failpoints.hooks.append(lambda reached: waiting.pop()() if reached == point and waiting else None)

    yield arrange
    failpoints.hooks.clear()


def plan_anew(plan: Plan, team: Team) -> Plan:
    made = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(made.pk)
    return Plan.objects.get(pk=made.pk)


def count(action: AuditAction) -> int:
    return AuditEntry.objects.filter(action=action).count()


def test_approval_of_a_plan_that_was_just_made_anew_is_refused(wired, before) -> None:
    plan = wired.plan(config_map(a="1"))
    before(approving, "lock_review", lambda: plan_anew(plan, wired))

    with pytest.raises(NotPossibleError):
        approving.approve_plan(plan, by=wired.bob, digest=plan.digest)

    assert (Approval.objects.count(), count(AuditAction.APPROVAL_GIVEN)) == (0, 0)


def test_acknowledgment_of_a_plan_that_was_just_superseded_is_refused(wired, before) -> None:
    risky = {"operation": "delete", "risk_levels": [[DELETED.slug, "high"]], "state": PlanState.PLANNING}
    plan = make_plan_row(make_person("carol", Role.AUTHOR), **risky)
    Plan.objects.filter(pk=plan.pk).update(options=options_to_json(ApplyOptions()), state=PlanState.COMPLETE)
    before(acknowledgments, "lock_review", lambda: reviews.replan_review(plan.review, by=wired.alice))

    with pytest.raises(NotPossibleError):
        acknowledgments.acknowledge_risks(plan, DELETED, by=wired.bob)

    assert (Acknowledgment.objects.count(), count(AuditAction.RISK_ACKNOWLEDGED)) == (0, 0)


def test_second_worker_claims_nothing(wired, at) -> None:
    run = wired.start(wired.plan(config_map(a="1")))
    at("run.claimed", lambda: runs.execute_run(run.pk))
    at("run.intended", lambda: runs.execute_run(run.pk))

    wired.work(run)

    assert (run.state, len(wired.wire.writes)) == (RunState.APPLIED, 1)
    assert [count(one) for one in (AuditAction.RUN_CLAIMED, AuditAction.OBJECT_RESULT, AuditAction.RUN_FINISHED)] == [
        1
    ] * 3


def test_run_does_not_start_on_an_approval_that_was_just_withdrawn(wired, before) -> None:
    plan = wired.plan(config_map(a="1"))
    approving.approve_plan(plan, by=wired.bob, digest=plan.digest)
    before(start, "lock_review", lambda: approving.revoke_approval(plan.approvals.get(), by=wired.bob))

    with pytest.raises(NotPossibleError):
        runs.start_run(plan, by=wired.bob, digest=plan.digest)

    assert (ApplyRun.objects.count(), count(AuditAction.RUN_STARTED)) == (0, 0)


def test_approval_that_a_run_just_spent_is_not_withdrawn(wired, before) -> None:
    plan = wired.plan(config_map(a="1"))
    approving.approve_plan(plan, by=wired.bob, digest=plan.digest)
    before(approving, "lock_review", lambda: runs.start_run(plan, by=wired.bob, digest=plan.digest))

    with pytest.raises(NotPossibleError):
        approving.revoke_approval(plan.approvals.get(), by=wired.bob)

    assert count(AuditAction.APPROVAL_REVOKED) == 0


@pytest.mark.parametrize("module", [approving, start])
def test_policy_that_was_just_published_counts(wired, before, module) -> None:
    plan = wired.plan(config_map(a="1"))
    before(module, "lock_review", lambda: make_policy(approvals=2))

    with pytest.raises(NotPossibleError):
        runs.approve_and_run(plan, by=wired.bob, digest=plan.digest)

    assert (ApplyRun.objects.count(), quorum.list_valid_approvals(plan)) == (0, [])


ENDS: dict[str, Callable[[Team], object]] = {
    "approver": lambda team: take_roles(team.bob),
    "requester": lambda team: take_roles(team.alice),
    "policy": lambda team: make_policy(approvals=2),
}


@pytest.mark.parametrize("point", ["run.claiming", "run.claimed"])
@pytest.mark.parametrize("what", ENDS)
def test_nothing_is_written_by_a_run_whose_right_ended_while_it_was_claimed(wired, at, what, point) -> None:
    run = wired.start(wired.plan(config_map(a="1")))
    at(point, lambda: ENDS[what](wired))

    wired.work(run)

    assert wired.wire.writes == []
    assert run.state != RunState.APPLIED
    assert wired.live(SETTINGS) is None
    assert chain.verify_chain().is_intact


@pytest.mark.parametrize("point", ["run.claiming", "run.claimed"])
def test_pause_lets_a_claimed_run_finish_and_archiving_waits_for_it(wired, at, point) -> None:
    refused = []

    def end() -> None:
        lifecycle.pause_cluster(wired.cluster, reason="x", by=None)
        try:
            lifecycle.archive_cluster(wired.cluster, by=None)
        except NotPossibleError as error:
            refused.append(str(error))

    run = wired.start(wired.plan(config_map(a="1")))
    at(point, end)

    assert (wired.work(run).state, len(refused)) == (RunState.APPLIED, 1)


def ask(team: Team, token: str, plan: Plan, name: str = "api:start-run", **given: str) -> int:
    address = reverse(name, args=[plan.review.number, plan.number])
    sent = json.dumps({"digest": plan.digest, **given})
    headers = {"Authorization": f"Bearer {token}"}
    return Client(headers=headers).post(address, sent, content_type="application/json").status_code


@pytest.mark.parametrize("name", ["api:start-run", "api:schedule-start"])
def test_program_starts_nothing_with_a_token_that_was_just_revoked(wired, before, name) -> None:
    grant_role(wired.bob, Role.OPERATOR)
    token, text = tokens.make_token(by=wired.bob, account=wired.bob, name="ci", scope=TokenScope.APPLY, days=7)
    plan = wired.plan(config_map(a="1"))
    approving.approve_plan(plan, by=wired.bob, digest=plan.digest)
    module = start if name == "api:start-run" else scheduled_starts
    before(module, "lock_review", lambda: tokens.revoke_token(token, by=wired.bob))
    expires_at = (clock.now() + timedelta(hours=1)).isoformat()
    given = {} if name == "api:start-run" else {"not_after": expires_at}

    assert ask(wired, text, plan, name, **given) == 401
    assert (ApplyRun.objects.count(), count(AuditAction.RUN_STARTED), count(AuditAction.START_SCHEDULED)) == (0, 0, 0)


def conflict(team: Team) -> Plan:
    team.apply_as("other", config_map(a="live"))
    return team.plan(config_map(a="1"))


@pytest.mark.parametrize("is_planned", [True, False])
def test_conflict_is_resolved_once(wired, before, is_planned) -> None:
    """Both are shown the same conflict; the second would overrule the first unseen."""
    plan, client = conflict(wired), Client()
    dora = make_person("dora", Role.AUTHOR)
    client.force_login(dora)

    def resolve() -> None:
        choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)
        made = reviews.replan_review(plan.review, by=wired.alice, choices=choices, seen=plan)
        if is_planned:
            planner.make_plan(made.pk)

    before(reviews, "lock_review", resolve)
    address = reverse("reviews:resolve-everywhere", args=[plan.review.number, plan.number])
    answer = client.post(address, {"resolution": ResolutionKind.GIVE_UP.value, "scope": "all", "then": "plan"})

    assert answer.status_code == 409
    assert ("superseded by a later plan" in answer.content.decode()) is is_planned
    assert [one for one in Plan.objects.all() if any(d["resolution"] == "give-up" for d in one.decisions)] == []


def test_undoing_drops_the_resolution_that_was_shown(wired, before) -> None:
    """The index of a resolution means another one in the next plan."""
    plan = conflict(wired)
    made = reviews.replan_review(
        plan.review, by=wired.alice, choices=resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE), seen=plan
    )
    planner.make_plan(made.pk)
    client = Client()
    client.force_login(wired.alice)
    before(reviews, "lock_review", lambda: plan_anew(plan, wired))

    answer = client.post(reverse("reviews:undo-resolution", args=[plan.review.number, 2, 0]))

    assert (answer.status_code, count(AuditAction.RESOLUTION_UNDONE)) == (409, 0)


@pytest.mark.parametrize("first", ["confirm", "decline"])
def test_change_is_confirmed_or_declined(wired, before, first) -> None:
    dana, dora = (make_person(name, Role.ADMINISTRATOR) for name in ("dana", "dora"))
    teams.grant_role(Role.APPROVER, by=dana, person=make_person("carl"), scope=Scope())
    change = PendingChange.objects.get()
    acts = {
        "confirm": lambda: confirmations.confirm_change(change, by=dora),
        "decline": lambda: pending_changes.decline(change, by=dana),
    }
    before(pending_changes, "answer", acts[first])

    with pytest.raises(NotPossibleError):
        acts["decline" if first == "confirm" else "confirm"]()

    assert (Grant.objects.filter(person__username="carl").count(), count(AuditAction.SECOND_DECLINED)) == (0, 0)


@pytest.mark.parametrize("point", ["run.claiming", "run.claimed"])
def test_run_that_is_canceled_while_it_is_claimed_writes_nothing(wired, at, point) -> None:
    run = wired.start(wired.plan(config_map(a="1")))
    at(point, lambda: runs.cancel_run(run, by=wired.bob))

    wired.work(run)

    assert (run.state, wired.wire.writes, count(AuditAction.RUN_CANCELED)) == (RunState.CANCELED, [], 1)


def test_start_that_is_canceled_while_it_is_due_starts_nothing(wired, before) -> None:
    plan, now = wired.plan(config_map(a="1")), clock.now()
    approving.approve_plan(plan, by=wired.bob, digest=plan.digest)
    scheduled_starts.schedule_start(plan, by=wired.bob, digest=plan.digest, expires_at=now + timedelta(hours=1))
    before(scheduled_starts, "_find_end", lambda: scheduled_starts.cancel_start(plan, by=wired.bob))

    scheduled_starts.start_due()

    assert (ApplyRun.objects.count(), count(AuditAction.START_CANCELED)) == (0, 1)
