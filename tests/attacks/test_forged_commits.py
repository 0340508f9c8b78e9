"""A person with the database hides no editor of commits, follows no branch in another's name, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from applyviz.engine.objects.errors import SourceError
from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.git_enums import EditorRole, FollowEnd
from applyviz.records.models import (
    BranchPush,
    CommitEditor,
    CommitRange,
    Following,
    Plan,
    RepositoryCredential,
    Review,
    SourceRevision,
    Team,
    TeamMember,
)
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.clusters.impersonation import MappingDraft
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.people import commit_people, teams
from applyviz.workflow.plans import planner, presets, repository_credentials, reviews
from tests.attacks.test_forged_rights import verify
from tests.builders import make_person, make_policy, open_dangers, set_email
from tests.following import Stage
from tests.stories import Team as Story
from tests.stories import config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]

Begun = tuple[Stage, Review, str, str]


@pytest.fixture
def carol(begun: Begun) -> User:
    """Carol wrote and pushed the second commit, and may approve; she holds the database, without any key."""
    carol = make_person("carol", Role.APPROVER)
    set_email("carol", "carol@example.org")
    carol.refresh_from_db()
    return carol


@pytest.fixture
def plan(begun: Begun, carol: User) -> Plan:
    """The plan of her push. A policy lets unknown editors pass, so that hiding her would suffice."""
    stage, review, first, second = begun
    make_policy("lax", approvals=1, allows_unknown_editors=True)
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    plan = stage.calculate(review)
    triggers.lift("default")
    return plan


def rename_people() -> None:
    CommitEditor.objects.update(email="x@example.org", login="")
    CommitRange.objects.update(people=[])


def remove_range() -> None:
    CommitEditor.objects.all().delete()
    CommitRange.objects.all().delete()


def empty_range() -> None:
    CommitEditor.objects.all().delete()
    CommitRange.objects.update(commits=[], graph={}, people=[], gap="")


def begin_later() -> None:
    """As if alice had chosen her commit, without a push."""
    remove = CommitEditor.objects.exclude(role=EditorRole.AUTHOR)
    remove.delete()
    CommitRange.objects.update(first_commit=CommitRange.objects.latest("pk").commits[0], people=[])


def remove_repository() -> None:
    remove_range()
    SourceRevision.objects.update(provenance={})
    Plan.objects.update(followed="")


@pytest.mark.core(1)
@pytest.mark.parametrize("forge", [rename_people, remove_range, empty_range, begin_later, remove_repository])
def test_nothing_is_approved_without_the_people_behind_its_commits(
    plan: Plan, carol: User, forge: Callable[[], None]
) -> None:
    forge()
    plan = Plan.objects.get(pk=plan.pk)
    open_dangers(plan, carol)

    with pytest.raises((NotAllowedError, NotPossibleError)):
        approving.approve_plan(plan, by=carol, digest=plan.digest)
    assert quorum.find_forged_authors(plan)
    assert any(text in verify() for text in ("commits of plan", f"plan {plan.pk}"))


def test_removed_rows_beside_the_commits_hide_nobody(plan: Plan, carol: User) -> None:
    CommitEditor.objects.all().delete()

    assert carol in commit_people.find_editors(plan).accounts
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=carol, digest=plan.digest)


@pytest.mark.core(1)
@pytest.mark.parametrize("is_inserted", [False, True])
def test_forged_push_explains_no_commit(plan: Plan, begun: Begun, is_inserted: bool) -> None:
    """Bob did not push it, and who did is not forgotten."""
    push = BranchPush.objects.get()
    push.name, push.login, push.email = "bob", "localhost/bob", "bob@example.org"
    if is_inserted:
        push.pk = push.delivery = None
    push.save()
    editors = commit_people.find_editors(plan)

    assert "bob" not in {one.person.name for one in editors.editors}
    assert editors.unknown_pushers == (() if is_inserted else (begun[3],))
    assert "push" in verify()


def follow_as_another(stage: Stage, review: Review) -> None:
    Following.objects.update(by=stage.admin)


def follow_another_branch(stage: Stage, review: Review) -> None:
    Following.objects.update(branch="mine")


def insert_following(stage: Stage, review: Review) -> None:
    row = Following.objects.get()
    row.delete()
    row.pk, row.by = None, stage.team.bob
    row.save(force_insert=True)


def revive(stage: Stage, review: Review) -> None:
    from applyviz.workflow.following import branches  # noqa: PLC0415 - one attack

    branches.stop_following(review, by=stage.team.alice)
    Following.objects.update(ended_at=None, end_reason="", ended_by=None)


FOLLOWED = [follow_as_another, follow_another_branch, insert_following, revive]


@pytest.mark.core(1)
@pytest.mark.parametrize("forge", FOLLOWED)
def test_nothing_is_requested_in_the_name_of_another(begun: Begun, forge: Callable[[Stage, Review], None]) -> None:
    stage, review, first, second = begun
    triggers.lift("default")
    forge(stage, review)

    stage.push(first, second, login="carol", email="carol@example.org")
    Following.objects.update(due_at=timezone.now())
    stage.follow()

    assert review.plans.count() == 1
    assert Following.objects.get().end_reason == FollowEnd.FORGED
    assert "followed branch" in verify()


@pytest.mark.core(1)
@pytest.mark.parametrize("is_removed", [True, False])
def test_plan_after_a_forged_following_is_not_requested(begun: Begun, plan: Plan, is_removed: bool) -> None:
    """It would have no commits, or those since another one."""
    stage, review, _first, second = begun
    if is_removed:
        Following.objects.all().delete()
    else:
        Following.objects.update(first_commit=second)

    with pytest.raises(NotPossibleError, match="changed in the database"):
        reviews.replan_review(review, by=stage.team.alice)
    assert "followed branch" in verify()


def shorten_history(plan: Plan) -> None:
    kept = plan.revision.provenance
    SourceRevision.objects.update(provenance={**kept, "git": {**kept["git"], "history": "[]", "people": "{}"}})


def remove_plan(plan: Plan) -> None:
    """Also the only one that names her."""
    for name in ("commit_editors", "commit_range"):
        found = getattr(plan, name)
        found.all().delete() if name == "commit_editors" else found.delete()
    Plan.objects.filter(pk=plan.pk).update(review=make_other_review(plan))


def make_other_review(plan: Plan) -> Review:
    """A review that takes a plan away."""
    row = Review.objects.get(pk=plan.review_id)
    row.pk, row.number = None, 99
    row.save(force_insert=True)
    return row


@pytest.mark.core(1)
@pytest.mark.parametrize("forge", [shorten_history, remove_plan])
def test_same_manifests_are_not_planned_again_as_those_of_nobody(
    begun: Begun, plan: Plan, forge: Callable[[Plan], None]
) -> None:
    if forge is remove_plan:
        third = reviews.replan_review(plan.review, by=begun[0].team.alice)
        planner.make_plan(third.pk)
    forge(plan)

    with pytest.raises(NotPossibleError, match="changed in the database"):
        reviews.replan_review(begun[1], by=begun[0].team.alice)


@pytest.mark.core(1)
@pytest.mark.parametrize("is_removed", [False, True])
def test_authors_are_not_lost_with_an_earlier_plan(team: Story, is_removed: bool) -> None:
    """Alice, who may approve too, wrote the manifests; carol re-plans them."""
    from tests.builders import grant_role  # noqa: PLC0415 - one test

    first = team.plan(config_map(a="1"))
    grant_role(team.alice, Role.APPROVER)
    triggers.lift("default")
    Review.objects.update(author=team.bob)
    SourceRevision.objects.update(created_by=team.bob)
    if not is_removed:
        Plan.objects.filter(pk=first.pk).update(authors=[team.bob.pk], requested_by=team.bob)

    with pytest.raises(NotPossibleError, match="changed in the database"):
        reviews.replan_review(first.review, by=make_person("carol", Role.AUTHOR))


@pytest.fixture
def credential(db: None) -> RepositoryCredential:
    """A token that only members of the team ops may use."""
    root = make_person("root", Role.ADMINISTRATOR)
    ops = teams.create_team(slug="ops", name="Ops", by=root)
    draft = repository_credentials.Draft("https://git.example.org/ops", "a-token-of-ops", team=ops)
    return repository_credentials.add_credential(draft, by=root)


def join(mallory: User) -> None:
    team = Team.objects.get(slug="ops")
    TeamMember.objects.create(team=team, person=mallory, since=timezone.now())


def test_credential_of_a_team_is_not_used_through_a_forged_membership(credential: RepositoryCredential) -> None:
    mallory = make_person("mallory", Role.AUTHOR)
    triggers.lift("default")
    join(mallory)

    assert repository_credentials.find_for("https://git.example.org/ops/x", by=mallory) is None
    assert "membership" in verify()


@pytest.mark.parametrize("forge", [[], ["ssh-ed25519 AAAA"]])
def test_credential_that_was_opened_to_all_is_used_by_nobody(
    credential: RepositoryCredential, forge: list[str]
) -> None:
    """Another server would pass for the repository."""
    root = User.objects.get(username="root")
    RepositoryCredential.objects.update(team=None, host_keys=forge)

    with pytest.raises(SourceError, match="changed in the database"):
        repository_credentials.find_for("https://git.example.org/ops/x", by=root)
    repository_credentials.edit_credential(
        RepositoryCredential.objects.get(),
        repository_credentials.Draft("https://git.example.org/ops", "another-token"),
        renews=False,
        by=root,
    )
    with pytest.raises(SourceError, match="changed in the database"):
        repository_credentials.find_for("https://git.example.org/ops/x", by=root)
    assert "credential" in verify()


def test_forged_membership_gives_no_preset_and_no_identity_of_a_team(credential: RepositoryCredential) -> None:
    root, mallory = User.objects.get(username="root"), make_person("mallory", Role.AUTHOR)
    presets.add_preset(presets.PresetDraft(slug="ops", name="Ops", team=credential.team), by=root)
    cluster = Story().cluster
    impersonation.map_identity(cluster, MappingDraft("ops@example", team=credential.team), by=root)
    triggers.lift("default")
    join(mallory)

    assert presets.list_usable(for_user=mallory) == ()
    assert impersonation.find_identity(mallory, cluster).user == ""
