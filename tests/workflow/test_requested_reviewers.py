"""Requested reviewers: who can be asked, who is notified, and that a request gives no right and blocks nothing."""

import pytest
from django.utils import timezone

from applyviz.records.enums import AuditAction, NotificationKind, Role
from applyviz.records.models import AuditEntry, Delivery, Grant, Notification, Review, Webhook
from applyviz.records.sealing import Unsealed
from applyviz.workflow import notifications, runs
from applyviz.workflow.approvals import approving, quorum, requested_reviewers
from applyviz.workflow.approvals.plan_facts import find_plan_facts
from applyviz.workflow.foundation.errors import (
    NotAllowedError,
    NotPossibleError,
    NotValidError,
    NotVisibleError,
    WorkflowError,
)
from applyviz.workflow.notifications import inbox
from applyviz.workflow.notifications.texts import render_sentence
from applyviz.workflow.plans import planner, reviews
from tests.builders import grant_role, link_rows, make_person, make_policy, take_roles
from tests.stories import config_map

pytestmark = pytest.mark.django_db
ASKED, WANTED = NotificationKind.REVIEW_REQUESTED, NotificationKind.NEEDS_YOU


@pytest.fixture
def carol(db):
    return make_person("carol", Role.APPROVER)


def ask(plan, team, *people):
    requested_reviewers.request_reviewers(plan.review, by=team.alice, accounts=[one.pk for one in people])
    return Review.objects.get(pk=plan.review_id)


def told(person):
    notifications.send_pending()
    return [one.notification_event.event for one in Notification.objects.filter(person=person).order_by("pk")]


def replan(plan, team):
    reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(plan.review.latest_plan.pk)
    return plan.review.latest_plan


def stands(plan, reader):
    plan = planner.get_plan(plan.number, review_number=plan.review.number, for_user=reader)
    return [(one.name, one.has_approved, one.can_approve) for one in find_plan_facts([plan], reader)[plan.pk].requested]


def test_author_asks_by_name_changes_and_withdraws(team, carol):
    plan = team.plan(config_map(a="1"))

    assert ask(plan, team, team.bob).requested_reviewers == [team.bob.pk]
    assert stands(plan, team.alice) == [("bob", False, True)]
    assert ask(plan, team, carol).requested_reviewers == [carol.pk]
    assert ask(plan, team).requested_reviewers == []
    assert stands(plan, team.alice) == []

    entries = AuditEntry.objects.filter(action=AuditAction.REVIEWERS_CHANGED).order_by("pk")
    assert [(e.actor_name, e.review, e.plan, e.detail) for e in entries] == [
        ("alice", 1, 1, {"requested": ["bob"], "withdrawn": []}),
        ("alice", 1, 1, {"requested": ["carol"], "withdrawn": ["bob"]}),
        ("alice", 1, 1, {"requested": [], "withdrawn": ["carol"]}),
    ]


def test_the_same_request_again_records_nothing(team):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob)
    ask(plan, team, team.bob)

    assert AuditEntry.objects.filter(action=AuditAction.REVIEWERS_CHANGED).count() == 1


@pytest.mark.long
def test_whoever_was_asked_and_approved_is_named_so_also_after_the_run(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob, carol)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    assert stands(plan, team.alice) == [("bob", True, True), ("carol", False, True)]

    team.work(runs.start_run(plan, by=team.bob, digest=plan.digest))
    assert stands(plan, team.alice) == [("bob", True, True), ("carol", False, True)]


@pytest.mark.long
def test_people_are_awaited_only_while_an_approval_is_missing(team, carol):
    ask(team.plan(config_map(a="1")), team, team.bob, carol)
    plan = planner.get_plan(1, review_number=1, for_user=team.alice)
    assert find_plan_facts([plan], team.alice)[plan.pk].awaited == ("bob", "carol")

    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    plan = planner.get_plan(1, review_number=1, for_user=team.alice)
    assert find_plan_facts([plan], team.alice)[plan.pk].awaited == ()


# --- who is notified


def test_whoever_is_asked_is_notified_by_name_and_others_are_not_again(team, carol):
    plan = team.plan(config_map(a="1"))
    assert (told(team.bob), told(carol)) == ([WANTED], [WANTED])

    ask(plan, team, team.bob)

    assert (told(team.bob), told(carol)) == ([WANTED, ASKED], [WANTED])
    asked = inbox.list_notifications(for_user=team.bob).first()
    assert render_sentence(asked.notification_event) == "alice asks you to review plan 1 of “Change”"
    assert told(team.alice) == []


