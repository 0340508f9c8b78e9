"""Settings: who sees and who changes policies, teams and people; what the forms take and refuse."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.records.models import Grant, PolicyVersion, Team, TeamMember
from applyviz.workflow.policies import POLICY_RISKS
from tests.builders import grant_role, make_person, make_policy
from tests.web import reading

pytestmark = pytest.mark.django_db
WINDOW = "Mon-Fri 09:00-17:00 Europe/Berlin"
RULES = {
    "slug": "prod", "cluster_pattern": "prod-*", "namespace_pattern": "*", "is_cluster_scoped": "on", "approvals": "2",
    "many_objects": "50", "approval_hours": "72", "may_run_estimated": "on",
    "windows": "Mon-Fri 09:00-17:00 Europe/Berlin\n", "freezes": "2026-12-20T18:00 2027-01-04T08:00 UTC Holidays",
    "on_failure": "continue", "concurrency": "4", "rollout_seconds": "600", "note": "first",
    "replaced_kinds": "batch/Job, core/Service", "replace_annotation": "example.com/replace",
    "kept_kinds": "core/PersistentVolumeClaim", "most_deletions": "5", "most_pruned_percent": "20",
    "critical_kinds": "core/Secret, apps/StatefulSet",
    "owners": "kind:*/Role ops 2\nfile:deploy/** ops\n",
    **{f"approvals_{kind.slug}": "0" for kind in POLICY_RISKS},
    "approvals_rbac": "3",
}  # fmt: skip


@pytest.fixture
def dana(db) -> User:
    person = User.objects.create_user("dana")
    grant_role(person, "administrator")
    return person


@pytest.fixture
def as_dana(dana) -> Client:
    Team.objects.create(slug="ops", name="Ops", created_at=timezone.now())
    browser = Client()
    browser.force_login(dana)
    return browser


def test_policy_is_written_and_shown(as_dana, as_viewer):
    answer = as_dana.post(reverse("settings:add-policy"), RULES)

    assert answer.headers["Location"] == reverse("settings:show-policy", args=["prod"])
    page = as_viewer.get(answer.headers["Location"]).content.decode()
    wanted = (
        "version 1",
        "2 approvals",
        "RBAC changes: 3 approvals",
        "kind */Role: 2 approvals of team ops; file deploy/**: 1 approval of team ops",
        "Mon-Fri 09:00-17:00 Europe/Berlin",
        "continues after a failure",
        "batch/Job, core/Service, objects with example.com/replace",
        "core/PersistentVolumeClaim",
        "at most 5 objects in one plan, prune at most 20 % of a set",
        "core/Secret, apps/StatefulSet",
        "first",
    )
    assert [text for text in wanted if text not in page] == []
    assert "Edit" not in page


def test_form_of_the_next_version_holds_the_last(as_dana):
    as_dana.post(reverse("settings:add-policy"), RULES)
    page = as_dana.get(reverse("settings:edit-policy", args=["prod"]))

    form = page.context["form"]
    sent = {name: form[name].value() for name in form.fields}
    kept = {name: value for name, value in sent.items() if value is not None and value is not False}
    as_dana.post(reverse("settings:edit-policy", args=["prod"]), {**kept, "approvals": "4"})

    newest, first = PolicyVersion.objects.all()
    assert (newest.number, newest.rules) == (2, {**first.rules, "approvals": 4})
    shown = as_dana.get(reverse("settings:show-policy", args=["prod"]))
    assert [row.changes for row in shown.context["versions"]] == [(("Approvals", "2 approvals", "4 approvals"),), ()]
    words = " ".join(shown.content.decode().split())  # in words, so they are no code
    assert 'Approvals: 2 approvals <span class="arrow"' in words


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("windows", "whenever", "expected days, hours and zone"),
        ("windows", "Mon 09:00-17:00 Mars/Crater", "is not a time zone"),
        ("freezes", "soon", "expected start, end, zone"),
        ("owners", "everything", "expected a kind or a file and a team"),
        ("owners", "kind:Secret ops", "not a pattern of kinds or files"),
        ("owners", "kind:core/Secret nobody", "Team nobody not found"),
        ("approvals", "99", "less than or equal to 9"),
        ("cluster_pattern", "Prod Cluster", "is not a valid pattern"),
    ],
)
def test_bad_policy_is_told_at_its_field(as_dana, name, value, problem):
    answer = as_dana.post(reverse("settings:add-policy"), {**RULES, name: value})

    assert answer.status_code == 422
    assert problem in answer.content.decode()
    assert not PolicyVersion.objects.exists()


def test_policy_is_tried_on_a_plan(as_viewer, plan):
    make_policy("shop", cluster="shop", approvals=3)
    url = reverse("settings:show-policy", args=["shop"])

    page = as_viewer.get(url, {"review": plan.review.number, "plan": 1}).content.decode()
    missing = as_viewer.get(url, {"review": 999, "plan": 1}).content.decode()

    assert "This policy applies to the plan" in page
    assert "3 approvals" in page
    assert "Plan not found." in missing


def test_archiving_a_policy_asks_first(as_dana):
    make_policy("old")

    page = reading.read(as_dana, reverse("settings:show-policy", args=["old"]))
    (asking,) = [d for d in reading.find_all(page, "details") if "asks-first" in (reading.attribute(d, "class") or "")]
    (form,) = reading.find_all(asking, "form")

    assert (reading.attribute(asking, "open"), reading.text_of(reading.find_all(asking, "summary")[0])) == (
        None,
        "Archive policy…",
    )
    assert reading.attribute(form, "action") == reverse("settings:archive-policy", args=["old"])
    assert "Affected plans must be re-planned." in reading.text_of(form)


def test_retired_policy_says_so(as_dana):
    make_policy("old")
    as_dana.post(reverse("settings:archive-policy", args=["old"]))

    assert "no longer applies" in as_dana.get(reverse("settings:show-policy", args=["old"])).content.decode()
    assert "No policies yet" in as_dana.get(reverse("settings:list-policies")).content.decode()


def test_calendar_tells_windows_and_freezes(as_dana, as_viewer):
    as_dana.post(reverse("settings:add-policy"), RULES)

    page = as_viewer.get(reverse("settings:show-calendar")).content.decode()

    assert "Sun 20 Dec 2026 18:00" in page
    assert "Holidays" in page
    assert "Mon-Fri 09:00-17:00 Europe/Berlin" in page


def test_empty_settings_say_so(as_viewer):
    for name, text in (
        ("list-policies", "No policies yet"),
        ("show-calendar", "No freezes"),
        ("list-teams", "No teams yet"),
    ):
        assert text in as_viewer.get(reverse(f"settings:{name}")).content.decode()


def test_team_is_made_filled_and_granted(as_dana, bob):
    as_dana.post(reverse("settings:add-team"), {"slug": "sre", "name": "Site reliability"})
    as_dana.post(reverse("settings:add-member", args=["sre"]), {"person": "bob"})
    as_dana.post(
        reverse("settings:grant-to-team", args=["sre"]),
        {"role": "operator", "cluster_pattern": "prod-*", "namespace_pattern": "*"},
    )

    page = as_dana.get(reverse("settings:show-team", args=["sre"])).content.decode()
    assert all(text in page for text in ("bob", "operator", "prod-*: every namespace"))
    grant = Grant.objects.get(team__slug="sre")
    assert (grant.is_cluster_scoped, grant.by.username) == (False, "dana")
    as_dana.post(reverse("settings:end-member", args=["sre", TeamMember.objects.get().pk]))
    assert TeamMember.objects.get().ended_at is not None
    as_dana.post(reverse("settings:archive-team", args=["sre"]))
    assert Team.objects.get(slug="sre").archived_at is not None


def test_only_a_person_who_sees_nothing_is_said_to_see_nothing(as_dana):
    erin = make_person("erin")
    as_dana.post(reverse("settings:add-team"), {"slug": "sre", "name": "Site reliability"})

    def read(name: str, slug: str) -> bool:
        page = as_dana.get(reverse(f"settings:{name}", args=[slug])).content.decode()
        return "see anything yet" in page

    assert (read("show-team", "sre"), read("show-person", "erin")) == (False, True)
    User.objects.filter(pk=erin.pk).update(is_superuser=True)
    assert not read("show-person", "erin")


def test_account_is_made_granted_linked_and_closed(as_dana, bob):
    made = as_dana.post(reverse("settings:add-person"), {"name": "erin", "email": "erin@example.org"})
    assert (made.status_code, "data-claim" in made.content.decode()) == (200, True)
    scope = {"role": "viewer", "cluster_pattern": "*", "namespace_pattern": "shop"}
    as_dana.post(reverse("settings:grant-to-person", args=["erin"]), scope)
    as_dana.post(reverse("settings:link-accounts", args=["erin"]), {"person": "bob"})

    page = as_dana.get(reverse("settings:show-person", args=["erin"])).content.decode()
    assert all(text in page for text in ("erin@example.org", "every cluster: shop", "Linked with bob"))
    as_dana.post(reverse("settings:unlink-account", args=["erin"]))
    assert "No linked accounts." in as_dana.get(reverse("settings:show-person", args=["erin"])).content.decode()
    as_dana.post(reverse("settings:end-grant", args=[Grant.objects.get(person__username="erin").pk]))
    as_dana.post(reverse("settings:set-active", args=["erin"]))
    erin = User.objects.get(username="erin")
    assert (erin.is_active, Grant.objects.filter(person=erin, ended_at=None).exists()) == (False, False)


def test_person_is_no_choice_to_link_with_itself(as_dana, bob):
    """Nor is an account that is linked already."""
    make_person("erin")
    address = reverse("settings:show-person", args=["bob"])
    assert find_choices(as_dana, address) == {"dana", "erin"}

    as_dana.post(reverse("settings:link-accounts", args=["bob"]), {"person": "erin"})
    assert find_choices(as_dana, address) == {"dana"}
    assert as_dana.post(reverse("settings:link-accounts", args=["bob"]), {"person": "bob"}).status_code == 422


def find_choices(browser, address):
    """The accounts that the form of linked accounts offers."""
    section = browser.get(address).content.decode().partition('id="human"')[2].partition("</section>")[0]
    return set(re.findall(r'<option value="([^"]+)"', section))


def test_name_that_is_taken_is_refused(as_dana, bob):
    answer = as_dana.post(reverse("settings:add-person"), {"name": "bob", "email": ""})

    assert (answer.status_code, "Account bob already exists" in answer.content.decode()) == (422, True)


def test_nobody_grants_to_themselves_or_leaves_nobody(as_dana, dana):
    scope = {"role": "approver", "cluster_pattern": "*", "namespace_pattern": "*", "is_cluster_scoped": "on"}

    assert as_dana.post(reverse("settings:grant-to-person", args=["dana"]), scope).status_code == 403
    assert as_dana.post(reverse("settings:set-active", args=["dana"])).status_code == 403
    assert as_dana.post(reverse("settings:end-grant", args=[Grant.objects.get(person=dana).pk])).status_code == 409
    assert Grant.objects.get(person=dana).ended_at is None


def test_auditor_reads_people_and_changes_nothing(as_auditor, bob):
    assert as_auditor.get(reverse("settings:list-people")).status_code == 200
    assert as_auditor.get(reverse("settings:show-person", args=["bob"])).status_code == 200
    assert as_auditor.post(reverse("settings:set-active", args=["bob"])).status_code == 403
    assert as_auditor.post(reverse("settings:add-policy"), RULES).status_code == 403


@pytest.mark.parametrize("name", ["list-people", "add-person", "add-policy", "add-team"])
def test_settings_of_administrators_are_closed_to_members(as_bob, name):
    assert as_bob.get(reverse(f"settings:{name}")).status_code == 403


@pytest.mark.parametrize("path", ["people/nobody/", "teams/nobody/", "policies/nobody/"])
def test_missing_ones_are_not_there(as_dana, path):
    assert as_dana.get(f"/settings/{path}").status_code == 404


def test_built_in_rules_are_shown_while_there_is_no_policy(as_viewer):
    page = as_viewer.get(reverse("settings:list-policies")).content.decode().partition("Built-in rules</h2>")[2]

    assert [text for text in ("1 approval", "every author", "no expiry", "always") if text not in page] == []
    assert (page.count("Allowed results"), page.count("Change windows")) == (1, 1)
