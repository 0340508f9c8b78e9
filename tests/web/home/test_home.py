"""Home: what waits for whom, and the theme."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.deletions import DELETED
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.records.enums import AuditAction, PlanState
from applyviz.records.models import ChangeRequest, Cluster, Plan, Review
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.audit import trail
from applyviz.workflow.ops import demo
from applyviz.workflow.policies import Freeze
from tests.builders import make_approval, make_policy
from tests.web import builders, rows

URL = reverse("home")


def section(page: str, title: str) -> str:
    return page.partition(f">{title}</h2>")[2].partition("</section>")[0]


def test_approver_sees_what_waits_for_them(as_bob, as_alice, plan):
    for_bob = section(as_bob.get(URL).content.decode(), "Needs your attention")
    for_alice = section(as_alice.get(URL).content.decode(), "Waiting on others")

    assert "needs your approval" in for_bob
    assert "needs approval" in for_alice


def test_author_sees_their_conflicts(as_alice, refused_plan):
    assert "1 object with unresolved conflicts" in section(as_alice.get(URL).content.decode(), "Needs your attention")


def test_runs_are_listed_and_home_moves_while_one_goes_on(as_viewer, run):
    page = as_viewer.get(URL).content.decode()
    fragment = as_viewer.get(URL, headers={"HX-Request": "true"}).content.decode()

    assert "run 1" in section(page, "Running now")
    assert ('hx-trigger="every' in fragment, "<html" in fragment) == (True, False)


def test_finished_run_is_among_the_last(as_viewer, plan, bob):
    rows.make_run(plan, bob, state="applied")

    page = as_viewer.get(URL).content.decode()

    assert "Applied" in section(page, "Recent runs")
    assert 'hx-trigger="every' not in page


def test_empty_home_says_so(as_viewer):
    page = as_viewer.get(URL).content.decode()

    assert "You're all caught up." in page
    assert "No runs yet." in page


def test_home_is_hidden_from_outsiders(as_charlie):
    assert as_charlie.get(URL).status_code == 404


def test_visitors_sign_in_first(client, db):
    assert client.get(URL).headers["Location"] == "/login/?next=/"


def test_theme_is_remembered_and_goes_back(as_viewer):
    answer = as_viewer.post(reverse("set-theme"), {"theme": "dark", "next": "/history/"})

    assert answer.headers["Location"] == "/history/"
    assert 'data-theme="dark"' in as_viewer.get(URL).content.decode()


def test_theme_leads_nowhere_else(as_viewer):
    answer = as_viewer.post(reverse("set-theme"), {"theme": "pink", "next": "https://evil.example/"})

    assert answer.headers["Location"] == "/"
    assert "theme" not in answer.cookies


@pytest.mark.parametrize("count", [1, 3])
def test_home_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)])

    with django_assert_num_queries(23):
        as_viewer.get(URL)


@pytest.mark.parametrize("count", [1, 3])
def test_home_asks_whoever_approves_and_applies_no_more_often_for_many_plans(
    as_bob, alice, bob, count, django_assert_num_queries
):
    """Each plan has risks to acknowledge, objects to view, approvals, or what only the audit log would remember."""
    risk = Risk(DELETED, RiskLevel.HIGH)
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    for _n in range(count):
        for risks in ((), (risk,)):
            plans = [rows.make_plan(alice, [replace(change, risks=risks)]) for _ in range(2)]
            Review.objects.filter(pk=plans[0].review_id).update(requested_reviewers=[bob.pk])
            make_approval(plans[1], bob, created_at=rows.NOW)

    with django_assert_num_queries(32):
        as_bob.get(URL)


@pytest.mark.parametrize("count", [1, 3])
def test_home_reads_plans_that_keep_nothing_of_their_secrets_together(
    as_viewer, alice, count, django_assert_num_queries
):
    for _n in range(count):
        plan = rows.make_plan(alice, [builders.build_change()], state=PlanState.PLANNING)
        Plan.objects.filter(pk=plan.pk).update(state=PlanState.FAILED)

    with django_assert_num_queries(17):
        as_viewer.get(URL)


@pytest.mark.parametrize("count", [1, 3])
def test_home_asks_once_as_whom_somebody_is_known_to_a_cluster(as_viewer, alice, count, django_assert_num_queries):
    secret = ObjectRef(GroupVersionKind("", "v1", "Secret"), "shop", "login")
    for _n in range(count):
        rows.make_plan(alice, [replace(builders.build_change(), ref=secret, operation=Operation.UPDATE)])

    with django_assert_num_queries(23):
        as_viewer.get(URL)


def test_home_asks_for_an_acknowledgment_before_an_approval(as_bob, alice):
    risk = Risk(DELETED, RiskLevel.HIGH)
    rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, risks=(risk,))])

    page = as_bob.get(URL).content.decode()

    assert "1 risk to acknowledge" in page
    assert "needs your approval" not in page


def test_home_waits_for_an_approval_only_where_it_can_be_given(as_bob, alice):
    rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())])
    assert "needs your approval" in section(as_bob.get(URL).content.decode(), "Needs your attention")

    make_policy(may_run_estimated=False)
    page = as_bob.get(URL).content.decode()

    assert "the policy changed since this plan was created: re-plan" in section(page, "Waiting on others")
    assert "needs your approval" not in page


def test_home_asks_an_approver_to_open_high_risk_objects_first(as_bob, bob, alice):
    risk = Risk(DELETED, RiskLevel.HIGH)
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, risks=(risk,))])
    acknowledgments.acknowledge_risks(plan, DELETED, by=bob, positions=(0,))

    page = as_bob.get(URL).content.decode()

    assert "view 1 high-risk object first" in section(page, "Needs your attention")
    assert "needs your approval" not in page


def test_home_says_whose_turn_it_is(as_alice, as_bob, bob, alice, plan):
    def whose(number: int) -> tuple[bool, ...]:
        pages = (browser.get(URL).content.decode() for browser in (as_alice, as_bob))
        return tuple(f"/reviews/{number}/" in section(page, "Needs your attention") for page in pages)

    helms = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)], applied_by="helm")
    failed = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)])
    rows.make_run(failed, bob, state="stale")
    assert [whose(p.review.number) for p in (plan, helms, failed)] == [(False, True), (True, False), (True, False)]
    page = as_alice.get(URL).content.decode()
    assert [text for text in ("applied by Helm", "run 1: stale · re-plan") if text not in page] == []

    ChangeRequest.objects.create(plan=plan, digest=plan.digest, by=bob, note="Rename it.", created_at=rows.NOW)

    assert whose(plan.review.number) == (True, False)
    assert "changes requested by bob" in as_alice.get(URL).content.decode()


def test_home_does_not_wait_for_an_approval_that_would_not_count(as_bob, plan):
    make_policy(approvals=1, approving_team="platform")

    assert "needs your approval" not in as_bob.get(URL).content.decode()


def test_who_has_no_role_is_told_so_and_not_sent_in_circles(as_charlie):
    page = as_charlie.get(URL)

    assert page.status_code == 404
    assert "You don't have a role yet" in page.content.decode()
    assert "Go home" not in page.content.decode()


@pytest.mark.parametrize("name", ["account", "change-password"])
def test_account_without_a_role_has_its_own_pages(as_charlie, client, name):
    page = as_charlie.get(reverse(name))

    assert (page.status_code, client.get(reverse(name)).status_code) == (200, 302)


def test_home_says_why_an_approved_plan_is_not_applied_now(as_bob, bob, alice):
    make_policy(freezes=(Freeze("2020-01-01T00:00", "2099-01-04T08:00", "UTC", "Holidays"),))
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())])
    make_approval(plan, bob, created_at=rows.NOW)

    others = section(as_bob.get(URL).content.decode(), "Waiting on others")

    assert "approved · changes are frozen until 4 Jan 2099 08:00 UTC: Holidays" in others


@pytest.fixture
def story(settings, alice):
    """The two plans of the demo, the second one with a conflict."""
    settings.APPLYVIZ_IS_PERSONAL = True
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.BLOCKED)])
    Cluster.objects.update(slug=demo.SLUG)
    Review.objects.filter(pk=plan.review_id).update(title=demo.SECOND)
    return plan


def find_steps(page: str) -> list[tuple[str, str]]:
    """Each step with its state."""
    card = page.partition("h-first-steps")[2].partition("</section>")[0]
    return re.findall(r'<li(?: class="(\w+)")?.*?<b>([^<]+)</b>', card, re.DOTALL)


def test_first_steps_lead_through_the_demo(as_alice, story):
    page = as_alice.get(URL).content.decode()

    assert find_steps(page) == [
        ("now", "Resolve the conflict"), ("", "Approve and apply the plan"), ("", "Watch the run"),
        ("", "Use your own cluster"),
    ]  # fmt: skip
    assert reverse("reviews:show-plan", args=[story.review.number, story.number]) in page


def test_first_steps_follow_what_was_done(as_viewer, story, bob):
    run = rows.make_run(story, bob, state="applied")

    page = as_viewer.get(URL).content.decode()

    assert [state for state, _title in find_steps(page)] == ["now", "done", "done", ""]
    assert run.number == 1


def test_first_steps_are_hidden_by_a_click(as_alice, story):
    answer = as_alice.post(reverse("hide-first-steps"))

    assert answer.headers["Location"] == URL
    assert "h-first-steps" not in as_alice.get(URL).content.decode()


def test_team_installation_shows_no_first_steps(as_alice, story, settings):
    settings.APPLYVIZ_IS_PERSONAL = False

    assert "h-first-steps" not in as_alice.get(URL).content.decode()


def test_home_names_who_requested_changes_by_requests_that_are_gone(as_alice, alice, bob):
    plans = [rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)]) for _ in range(2)]
    trail.record(AuditAction.CHANGES_REQUESTED, by=bob, about=trail.AuditSubject.of_plan(plans[0]))

    page = as_alice.get(URL).content.decode()

    assert page.count("changes requested by bob") == 1
