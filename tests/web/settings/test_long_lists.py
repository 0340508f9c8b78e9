"""Lists of accounts and teams with more rows than a page holds."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from applyviz.records.models import Team
from tests.builders import add_member
from tests.web import reading

pytestmark = pytest.mark.django_db
PEOPLE, TEAMS = reverse("settings:list-people"), reverse("settings:list-teams")


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