@pytest.mark.long
def test_a_later_plan_notifies_those_who_were_asked_and_nobody_else(team, carol):
    plan = team.plan(config_map(a="1"))
    told(team.bob)
    ask(plan, team, team.bob)
    told(team.bob)
    Notification.objects.all().delete()

    replan(plan, team)

    assert (told(team.bob), told(carol)) == ([ASKED], [])


@pytest.mark.long
def test_request_while_the_plan_is_created_notifies_once_it_is(team, carol):
    review = team.review({"0.yaml": config_map(a="1")})
    requested_reviewers.request_reviewers(review, by=team.alice, accounts=[team.bob.pk])
    assert told(team.bob) == []

    planner.make_plan(review.plans.get().pk)

    assert (told(team.bob), told(carol)) == ([ASKED], [])


@pytest.mark.long
def test_everyone_eligible_is_notified_when_those_asked_are_too_few(team, carol):
    make_policy("two", approvals=2)
    review = team.review({"0.yaml": config_map(a="1")})
    requested_reviewers.request_reviewers(review, by=team.alice, accounts=[team.bob.pk])
    planner.make_plan(review.plans.get().pk)

    assert (told(team.bob), told(carol)) == ([ASKED], [WANTED])


@pytest.mark.long
def test_two_accounts_of_one_person_are_one_approval(team, carol):
    make_policy("two", approvals=2)
    dave = make_person("dave", Role.APPROVER)
    link_rows("robert", team.bob, carol)
    review = team.review({"0.yaml": config_map(a="1")})
    requested_reviewers.request_reviewers(review, by=team.alice, accounts=[team.bob.pk, carol.pk])
    planner.make_plan(review.plans.get().pk)

    assert told(dave) == [WANTED]


@pytest.mark.long
def test_withdrawn_request_asks_everyone_who_was_not_notified(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob)
    notifications.send_pending()
    Notification.objects.all().delete()
    second = replan(plan, team)
    assert (told(team.bob), told(carol)) == ([ASKED], [])

    ask(second, team)

    assert (told(team.bob), told(carol)) == ([ASKED], [WANTED])


@pytest.mark.long
def test_somebody_who_approved_already_is_not_asked_again(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    told(team.bob)
    Notification.objects.all().delete()

    assert replan(plan, team).digest == plan.digest  # the approval is kept
    assert ASKED not in told(team.bob)


@pytest.mark.long
def test_webhooks_learn_who_was_asked_and_of_a_plan_once(team, carol):
    admin = make_person("root", Role.ADMINISTRATOR)
    Webhook.objects.create(
        name="chat",
        url="https://chat.example/",
        secret=Unsealed.of_bytes(b"k" * 20),
        events=[],
        created_at="2026-01-01T00:00:00Z",
        created_by=admin,
    )
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob)
    notifications.send_pending()
    sent = [one.notification_event for one in Delivery.objects.order_by("pk")]
    assert [(one.event, one.facts.get("requested")) for one in sent] == [(WANTED, ["bob"]), (ASKED, ["bob"])]
    Delivery.objects.all().delete()

    replan(plan, team)
    notifications.send_pending()
    assert [one.notification_event.event for one in Delivery.objects.order_by("pk")] == [WANTED]


# --- attacks: a request gives no right and blocks nothing


def test_account_without_scope_can_neither_be_asked_nor_told_apart_from_none(team):
    plan = team.plan(config_map(a="1"))
    charlie = make_person("charlie")
    elsewhere = make_person("erin")
    grant_role(elsewhere, Role.APPROVER, namespace="another")
    viewer, program = make_person("vera", Role.VIEWER), 4711

    for account in (charlie.pk, elsewhere.pk, viewer.pk, program, team.alice.pk, 0, -1):
        with pytest.raises(NotValidError, match="only people who may approve this review can be asked"):
            requested_reviewers.request_reviewers(plan.review, by=team.alice, accounts=[account])
    for name in ("charlie", "erin", "nobody-there"):
        with pytest.raises(NotValidError, match=f"no person named {name} may approve this review"):
            requested_reviewers.find_accounts(plan.review, [name])
    assert Review.objects.get().requested_reviewers == []


