"""Mappings: whose counts, what a plan fixes, and that a run stops when they change."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from applyviz.clusters.identity import Identity
from applyviz.records.enums import AuditAction, PlanState, Role, RunState
from applyviz.records.models import AuditEntry, IdentityMapping
from applyviz.records.models import Team as TeamRow
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.clusters import cluster_access, impersonation
from applyviz.workflow.clusters.impersonation import MappingDraft
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.plans import planner, reviews
from tests.blockers import name_blockers
from tests.builders import add_member, make_person, make_plan_row
from tests.stories import config_map

pytestmark = pytest.mark.django_db


@pytest.fixture
def dana(db):
    return make_person("dana", Role.ADMINISTRATOR)


def make_team(slug, *people):
    made = TeamRow.objects.create(slug=slug, name=slug, created_at=timezone.now())
    for person in people:
        add_member(made, person)
    return made


def test_own_mapping_counts_before_team_and_everybody(team, dana):
    shop = make_team("shop", team.alice)
    found = [impersonation.find_identity(team.alice, team.cluster)]
    for draft in (
        MappingDraft("all-{name}"),
        MappingDraft("shop", ("dev",), team=shop),
        MappingDraft("jane", person=team.alice),
    ):
        impersonation.map_identity(team.cluster, draft, by=dana)
        found.append(impersonation.find_identity(team.alice, team.cluster))

    assert found == [Identity(), Identity("all-alice"), Identity("shop", ("dev",)), Identity("jane")]
    assert impersonation.find_identity(team.bob, team.cluster) == Identity("all-bob")


def test_two_teams_of_different_identities_plan_nothing(team, dana):
    for slug in ("shop", "ops"):
        impersonation.map_identity(team.cluster, MappingDraft(slug, team=make_team(slug, team.alice)), by=dana)

    plan = team.plan(config_map(a="1"))

    assert (plan.state, plan.error) == (
        PlanState.FAILED,
        "alice belongs to teams with different identities on box: ops, shop",
    )


def test_every_request_of_plan_and_run_goes_out_as_the_identity(team, dana):
    impersonation.map_identity(team.cluster, MappingDraft("jane", ("dev",), person=team.alice), by=dana)
    team.wire.identities.clear()

    run = team.apply(config_map(a="1"))

    own = [r.path for who, r in team.wire.identities if who.is_own]
    assert (run.state, run.plan.identity) == (RunState.APPLIED, {"user": "jane", "groups": ["dev"]})
    # Who the cluster is, nobody but its own credential can be sure to be allowed to ask.
    assert set(own) == {"/api/v1/namespaces/kube-system", "/version"}
    assert {who for who, r in team.wire.identities if not who.is_own} == {Identity("jane", ("dev",))}
    assert team.live()["metadata"]["managedFields"][0]["manager"] == "applyviz"
    said = AuditEntry.objects.get(action=AuditAction.RUN_STARTED).detail
    assert said["identity"] == "jane (dev)"


def test_digest_covers_the_identity_and_equal_identities_keep_approvals(team, dana):
    plan = team.plan(config_map(a="1"))
    digests = [plan.digest]
    for user in ("jane", "joan", "jane"):
        impersonation.map_identity(team.cluster, MappingDraft(user, person=team.alice), by=dana)
        made = reviews.replan_review(plan.review, by=team.alice)
        planner.make_plan(made.pk)
        made.refresh_from_db()
        digests.append(made.digest)

    assert digests[1] == digests[3]
    assert len(set(digests)) == 3
    assert IdentityMapping.objects.filter(ended_at=None).count() == 1


@pytest.mark.core(1)
@pytest.mark.parametrize("how", ["mapped", "changed", "ended"])
def test_changed_mapping_stops_approval_and_run(team, dana, how):
    mapping = None
    if how != "mapped":
        mapping = impersonation.map_identity(team.cluster, MappingDraft("jane", person=team.alice), by=dana)
    waiting, approved = team.plan(config_map(a="1")), team.start(team.plan(config_map("b", a="1")))
    if how == "ended":
        impersonation.end_mapping(mapping, by=dana)
    else:
        impersonation.map_identity(team.cluster, MappingDraft("joan", person=team.alice), by=dana)

    with pytest.raises(NotPossibleError, match="the identity of alice on box changed"):
        approving.approve_plan(waiting, by=team.bob, digest=waiting.digest)
    run = team.work(approved)
    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert run.error == "the identity of alice on box changed since this plan was created: re-plan"


def test_who_may_not_write_there_is_refused_at_review_and_approval(team, dana):
    impersonation.map_identity(team.cluster, MappingDraft("jane", person=team.alice), by=dana)
    team.wire.denied = {"patch"}

    plan = team.plan(config_map(a="1"))

    assert plan.denied == ["patch configmaps settings in namespace default"]
    text = (
        "jane is not allowed to patch configmaps settings in namespace default. Grant this permission to its account, "
        "then re-plan"
    )
    assert text in name_blockers(plan)
    with pytest.raises(NotPossibleError, match=text):
        approving.approve_plan(plan, by=team.bob, digest=plan.digest)


def test_right_that_went_after_the_approval_writes_nothing(team, dana):
    impersonation.map_identity(team.cluster, MappingDraft("jane", person=team.alice), by=dana)
    run = team.start(team.plan(config_map(a="1")))
    team.wire.denied = {"create"}

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert run.error.startswith("jane is not allowed to create configmaps in namespace default. Grant this")


def test_rights_are_those_of_the_mapped_identity(team, dana):
    impersonation.map_identity(team.cluster, MappingDraft("jane", ("dev",), person=team.alice), by=dana)

    mine, others = (cluster_access.read_state(team.cluster, for_user=person) for person in (team.alice, team.bob))

    assert (mine.identity, mine.is_impersonated) == ("jane", True)
    assert (others.identity, others.is_impersonated) == ("sandbox", False)


@pytest.mark.parametrize("user", ["", "system:masters", "a\nb", " x", "system:serviceaccount:kube-system:x"])
def test_what_must_not_be_impersonated_is_not_mapped(team, dana, user):
    with pytest.raises(NotValidError):
        impersonation.map_identity(team.cluster, MappingDraft(user, person=team.alice), by=dana)
    with pytest.raises(NotValidError):
        impersonation.map_identity(team.cluster, MappingDraft("jane", ("system:masters",)), by=dana)
    assert not IdentityMapping.objects.exists()


def test_account_name_that_gives_a_reserved_user_plans_nothing(team, dana):
    odd = make_person("system:masters", Role.AUTHOR)
    impersonation.map_identity(team.cluster, MappingDraft("{name}"), by=dana)

    with pytest.raises(NotPossibleError, match="reserved"):
        impersonation.find_identity(odd, team.cluster)


def test_only_administrators_map_and_nobody_themselves(team, dana):
    draft = MappingDraft("jane", person=team.alice)
    for person in (team.alice, team.bob):
        with pytest.raises(NotAllowedError):
            impersonation.map_identity(team.cluster, draft, by=person)
    with pytest.raises(NotVisibleError):
        impersonation.map_identity(team.cluster, draft, by=make_person("outsider"))
    with pytest.raises(NotAllowedError, match="you can't map yourself"):
        impersonation.map_identity(team.cluster, MappingDraft("root", person=dana), by=dana)


def test_mappings_are_on_record_and_only_ever_ended(team, dana):
    mapping = impersonation.map_identity(team.cluster, MappingDraft("jane", person=team.alice), by=dana)
    for change in (
        {"user": "root"},
        {"groups": ["x"]},
        {"person": None},
        {"cluster": make_plan_row(dana).target.cluster},
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            IdentityMapping.objects.filter(pk=mapping.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        IdentityMapping.objects.all().delete()
    impersonation.end_mapping(mapping, by=dana)
    with pytest.raises(NotPossibleError):
        impersonation.end_mapping(mapping, by=dana)

    entries = AuditEntry.objects.filter(action__startswith="identity.").order_by("id")
    assert [(e.action, e.cluster, e.detail["user"], e.detail["for"]) for e in entries] == [
        ("identity.mapped", "box", "jane", "alice"),
        ("identity.ended", "box", "jane", "alice"),
    ]
    assert runs.list_runs(for_user=dana).count() == 0
