"""A refused form keeps its entries and names the reason beside them, on pages of accounts, teams and policies."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.records.models import CommitIdentity, Grant, TeamMember
from tests.builders import grant_role, make_person
from tests.web.settings.test_settings import RULES

pytestmark = pytest.mark.django_db
SCOPE = {"role": "viewer", "cluster_pattern": "*", "namespace_pattern": "*", "is_cluster_scoped": "on"}


@pytest.fixture
def as_dana(db) -> Client:
    person = User.objects.create_user("dana")
    grant_role(person, "administrator")
    browser = Client()
    browser.force_login(person)
    browser.post(reverse("settings:add-team"), {"slug": "sre", "name": "Reliability"})
    return browser


@pytest.fixture
def erin(db) -> User:
    return make_person("erin")


def assert_shown_at(page: str, field: str, problem: str) -> None:
    """The field is named as wrong, its message is below it, and a summary above the form has the focus."""
    [control] = re.findall(rf'<(?:input|select|textarea)[^>]* id="id_{field}"[^>]*>', page)
    assert 'aria-invalid="true"' in control
    assert f"id_{field}_error" in control
    [below] = re.findall(rf'<p class="error" id="id_{field}_error">([^<]*)</p>', page)
    assert problem in below
    [summary] = re.findall(r"<div [^>]*data-error-summary>", page)
    assert 'tabindex="-1" autofocus' in summary
    assert f'href="#id_{field}"' in page


@pytest.mark.parametrize(("form", "subject"), [("grant-to-person", "erin"), ("grant-to-team", "sre")])
def test_refused_grant_keeps_what_was_entered(as_dana, erin, form, subject):
    given = {**SCOPE, "cluster_pattern": "Prod EU", "namespace_pattern": "pay-*"}

    answer = as_dana.post(reverse(f"settings:{form}", args=[subject]), given)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert_shown_at(page, "cluster_pattern", "is not a valid pattern")
    assert 'value="Prod EU"' in page
    assert 'value="pay-*"' in page
    assert not Grant.objects.filter(role="viewer").exists()


@pytest.mark.parametrize(
    ("name", "problem"), [("bad name!", "contains a space"), ("x" * 151, "at most 150 characters")]
)
def test_refused_name_is_told_in_other_words_than_its_help(as_dana, name, problem):
    page = as_dana.post(reverse("settings:add-person"), {"name": name, "email": ""}).content.decode()

    assert_shown_at(page, "name", problem)
    assert page.count("Use letters, digits and @ . + - _, without spaces.") == 1


def test_grant_without_a_role_says_so_at_the_role(as_dana, erin):
    answer = as_dana.post(reverse("settings:grant-to-person", args=["erin"]), {**SCOPE, "role": ""})

    assert answer.status_code == 422
    assert_shown_at(answer.content.decode(), "role", "This field is required.")


def test_wrong_address_stays_in_its_field(as_dana, erin):
    answer = as_dana.post(reverse("settings:set-mail", args=["erin"]), {"email": "erin at example"})

    assert answer.status_code == 422
    assert_shown_at(answer.content.decode(), "email", "Enter a valid email address.")
    assert 'value="erin at example"' in answer.content.decode()


def test_wrong_identity_stays_in_its_field(as_dana, erin):
    answer = as_dana.post(
        reverse("settings:link-person-identity", args=["erin"]), {"kind": "login", "value": "not a login"}
    )

    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="not a login"' in page
    assert re.search(r'<p class="error" id="id_(kind|value)_error">', page)
    assert not CommitIdentity.objects.exists()


def test_own_account_is_refused_as_a_member_at_the_field(as_dana):
    answer = as_dana.post(reverse("settings:add-member", args=["sre"]), {"person": "dana"})

    assert answer.status_code == 403
    assert_shown_at(answer.content.decode(), "person", "your own accounts")
    assert not TeamMember.objects.exists()


def test_member_of_the_team_is_refused_without_a_changed_name(as_dana, erin):
    as_dana.post(reverse("settings:add-member", args=["sre"]), {"person": "erin"})

    answer = as_dana.post(reverse("settings:add-member", args=["sre"]), {"person": "erin"})

    assert answer.status_code == 409
    assert_shown_at(answer.content.decode(), "person", "This person is already a member of this team")


def test_member_that_does_not_exist_is_refused_at_the_field(as_dana):
    answer = as_dana.post(reverse("settings:add-member", args=["sre"]), {"person": "nobody"})

    assert answer.status_code == 422
    assert_shown_at(answer.content.decode(), "person", "nobody is not one of the available choices")


@pytest.mark.parametrize(
    ("form", "given", "field", "problem"),
    [
        ("add-person", {"name": "dana"}, "name", "Account dana already exists"),
        ("add-person", {"name": "d ana"}, "name", "contains a space"),
        ("add-team", {"slug": "sre", "name": "Again"}, "slug", "Team sre already exists"),
        ("add-policy", {**RULES, "cluster_pattern": "Prod EU"}, "cluster_pattern", "is not a valid pattern"),
        ("add-policy", {**RULES, "approvals": "99"}, "approvals", "less than or equal to 9"),
        ("add-policy", {**RULES, "approvals_rbac": "99"}, "approvals_rbac", "less than or equal to 9"),
    ],
)
def test_problem_stands_at_its_field(as_dana, form, given, field, problem):
    answer = as_dana.post(reverse(f"settings:{form}"), given)

    assert answer.status_code == 422
    assert_shown_at(answer.content.decode(), field, problem)
