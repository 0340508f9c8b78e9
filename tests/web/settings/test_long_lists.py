"""Lists of accounts and teams with more rows than a page holds."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from applyviz.records.models import ApiToken, IdentityMapping, ServiceAccount, Team
from tests.builders import add_member, make_cluster_row
from tests.web import reading

pytestmark = pytest.mark.django_db
PEOPLE, TEAMS = reverse("settings:list-people"), reverse("settings:list-teams")
TOKENS, IDENTITIES = reverse("settings:list-tokens"), reverse("settings:list-identities")


@pytest.fixture
def many(as_dana) -> list[User]:
    return User.objects.bulk_create(
        User(username=f"person-{n:02}", email=f"box{n:02}@example.org", password="!") for n in range(60)
    )


def show(browser, address):
    return reading.text_of(reading.read(browser, address))


def test_accounts_are_listed_in_pages(as_dana, many):
    first, second = show(as_dana, PEOPLE), show(as_dana, f"{PEOPLE}?page=2")

    assert ("person-48" in first, "person-59" in first, "page 1 of 2" in first) == (True, False, True)
    assert ("person-48" in second, "person-59" in second) == (False, True)


@pytest.mark.parametrize("text", ["SON-59", "box59@"])
def test_account_is_found_by_a_part_of_its_name_or_address(as_dana, many, text):
    page = show(as_dana, f"{PEOPLE}?q={text}")

    assert ("person-59" in page, "person-58" in page, "page 1" in page) == (True, False, False)


def test_pages_of_found_accounts_keep_the_search(as_dana, many):
    assert 'href="?page=2&amp;q=person"' in as_dana.get(f"{PEOPLE}?q=person").content.decode()


def test_search_without_a_result_says_so_and_leads_back(as_dana, many):
    page = as_dana.get(f"{PEOPLE}?q=nobody").content.decode()

    assert "No account has “nobody” in its name or address." in page
    assert f'href="{PEOPLE}">All people' in page


def test_list_of_teams_names_the_first_members(as_dana, many):
    team = Team.objects.create(slug="sre", name="Reliability", created_at=timezone.now())
    for person in many[:20]:
        add_member(team, person)

    page = show(as_dana, TEAMS)

    assert ("person-11" in page, "person-12" in page, "and 8 more" in page) == (True, False, True)
    assert "person-19" in show(as_dana, reverse("settings:show-team", args=["sre"]))


def test_teams_are_listed_in_pages(as_dana):
    Team.objects.bulk_create(
        Team(slug=f"team-{n:02}", name=f"Team {n:02}", created_at=timezone.now()) for n in range(60)
    )

    first, second = show(as_dana, TEAMS), show(as_dana, f"{TEAMS}?page=2")

    assert ("Team 49" in first, "Team 50" in first) == (True, False)
    assert ("Team 49" in second, "Team 59" in second) == (False, True)


@pytest.fixture
def programs(many) -> list[ServiceAccount]:
    """Sixty service accounts, each with a token."""
    now = timezone.now()
    ApiToken.objects.bulk_create(
        ApiToken(
            name=f"deploy-{n:02}",
            person=person,
            made_by=person,
            scope="read",
            token_hash=f"{n:064x}",
            hint="avz_00",
            created_at=now,
            expires_at=now + timedelta(days=9),
        )
        for n, person in enumerate(many)
    )
    return ServiceAccount.objects.bulk_create(
        ServiceAccount(person=person, owner=many[0], purpose="", created_at=now) for person in many
    )


def test_tokens_and_service_accounts_are_listed_in_pages_of_their_own(as_dana, programs):
    first, second = show(as_dana, TOKENS), show(as_dana, f"{TOKENS}?page=2")
    accounts = as_dana.get(f"{TOKENS}?accounts=2&page=2").content.decode()

    assert ("deploy-59" in first, "deploy-09" in first, first.count("page 1 of 2")) == (True, False, 2)
    assert ("deploy-59" in second, "deploy-09" in second) == (False, True)
    assert ("page 2 of 2" in second, "page 1 of 2" in second) == (True, True)
    assert 'href="?accounts=1&amp;page=2"' in accounts


def test_token_is_found_by_its_name_and_pages_keep_the_search(as_dana, programs):
    found = show(as_dana, f"{TOKENS}?q=deploy-59")
    page = as_dana.get(f"{TOKENS}?q=person").content.decode()

    assert ("deploy-59" in found, "deploy-58" in found) == (True, False)
    assert 'href="?page=2&amp;q=person"' in page
    assert "No token has “nothing” in its name, account or owner." in show(as_dana, f"{TOKENS}?q=nothing")


def test_search_is_offered_where_a_list_has_pages(as_dana, many):
    assert 'role="search" aria-label="API tokens"' not in as_dana.get(TOKENS).content.decode()


def test_identities_are_listed_in_pages_and_found_by_name(as_dana, many):
    cluster = make_cluster_row()
    IdentityMapping.objects.bulk_create(
        IdentityMapping(
            cluster=cluster,
            number=n,
            person=person,
            user=f"user-{n:02}",
            groups=[],
            since=timezone.now(),
            ended_at=timezone.now() if n == 59 else None,
        )
        for n, person in enumerate(many)
    )
    first, found = show(as_dana, IDENTITIES), show(as_dana, f"{IDENTITIES}?q=SON-07")

    assert ("user-58" in first, "user-00" in first, "user-59" in first) == (True, False, True)
    assert ("user-07" in found, "user-08" in found, "user-59" in found) == (True, False, False)
    assert "No mapping has “nothing” in a name." in show(as_dana, f"{IDENTITIES}?q=nothing")