def test_ids_written_into_the_database_show_and_notify_nothing(team):
    charlie, elsewhere = make_person("charlie"), make_person("erin")
    grant_role(elsewhere, Role.APPROVER, namespace="another")
    review = team.review({"0.yaml": config_map(a="1")})
    forged = [charlie.pk, elsewhere.pk, team.alice.pk, "x", None, 9999, True]
    Review.objects.filter(pk=review.pk).update(requested_reviewers=forged)

    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()

    assert (told(charlie), told(elsewhere), told(team.alice)) == ([], [], [])
    assert told(team.bob) == [WANTED]  # those who were written there are not enough for anything
    for person in (charlie, elsewhere):
        with pytest.raises(NotVisibleError):
            planner.get_plan(1, review_number=1, for_user=person)
        with pytest.raises(WorkflowError):
            approving.approve_plan(plan, by=person, digest=plan.digest)
    assert [(name, may) for name, _done, may in stands(plan, team.alice)] == [
        ("alice", False),
        ("charlie", False),
        ("erin", False),
    ]


@pytest.mark.parametrize("forged", [{"bob": 1}, "bob", 7, [[1]]])
def test_forged_shape_is_nobody(team, forged):
    plan = team.plan(config_map(a="1"))
    Review.objects.filter(pk=plan.review_id).update(requested_reviewers=forged)

    assert stands(plan, team.alice) == []


def test_request_changes_nothing_about_who_approves_and_runs(team, carol):
    plan = team.plan(config_map(a="1"))
    before = quorum.count_quorum(plan), find_plan_facts([plan], carol)[plan.pk].next
    ask(plan, team, team.bob)
    plan = planner.get_plan(1, review_number=1, for_user=carol)
    assert (quorum.count_quorum(plan), find_plan_facts([plan], carol)[plan.pk].next) == before

    assert team.work(runs.approve_and_run(plan, by=carol, digest=plan.digest)).state == "applied"  # nobody asked carol


def test_viewer_and_approver_cannot_request_and_outsider_sees_nothing(team):
    plan = team.plan(config_map(a="1"))
    vera, charlie = make_person("vera", Role.VIEWER), make_person("charlie")

    for person in (vera, team.bob):
        with pytest.raises(NotAllowedError, match="needs the role author"):
            requested_reviewers.request_reviewers(plan.review, by=person, accounts=[team.bob.pk])
    with pytest.raises(NotVisibleError):
        requested_reviewers.request_reviewers(plan.review, by=charlie, accounts=[team.bob.pk])


def test_whoever_loses_the_right_can_no_longer_approve_and_is_not_notified(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, team.bob)
    notifications.send_pending()
    Notification.objects.all().delete()
    take_roles(team.bob)

    assert stands(plan, team.alice) == [("bob", False, False)]
    replan(plan, team)
    assert (told(team.bob), told(carol)) == ([], [WANTED])

    ask(plan, team, team.bob, carol)  # the request may stay, beside another
    ask(plan, team, carol)
    with pytest.raises(NotValidError):
        ask(plan, team, team.bob)


def test_deactivated_account_can_no_longer_approve(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, carol)
    carol.is_active = False
    carol.save(update_fields=["is_active"])

    assert stands(plan, team.alice) == [("carol", False, False)]


@pytest.mark.long
def test_editor_of_the_plan_can_no_longer_approve(team, carol):
    plan = team.plan(config_map(a="1"))
    ask(plan, team, carol)
    grant_role(carol, Role.AUTHOR)
    reviews.replan_review(plan.review, by=carol)
    planner.make_plan(plan.review.latest_plan.pk)

    assert stands(plan.review.latest_plan, team.alice) == [("carol", False, False)]
    assert ASKED not in told(carol)


def test_forged_grant_is_no_right_to_be_asked(team):
    plan = team.plan(config_map(a="1"))
    erin = make_person("erin", Role.VIEWER)
    Grant.objects.create(
        role=Role.APPROVER, person=erin, cluster_pattern="*", namespace_pattern="*", since=timezone.now()
    )

    with pytest.raises(NotValidError):
        ask(plan, team, erin)


def test_closed_review_has_no_requests(team):
    plan = team.plan(config_map(a="1"))
    reviews.close_review(plan.review, by=team.alice)

    with pytest.raises(NotPossibleError, match="this review is closed"):
        ask(plan, team, team.bob)


def test_request_has_an_end(team):
    plan = team.plan(config_map(a="1"))

    with pytest.raises(NotValidError, match="at most 20"):
        requested_reviewers.request_reviewers(plan.review, by=team.alice, accounts=range(21))
