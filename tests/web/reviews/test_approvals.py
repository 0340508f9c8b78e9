"""Agreeing in the pages: proof before danger, requests for changes, running without approval."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, Approval, AuditEntry, ChangeRequest, EmergencyApply, ObjectChange, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.policies import Freeze
from tests.builders import grant_role, make_person, make_policy, open_dangers
from tests.web import builders, reading, rows


@pytest.fixture
def grave_plan(alice, bob):
    """One object that belongs to the rights of a namespace; Bob has looked at it."""
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
    plan = rows.make_plan(alice, [change], state="planning")
    ObjectChange.objects.filter(plan=plan).update(risk_levels=[["rbac", "high"]])
    Plan.objects.filter(pk=plan.pk).update(state="complete", digest="7" * 64, policy_version="built-in@1")
    plan.refresh_from_db()
    open_dangers(plan, bob)
    return plan


def url(plan, name="confirm-plan") -> str:
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def with_password(person: User) -> User:
    person.set_password("long enough to be good")
    person.save()
    return person


def sign_in(name: str, password: str) -> Client:
    browser = Client()
    browser.post(reverse("login"), {"username": name, "password": password})
    return browser


@pytest.fixture
def as_dana(db):
    person = with_password(User.objects.create_user("dana"))
    grant_role(person, "break-glass")
    grant_role(person, "administrator")
    browser = Client()
    browser.force_login(person)
    return browser


def test_risky_plan_asks_for_the_password(as_bob, bob, grave_plan, time_machine):
    with_password(bob)
    time_machine.move_to("2026-11-21T08:00:00+00:00", tick=False)
    as_bob.force_login(bob)
    given = {"digest": grave_plan.digest, "then": "wait"}

    assert "confirm your password" in as_bob.get(url(grave_plan)).content.decode()
    assert as_bob.post(url(grave_plan), given).status_code == 422
    assert as_bob.post(url(grave_plan), {**given, "password": "guess"}).status_code == 422
    assert Approval.objects.count() == 0
    early = as_bob.post(url(grave_plan), {**given, "password": "long enough to be good"})
    assert (early.status_code, early["Retry-After"], Approval.objects.count()) == (429, "1", 0)
    time_machine.shift(1)
    assert as_bob.post(url(grave_plan), {**given, "password": "long enough to be good"}).status_code == 302
    assert Approval.objects.count() == 1


def test_password_that_is_asked_for_is_not_called_optional(as_bob, bob, grave_plan):
    with_password(bob)
    as_bob.force_login(bob)

    page = reading.read(as_bob, url(grave_plan))

    labels = [reading.text_of(label) for label in reading.find_all(page, "label")]
    assert [text for text in labels if "password" in text] == ["Your password"]


def test_plan_with_an_invalid_document_cannot_be_approved(as_bob, bob, alice):
    problem = {"reason": "apiVersion not set", "file": "flags.yaml", "line": 7, "column": 1}
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
    plan = rows.make_plan(alice, [change], problems=(problem,))
    open_dangers(plan, bob)

    page = as_bob.get(url(plan)).content.decode()
    as_bob.post(url(plan), {"digest": plan.digest, "then": "wait"})

    assert "1 problem in the manifests: fix or remove it and re-plan" in page
    assert Approval.objects.count() == 0


def test_fresh_sign_in_is_proof_enough_for_five_minutes(bob, grave_plan, time_machine):
    with_password(bob)
    time_machine.move_to("2026-11-21T08:00:00+00:00")
    browser = sign_in("bob", "long enough to be good")

    assert "confirm your password" not in browser.get(url(grave_plan)).content.decode()
    time_machine.move_to("2026-11-21T08:05:01+00:00")
    assert "confirm your password" in browser.get(url(grave_plan)).content.decode()


def test_applying_a_risky_plan_leads_over_the_proof(as_bob, bob, grave_plan):
    with_password(bob)
    as_bob.force_login(bob)
    as_bob.post(url(grave_plan), {"digest": grave_plan.digest, "then": "wait", "password": "long enough to be good"})
    session = as_bob.session
    session["proved_at"] = 1.0
    session.save()

    answer = as_bob.post(url(grave_plan, "apply-plan"), {"digest": grave_plan.digest})

    back = reverse("reviews:show-plan", args=[grave_plan.review.number, 1])
    assert answer.headers["Location"].startswith(reverse("reauthenticate"))
    assert not ApplyRun.objects.exists()
    proved = as_bob.post(answer.headers["Location"], {"password": "long enough to be good", "next": back})
    assert proved.headers["Location"] == back
    assert as_bob.post(url(grave_plan, "apply-plan"), {"digest": grave_plan.digest}).status_code == 302
    assert ApplyRun.objects.exists()


def test_proof_leads_to_no_other_site(as_bob, bob):
    with_password(bob)
    as_bob.force_login(bob)

    answer = as_bob.post(
        reverse("reauthenticate"), {"password": "long enough to be good", "next": "https://evil.example/"}
    )

    assert answer.headers["Location"] == "/"


def test_sign_in_is_delayed_and_says_the_same_for_every_name(bob, time_machine):
    with_password(bob)
    time_machine.move_to("2026-11-21T08:00:00+00:00", tick=False)
    said = []
    for name in ("bob", "nobody"):
        answers = [Client().post(reverse("login"), {"username": name, "password": "guess"}) for _ in range(2)]
        said.append([(a.status_code, a.get("Retry-After"), a.content.decode().count("Wait 1 s")) for a in answers])
        assert "Name and password do not match." in answers[0].content.decode()

    assert said == [[(200, None, 0), (429, "1", 1)]] * 2
    refused = Client().post(reverse("login"), {"username": "bob", "password": "long enough to be good"})
    assert "_auth_user_id" not in refused.client.session
    assert AuditEntry.objects.filter(action="person.sign_in_failed").count() == 2


def test_changes_are_asked_for_and_taken_back(as_bob, plan):
    answer = as_bob.post(url(plan), {"digest": plan.digest, "then": "changes", "note": "two replicas"})

    assert answer.status_code == 302
    page = as_bob.get(answer.headers["Location"]).content.decode()
    assert "bob requests changes" in page
    assert "two replicas" in page
    as_bob.post(url(plan, "withdraw-request"))
    assert ChangeRequest.objects.get().withdrawn_at is not None


def test_asking_for_changes_needs_words(as_bob, plan):
    answer = as_bob.post(url(plan), {"digest": plan.digest, "then": "changes", "note": ""})

    assert answer.status_code == 422
    assert not ChangeRequest.objects.exists()


def test_confirm_names_policy_and_who_still_may(as_bob, alice):
    make_policy("two", approvals=2)
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    plan = rows.make_plan(alice, [change], state="planning")
    bound = {"policy_version": "two@1", "policy_digest": policies.find_policy(plan).digest}
    Plan.objects.filter(pk=plan.pk).update(state="complete", digest="7" * 64, **bound)
    grant_role(User.objects.create_user("carol"), "approver")

    page = as_bob.get(url(plan)).content.decode()

    assert all(text in page for text in ("two@1", "0 of 2 approvals", "eligible: bob, carol", "Rollback"))
    assert "Approve and apply" not in page


def test_glass_is_broken_loudly(as_dana, as_viewer, plan):
    page = as_dana.get(url(plan, "emergency-apply"))
    given = {"digest": plan.digest, "reason": "shop is down", "ticket": "INC-7", "password": "long enough to be good"}

    answer = as_dana.post(url(plan, "emergency-apply"), given)

    assert "Emergency apply" in page.content.decode()
    run = ApplyRun.objects.get()
    assert answer.headers["Location"] == reverse("runs:show-run", args=[run.number])
    assert EmergencyApply.objects.get().by_name == "dana"
    for address in (answer.headers["Location"], url(plan, "show-plan")):
        assert "this plan ran without the required approvals" in as_viewer.get(address).content.decode()
    assert "emergency apply" in as_viewer.get("/").content.decode()


@pytest.mark.parametrize(("others", "sentence"), [((), "dana is notified"), (("erin",), "dana, erin are notified")])
def test_glass_says_who_is_notified(as_dana, plan, others, sentence):
    for name in others:
        make_person(name, Role.ADMINISTRATOR)

    assert sentence in reading.text_of(reading.read(as_dana, url(plan, "emergency-apply")))


@pytest.mark.parametrize("values", [{"password": "guess"}, {"reason": ""}, {"ticket": ""}, {"digest": "other"}])
def test_glass_needs_everything(as_dana, plan, values):
    given = {"digest": plan.digest, "reason": "shop is down", "ticket": "INC-7", "password": "long enough to be good"}

    assert as_dana.post(url(plan, "emergency-apply"), {**given, **values}).status_code == 422
    assert not ApplyRun.objects.exists()


def test_glass_is_not_offered_without_its_right(as_bob, plan):
    assert as_bob.get(url(plan, "emergency-apply")).status_code == 403
    assert "Emergency apply" not in as_bob.get(url(plan, "show-plan")).content.decode()


def approve(browser, plan) -> None:
    assert browser.post(url(plan), {"digest": plan.digest, "then": "wait"}).status_code == 302


@pytest.fixture
def plan_under(alice, bob):
    """A plan made under a policy with these rules; Bob has looked at it."""

    def make(**rules) -> Plan:
        make_policy(**rules)
        change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
        plan = rows.make_plan(alice, [change], state="planning")
        bound = {"policy_version": "strict@1", "policy_digest": policies.find_policy(plan).digest}
        Plan.objects.filter(pk=plan.pk).update(state="complete", digest="8" * 64, **bound)
        plan.refresh_from_db()
        return plan

    return make


def test_approve_page_names_each_required_approval_and_what_is_missing(as_bob, plan_under):
    text = " ".join(as_bob.get(url(plan_under(approvals=2))).content.decode().split())

    assert "No approval required." not in text
    assert "0 of 2 approvals" in text


def test_approve_page_has_one_heading_and_names_the_review_once(as_bob, plan):
    page = reading.read(as_bob, url(plan))

    assert [reading.text_of(one) for one in reading.find_all(page, "h1")] == ["Approve plan 1"]
    assert reading.text_of(page).count(f"#{plan.review.number} {plan.review.title}") == 1
    assert "Review plan 1" not in reading.text_of(page)


def test_approve_page_warns_of_objects_that_were_not_viewed(as_bob, bob, plan):
    before = reading.text_of(reading.read(as_bob, url(plan)))
    viewed_objects.record_viewed(plan.changes.get(), plan, by=bob)

    assert "Viewed 0 of 1 · 1 object not viewed" in before
    assert "not viewed" not in reading.text_of(reading.read(as_bob, url(plan)))


def header_line(browser, plan) -> str:
    page = browser.get(url(plan, "show-plan")).content.decode()
    return page.partition('class="review-header"')[2].partition('class="brief"')[0]


def test_who_approved_is_told_what_is_missing_and_may_revoke(as_bob, plan_under):
    plan = plan_under(approvals=2)
    approve(as_bob, plan)

    page = as_bob.get(url(plan, "show-plan")).content.decode()

    assert "You approved this plan; 1 approval missing." in header_line(as_bob, plan)
    assert url(plan, "revoke-approval") in page
    as_bob.post(url(plan, "revoke-approval"))
    assert "Approve plan 1" in header_line(as_bob, plan)


def test_approval_that_would_not_count_is_told_so(as_bob, plan_under):
    plan = plan_under(approvals=1, approving_team="platform")

    assert "Your approval would not count: 1 approval from team platform missing." in header_line(as_bob, plan)


def test_expired_approval_is_told(as_bob, plan_under, move_clock):
    plan = plan_under(approval_hours=1)
    approve(as_bob, plan)
    move_clock(clock.now() + timedelta(hours=2))

    assert "The approval of bob expired" in as_bob.get(url(plan, "show-plan")).content.decode()


def test_request_for_changes_leads_the_author_to_other_manifests(as_alice, as_bob, bob, plan):
    open_dangers(plan, bob)
    as_bob.post(url(plan), {"digest": plan.digest, "then": "changes", "note": "Rename it."})

    assert "changes requested" in header_line(as_alice, plan)
    assert reverse("reviews:replace-manifests", args=[plan.review.number]) in header_line(as_alice, plan)


def test_frozen_plan_says_until_when_and_that_it_is_not_ready(as_bob, plan_under):
    plan = plan_under(freezes=(Freeze("2020-01-01T00:00", "2099-01-04T08:00", "UTC", "Holidays"),))
    approve(as_bob, plan)

    shown = header_line(as_bob, plan)

    assert (
        "changes are frozen until 4 Jan 2099 08:00 UTC: Holidays" in shown,
        "blocked by change window" in shown,
    ) == (True, True)
