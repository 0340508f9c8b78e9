"""An identity of a cluster, or of commits, that was written into the database gives nobody anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import CommitEditor, CommitIdentity, IdentityMapping
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.clusters.impersonation import IdentityUnclearError, MappingDraft
from applyviz.workflow.people import commit_identities, commit_people
from tests.attacks.test_forged_rights import verify
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def ida(db: None) -> User:
    """The administrator."""
    return make_person("ida", Role.ADMINISTRATOR)


@pytest.fixture
def mapping(team: Team, ida: User) -> IdentityMapping:
    """Alice acts as a user with few rights; the attacker holds the database, without any key."""
    made = impersonation.map_identity(team.cluster, MappingDraft("alice@example", person=team.alice), by=ida)
    triggers.lift("default")
    return made


def widen(team: Team) -> None:
    IdentityMapping.objects.update(user="admin", groups=["system:masters"])


def insert(team: Team) -> None:
    IdentityMapping.objects.create(
        cluster=team.cluster, number=2, person=team.bob, user="admin", since=timezone.now(), mac="0" * 64
    )


def give_to_another(team: Team) -> None:
    IdentityMapping.objects.update(person=team.bob)


def end(team: Team) -> None:
    """Without it, she acts with the credential of the cluster itself."""
    IdentityMapping.objects.update(ended_at=timezone.now())


def remove(team: Team) -> None:
    IdentityMapping.objects.all().delete()


@pytest.mark.core(2)
@pytest.mark.parametrize("forge", [widen, insert, give_to_another, end, remove])
def test_forged_mapping_gives_nobody_an_identity(
    team: Team, mapping: IdentityMapping, forge: Callable[[Team], None]
) -> None:
    assert impersonation.find_identity(team.alice, team.cluster).user == "alice@example"

    forge(team)

    for person in (team.alice, team.bob):
        with pytest.raises(IdentityUnclearError, match="were changed in the database"):
            impersonation.find_identity(person, team.cluster)
    assert team.plan(config_map(a="1")).state == "failed"
    assert "mapping" in verify()


def test_mapping_that_was_ended_and_revived_does_not_count(team: Team, mapping: IdentityMapping, ida: User) -> None:
    impersonation.end_mapping(mapping, by=ida)
    assert impersonation.find_identity(team.alice, team.cluster).user == ""

    IdentityMapping.objects.update(ended_at=None)

    with pytest.raises(IdentityUnclearError):
        impersonation.find_identity(team.alice, team.cluster)


@pytest.mark.parametrize("forge", [widen, end])
def test_mappings_are_repaired_by_removing_the_wrong_ones(
    team: Team, mapping: IdentityMapping, ida: User, forge: Callable[[Team], None]
) -> None:
    forge(team)
    impersonation.end_mapping(IdentityMapping.objects.get(), by=ida)
    impersonation.map_identity(team.cluster, MappingDraft("alice@example", person=team.alice), by=ida)

    assert impersonation.find_identity(team.alice, team.cluster).user == "alice@example"


def verify_address(identity: CommitIdentity) -> None:
    CommitIdentity.objects.filter(pk=identity.pk).update(verified_at=timezone.now())


def give_away(identity: CommitIdentity) -> None:
    """Mallory is no editor of her commits any more, so she may approve them."""
    CommitIdentity.objects.update(person=make_person("nobody"))


@pytest.mark.parametrize("forge", [verify_address, give_away])
def test_forged_identity_of_commits_matches_nobody(ida: User, forge: Callable[[CommitIdentity], None]) -> None:
    mallory = make_person("mallory", Role.APPROVER)
    identity = commit_identities.claim(IdentityKind.EMAIL, "mallory@example.com", by=mallory)
    if forge is give_away:
        commit_identities.verify(identity, by=ida)
        assert commit_people._match([CommitEditor(email="mallory@example.com")]) == {"mallory@example.com": [mallory]}
    triggers.lift("default")

    forge(identity)

    assert commit_people._match([CommitEditor(email="mallory@example.com")]) == {}
    assert "commit identity" in verify()
