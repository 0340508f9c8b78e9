"""Revocations and cancellations hold: `audit verify` reports a row that somebody restored in the database.

A revoked approval and a canceled start do not count again either, and names by which rights go belong to their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import Model

from applyviz import clock
from applyviz.engine.risks.deletions import DELETED
from applyviz.records import triggers
from applyviz.records.enums import ClusterKind, Role, ScheduledStartState, StartEnd, TokenScope
from applyviz.records.models import (
    AccountClaim,
    Acknowledgment,
    ApiToken,
    ApplyRun,
    Approval,
    Cluster,
    EmergencyApply,
    ObjectResult,
    Plan,
    Review,
    RunAttempt,
    ScheduledStart,
    ServiceAccount,
)
from applyviz.records.models import Team as TeamRow
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgments, approving, quorum
from applyviz.workflow.clusters import impersonation, lifecycle, masking_settings
from applyviz.workflow.clusters.impersonation import IdentityUnclearError, MappingDraft
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.people import claims, humans, teams, tokens
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.runs import attempts, emergency_apply, scheduled_starts
from tests.attacks.test_forged_rights import verify
from tests.builders import acknowledge_all, make_person, make_plan_row
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PASSWORD = "a-long-Pass-9z!"


@pytest.fixture
def wired(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    return team.wire_up(monkeypatch)


def approve(team: Team, note: str = "") -> Plan:
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest, note=note)
    return plan


def revive(model: type[Model], **changed: object) -> str:
    """Change rows as the owner of the tables; what `audit verify` says of it."""
    assert "refused" not in verify()
    triggers.lift("default")
    model._default_manager.update(**changed)
    return verify()


def test_revoked_approval_does_not_count_again(wired: Team) -> None:
    plan = approve(wired)
    approving.revoke_approval(plan.approvals.get(), by=wired.bob)

    assert "(bob on plan 1): audit entry" in revive(Approval, revoked_at=None)
    assert (quorum.list_valid_approvals(plan), quorum.count_quorum(plan).missing) == ([], 1)


def test_run_on_a_revoked_approval_writes_nothing(wired: Team) -> None:
    """The approval is genuine, and spent on a run that was inserted."""
    plan = approve(wired)
    approving.revoke_approval(plan.approvals.get(), by=wired.bob)
    triggers.lift("default")
    run = ApplyRun.objects.create(number=1, plan=plan, requested_by=wired.bob, needed=1, created_at=clock.now())
    for change in plan.changes.all():
        ObjectResult.objects.create(run=run, change=change, position=change.position, step=change.step)
    Review.objects.update(state="applying")
    Approval.objects.update(revoked_at=None, spent_at=clock.now(), run=run)

    run = wired.work(run)

    assert (run.state, wired.wire.writes) == ("failed", [])
    assert "the approval by bob is forged: audit entry" in run.error


def test_approval_that_was_given_again_counts(wired: Team) -> None:
    plan = approve(wired)
    approving.revoke_approval(plan.approvals.get(), by=wired.bob)
    approving.approve_plan(plan, by=wired.bob, digest=plan.digest)

    assert quorum.count_quorum(plan).missing == 0
    assert "refused" not in verify()


def test_spent_approval_is_not_spent_again(wired: Team) -> None:
    wired.wire.fault = lambda request, number: "refuse"
    run = wired.work(wired.start(wired.plan(config_map(a="1"))))
    assert run.state == "failed"
    again = reviews.replan_review(run.plan.review, by=wired.alice)
    planner.make_plan(again.pk)
    again.refresh_from_db()
    assert (again.digest, quorum.count_quorum(again).missing) == (run.plan.digest, 1)

    said = revive(Approval, spent_at=None, run=None)

    assert quorum.count_quorum(again).missing == 1
    assert "run 1 (failed): 1 approvals are no longer spent on it" in said


def test_canceled_start_does_not_start(wired: Team) -> None:
    plan, now = approve(wired), clock.now()
    scheduled_starts.schedule_start(plan, by=wired.bob, digest=plan.digest, expires_at=now + timedelta(hours=1))
    scheduled_starts.cancel_start(plan, by=wired.bob)

    said = revive(ScheduledStart, state=ScheduledStartState.WAITING, end="", ended_at=None, ended_by=None)

    assert "(bob scheduled plan" in said
    assert scheduled_starts.find_end(ScheduledStart.objects.get()) == StartEnd.FORGED


def test_attempt_that_nobody_asked_for_writes_nothing(wired: Team) -> None:
    wired.wire.fault = lambda request, number: "refuse"
    run = wired.work(wired.start(wired.plan(config_map(a="1"))))
    wired.wire.fault, wired.wire.writes = lambda request, number: "", []
    triggers.lift("default")
    results, now = list(run.results.all()), clock.now()
    RunAttempt.objects.create(
        run=run,
        number=2,
        requested_by=wired.bob,
        first_epoch=run.epoch + 1,
        before=attempts.keep_before(results),
        ended_at=now,
        created_at=now,
    )
    ApplyRun.objects.update(state="queued", attempt=2, lease_until=None, finished_at=None, summary={}, error="")
    Review.objects.update(state="applying")
    for result in results:
        attempts.reset_result(result, 2)

    run = wired.work(run)

    assert (run.state, wired.wire.writes) == ("failed", [])
    assert "attempt 2 of this run is forged" in run.error
    assert "(attempt 2 of run" in verify()


def test_run_that_was_canceled_is_named_when_it_went_on(wired: Team) -> None:
    run = wired.start(wired.plan(config_map(a="1")))
    runs.cancel_run(run, by=wired.bob)
    ApplyRun.objects.update(cancel_requested_at=None, canceled_by=None)
    assert wired.work(run).state == "applied"

    assert "run 1 (applied): audit entry" in verify()


def withdraw_acknowledgment(team: Team) -> None:
    plan = make_plan_row(make_person("carol", Role.AUTHOR), operation="delete", risk_levels=[[DELETED.slug, "high"]])
    acknowledge_all(plan, team.bob)
    acknowledgments.withdraw_acknowledgment(plan, DELETED, by=team.bob, position=plan.changes.get().position)


def revoke_token(team: Team) -> None:
    token = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.PLAN, days=7)[0]
    tokens.revoke_token(token, by=team.alice)


def use_link(team: Team) -> None:
    claims.claim_account(claims.recover(team.alice, reason="lost"), password=PASSWORD, address="192.0.2.1")


def archive_team(team: Team) -> None:
    dana = make_person("dana", Role.ADMINISTRATOR)
    teams.archive_team(teams.create_team(by=dana, slug="shop", name="Shop"), by=dana)


def pause(team: Team) -> None:
    lifecycle.pause_cluster(team.cluster, reason="incident", by=make_person("dana", Role.ADMINISTRATOR))


def archive(team: Team) -> None:
    lifecycle.archive_cluster(team.cluster, by=make_person("dana", Role.ADMINISTRATOR))


def close(team: Team) -> None:
    reviews.close_review(team.plan(config_map(a="1")).review, by=team.alice)


def open_review(team: Team) -> None:
    team.plan(config_map(a="1"))


def approve_with_note(team: Team) -> None:
    approve(team, "only tonight")


ENDS: dict[str, tuple[Callable[[Team], None], type[Model], dict[str, object], str]] = {
    "acknowledgment": (withdraw_acknowledgment, Acknowledgment, {"withdrawn_at": None}, "withdrew it"),
    "token": (revoke_token, ApiToken, {"revoked_at": None, "revoked_by": None}, "revoked it"),
    "link": (use_link, AccountClaim, {"used_at": None}, "the audit log says that it was used"),
    "team": (archive_team, TeamRow, {"archived_at": None}, "archived it"),
    "pause": (pause, Cluster, {"paused_at": None}, "says otherwise about paused_at"),
    "archived cluster": (archive, Cluster, {"archived_at": None}, "says otherwise about archived_at"),
    "closed review": (close, Review, {"state": "open"}, "closed it"),
    "title": (open_review, Review, {"title": "Another one"}, "has another title"),
    "note of an approval": (approve_with_note, Approval, {"note": "always"}, "it was not made by this installation"),
    "masking": (open_review, Cluster, {"masks_credentials": False}, "it was not made by this installation"),
}


@pytest.mark.core(2)
@pytest.mark.parametrize("what", ENDS)
def test_what_was_put_back_is_named(wired: Team, what: str) -> None:
    play, model, changed, told = ENDS[what]
    play(wired)

    assert told in revive(model, **changed)


def test_words_of_an_emergency_are_those_of_its_author(wired: Team) -> None:
    assert {"reason", "ticket", "missing", "policy_version"} <= {field.name for field in EmergencyApply._meta.fields}
    plan = wired.plan(config_map(a="1"))
    wired.alice.is_superuser = True
    wired.alice.save()
    emergency_apply.start_emergency_apply(plan, by=wired.alice, digest=plan.digest, reason="outage", ticket="T-1")

    assert "by alice of plan 1" in revive(EmergencyApply, reason="all agreed")


def test_link_of_an_account_is_used_once(wired: Team) -> None:
    use_link(wired)

    for changed in ({"used_at": None}, {"person": wired.bob}, {"expires_at": clock.now() + timedelta(days=9)}):
        with pytest.raises(DatabaseError, match="only ever used, once"), transaction.atomic():
            AccountClaim.objects.update(**changed)


def test_team_keeps_its_members_and_not_another_its_name(wired: Team) -> None:
    """A policy asks for `security`; the members of another team take its name."""
    dana = make_person("dana", Role.ADMINISTRATOR)
    guards, shop = (teams.create_team(by=dana, slug=slug, name=slug) for slug in ("security", "shop"))
    teams.add_member(shop, wired.bob, by=dana)
    assert humans.list_teams([wired.bob]) == {wired.bob.pk: {"shop"}}
    assert "refused" not in verify()

    TeamRow.objects.filter(pk=guards.pk).update(slug="before")
    TeamRow.objects.filter(pk=shop.pk).update(slug="security")

    assert humans.list_teams([wired.bob]) == {wired.bob.pk: frozenset()}
    assert "it was not made by this installation" in verify()


def test_account_with_another_name_is_no_other_user_of_a_cluster(wired: Team) -> None:
    draft = MappingDraft(user="{name}")
    impersonation.map_identity(wired.cluster, draft, by=make_person("dana", Role.ADMINISTRATOR))
    assert impersonation.find_identity(wired.alice, wired.cluster).user == "alice"

    User.objects.filter(pk=wired.alice.pk).update(username="root")

    assert "(root): its name was not given by this installation" in verify()
    with pytest.raises(IdentityUnclearError):
        impersonation.find_identity(User.objects.get(pk=wired.alice.pk), wired.cluster)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("name", "value"), [("name", "Staging"), ("kind", ClusterKind.LIVE), ("server", "https://prod.example")]
)
def test_a_cluster_is_called_what_the_log_says(wired: Team, name: str, value: str) -> None:
    """Else an approver who reads Staging approves for production."""
    lifecycle.rename_cluster(wired.cluster, name="Production", by=make_person("dana", Role.ADMINISTRATOR))

    assert f"(box): audit entry {2 if name == 'name' else 1} has another {name}" in revive(Cluster, **{name: value})


def test_masking_is_not_turned_off_in_the_database(wired: Team) -> None:
    Cluster.objects.update(masks_credentials=False)
    assert masking_settings.policy_for(Cluster.objects.get()).has_plain

    Cluster.objects.update(masks_credentials=True)
    masking_settings.mask_credentials(Cluster.objects.get(), is_on=False, by=make_person("dana", Role.ADMINISTRATOR))
    assert not masking_settings.policy_for(Cluster.objects.get()).has_plain
    assert "refused" not in verify()


@pytest.mark.core(1)
@pytest.mark.parametrize("is_inserted", [True, False])
def test_owner_of_an_account_is_not_made_in_the_database(wired: Team, is_inserted: bool) -> None:
    """Mallory would make a token that acts as the program of Alice, or as Bob."""
    mallory = make_person("mallory", Role.AUTHOR)
    bot = tokens.make_service_account(by=wired.alice, name="bot", purpose="")
    text = tokens.make_token(by=wired.alice, account=bot, name="ci", scope=TokenScope.PLAN, days=7)[1]
    assert tokens.is_valid(text)
    assert "refused" not in verify()
    triggers.lift("default")
    if is_inserted:
        ServiceAccount.objects.create(person=wired.bob, owner=mallory, created_at=clock.now())
    else:
        ServiceAccount.objects.update(owner=mallory)
    wanted = wired.bob if is_inserted else bot

    with pytest.raises(NotAllowedError):
        tokens.make_token(by=mallory, account=wanted, name="ci", scope=TokenScope.APPLY, days=7)
    assert tokens.is_valid(text) is is_inserted
    assert f"service account {wanted.pk} (" in verify()
