"""Telling people: once, those whom it concerns, as they chose, in the product and by mail."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db.models import F
from django.utils import timezone

from applyviz.records.enums import NotificationKind, Role
from applyviz.records.models import ApplyRun, Notification, NotificationEvent
from applyviz.workflow import notifications, runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.notifications import choices, inbox
from applyviz.workflow.notifications.choices import NotificationChannels
from applyviz.workflow.notifications.mail import MOST_AN_HOUR
from applyviz.workflow.notifications.texts import render_sentence
from tests.builders import make_person, make_policy
from tests.stories import config_map

pytestmark = pytest.mark.django_db
SECRET = "a-secret-of-the-webhook"


@pytest.fixture
def admin(db):
    return make_person("root", Role.ADMINISTRATOR)


def told(person):
    return [one.notification_event.event for one in inbox.list_notifications(for_user=person).order_by("pk")]


def test_whole_job_tells_each_person_what_concerns_them_once(team):
    plan = team.plan(config_map(a="1"))
    notifications.send_pending()
    run = team.work(team.start(plan))
    notifications.send_pending()
    assert run.state == "applied"
    assert notifications.send_pending() == 0

    assert told(team.bob) == [NotificationKind.NEEDS_YOU, NotificationKind.RUN_FINISHED]
    assert told(team.alice) == [NotificationKind.APPROVED, NotificationKind.RUN_STARTED, NotificationKind.RUN_FINISHED]


@pytest.mark.long
def test_nobody_is_asked_for_a_plan_that_cannot_be_approved(team):
    team.apply(config_map(a="1"))
    notifications.send_pending()
    Notification.objects.all().delete()
    team.plan(config_map(a="1"))

    notifications.send_pending()

    assert told(team.bob) == []


def test_person_without_rights_there_is_told_nothing(team):
    charlie, vera = make_person("charlie"), make_person("vera", Role.VIEWER)
    team.plan(config_map(a="1"))

    notifications.send_pending()

    assert Notification.objects.filter(person__in=[charlie, vera]).count() == 0


@pytest.mark.long
def test_request_for_changes_and_dropped_approvals_are_told(team):
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {}})
    notifications.send_pending()

    from applyviz.engine.requests.options import ApplyOptions  # noqa: PLC0415 - used here alone
    from applyviz.workflow.plans import planner as plans  # noqa: PLC0415 - used here alone
    from applyviz.workflow.plans import reviews  # noqa: PLC0415 - used here alone

    reviews.replan_review(plan.review, by=team.alice, options=ApplyOptions(field_manager="another"))
    plans.make_plan(plan.review.latest_plan.pk)
    notifications.send_pending()
    latest = plan.review.latest_plan
    approving.request_changes(latest, by=team.bob, digest=latest.digest, note="why?")
    notifications.send_pending()

    assert NotificationKind.APPROVALS_DROPPED in told(team.bob)
    assert told(team.alice)[-2:] == [NotificationKind.APPROVALS_DROPPED, NotificationKind.CHANGES_REQUESTED]


def test_expiring_approval_is_told_once(team):
    make_policy("short", approval_hours=1)
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    notifications.send_pending()
    notifications.send_pending()

    assert told(team.bob).count(NotificationKind.APPROVALS_EXPIRING) == 1
    assert told(team.alice).count(NotificationKind.APPROVALS_EXPIRING) == 1


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("spoil", "event"),
    [
        (
            lambda team: team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {"a": "9"}}),
            NotificationKind.RUN_STALE,
        ),
        (
            lambda team: setattr(team.wire, "fault", lambda request, number: "refuse connection"),
            NotificationKind.RUN_FAILED,
        ),
        (lambda team: runs.cancel_run(ApplyRun.objects.latest("number"), by=team.bob), NotificationKind.RUN_CANCELED),
    ],
)
def test_run_that_did_not_apply_its_plan_says_why(team, spoil, event):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    spoil(team)
    team.work(run)

    notifications.send_pending()

    assert told(team.alice)[-1] == event


def test_notifications_are_read_by_their_owner_alone(team):
    team.plan(config_map(a="1"))
    notifications.send_pending()
    one = inbox.list_notifications(for_user=team.bob).get()
    assert inbox.count_unread(for_user=team.bob) == 1

    with pytest.raises(NotVisibleError):
        inbox.read_one(one.pk, by=team.alice)
    inbox.read_one(one.pk, by=team.bob)

    assert inbox.count_unread(for_user=team.bob) == 0


@pytest.mark.long
def test_reading_all_leaves_what_came_after_the_page(team):
    team.plan(config_map(a="1"))
    notifications.send_pending()
    newest = inbox.list_notifications(for_user=team.bob).first().pk
    team.plan(config_map(a="2"))
    notifications.send_pending()

    inbox.read_all(by=team.bob, up_to=newest)

    assert inbox.count_unread(for_user=team.bob) == 1


def test_choices_hold_and_passed_over_approval_is_always_shown(team):
    choices.choose(
        {
            NotificationKind.NEEDS_YOU: NotificationChannels(False, False),
            NotificationKind.EMERGENCY_APPLIED: NotificationChannels(False, False),
        },
        by=team.bob,
    )
    team.plan(config_map(a="1"))

    notifications.send_pending()

    assert told(team.bob) == []
    assert choices.list_choices(team.bob)[NotificationKind.EMERGENCY_APPLIED] == NotificationChannels(True, False)


def test_mail_goes_to_who_chose_it_once_and_holds_no_header_of_a_title(team, settings):
    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, "https://applyviz.example"
    team.bob.email = "bob@example.com"
    team.bob.save()
    plan = team.plan(config_map(a="1"))
    plan.review.title = "Upgrade\nBcc: x@example.com"
    plan.review.save()
    notifications.send_pending()
    pending = Notification.objects.get(person=team.bob)

    notifications.send_mail(pending.pk)
    notifications.send_mail(pending.pk)

    assert [m.to for m in mail.outbox] == [["bob@example.com"]]
    assert "\n" not in mail.outbox[0].subject
    assert f"https://applyviz.example/reviews/{plan.review.number}/" in mail.outbox[0].body
    assert Notification.objects.filter(mail_due_at__isnull=False).count() == 0


def test_mail_that_was_not_taken_is_tried_again_later(team, settings, monkeypatch):
    settings.APPLYVIZ_MAIL = True
    team.bob.email = "bob@example.com"
    team.bob.save()
    team.plan(config_map(a="1"))
    notifications.send_pending()
    pending = Notification.objects.get(person=team.bob)
    monkeypatch.setattr("django.core.mail.EmailMessage.send", lambda self: (_ for _ in ()).throw(OSError("refused")))

    notifications.send_mail(pending.pk)

    pending.refresh_from_db()
    assert pending.mail_due_at is not None
    assert (pending.mailed_at, pending.mail_attempts, pending.mail_due_at > timezone.now()) == (None, 1, True)


@pytest.mark.core(1)
@pytest.mark.parametrize("address", ["https://reviews.example", "https://example.com/run/", ""])
def test_mail_names_the_page_of_choices_wherever_the_installation_is(team, settings, address):
    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, address
    team.bob.email = "bob@example.com"
    team.bob.save()
    team.plan(config_map(a="1"))
    notifications.send_pending()

    notifications.send_mail(Notification.objects.get(person=team.bob).pk)

    assert f" {address.rstrip('/')}/notifications/choices/." in mail.outbox[0].body


def test_more_than_some_mails_an_hour_come_in_one(team, settings):
    settings.APPLYVIZ_MAIL = True
    team.bob.email = "bob@example.com"
    team.bob.save()
    now = timezone.now()
    for number in range(MOST_AN_HOUR + 3):
        facts = {"plan": {"number": number}, "review": {"number": 1, "title": "Storm\nBcc: x@example.com"}}
        notification_event = NotificationEvent.objects.create(
            key=f"storm:{number}", event=NotificationKind.NEEDS_YOU, facts=facts, at=now
        )
        Notification.objects.create(notification_event=notification_event, person=team.bob, mail_due_at=now)
    for one in Notification.objects.order_by("pk"):
        notifications.send_mail(one.pk)

    waiting = Notification.objects.filter(mailed_at=None)
    assert (len(mail.outbox), waiting.count()) == (MOST_AN_HOUR, 3)
    assert waiting.filter(mail_due_at__gt=timezone.now() + timedelta(minutes=59)).count() == 3
    assert [one.mail_attempts for one in waiting] == [0, 0, 0]

    hour = timedelta(hours=1, seconds=1)
    Notification.objects.exclude(mailed_at=None).update(mailed_at=F("mailed_at") - hour)
    NotificationEvent.objects.update(at=F("at") - hour)
    waiting.update(mail_due_at=timezone.now())
    for one in list(waiting):
        notifications.send_mail(one.pk)

    last = mail.outbox[MOST_AN_HOUR:]
    assert [one.subject for one in last] == [
        "[applyviz] Plan 22 of “Storm Bcc: x@example.com” needs your approval, and 2 more"
    ]
    assert last[0].body.count("needs your approval.\n") == 3
    assert Notification.objects.filter(mailed_at=None).count() == 0


def test_every_event_has_a_sentence():
    for event in NotificationKind:
        notification_event = NotificationEvent(
            event=event.value, facts={"by": "bob", "review": {"title": "Upgrade", "number": 3}}
        )
        assert render_sentence(notification_event)
