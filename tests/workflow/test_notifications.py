"""Telling people and webhooks: once, those whom it concerns, as they chose; signed, tried again, given up."""

import hashlib
import hmac
import json
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from django.core import mail
from django.db.models import F
from django.utils import timezone

from applyviz.records.enums import DeliveryState, Event, Role
from applyviz.records.models import AuditEntry, Delivery, Happening, Notification, Policy, PolicyVersion, Webhook
from applyviz.workflow import approvals, notifications, runs
from applyviz.workflow.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.notifications import choices, inbox, webhooks
from applyviz.workflow.notifications.choices import Ways
from applyviz.workflow.notifications.mail import MOST_AN_HOUR
from applyviz.workflow.notifications.texts import render_sentence
from tests.builders import make_person
from tests.stories import Team, config_map, secret

pytestmark = pytest.mark.django_db
SECRET = "a-secret-of-the-webhook"


@pytest.fixture
def team(monkeypatch):
    return Team().wire_up(monkeypatch)


@pytest.fixture
def admin(db):
    return make_person("root", Role.ADMINISTRATOR)


class Receiver:
    """A program that is told, on this machine; `status` is what it answers."""

    def __init__(self) -> None:
        self.got, self.status, self.location = [], 200, ""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver(settings):
    receiver = Receiver()
    settings.APPLYVIZ_LINK_HOSTS = (receiver.url.removesuffix("/hook"),)
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def told(person):
    return [one.happening.event for one in inbox.list_notifications(for_user=person).order_by("pk")]


def add(receiver, admin, **values):
    values = {"name": "Chat", "url": receiver.url, "secret": SECRET, "events": [], **values}
    return webhooks.add_webhook(**values, by=admin)


def deliver_all():
    for delivery in Delivery.objects.filter(state=DeliveryState.WAITING):
        Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())
        notifications.deliver(delivery.pk)


def test_whole_job_tells_each_person_what_concerns_them_once(team):
    plan = team.plan(config_map(a="1"))
    notifications.tell()
    run = team.work(team.start(plan))
    notifications.tell()
    assert run.state == "succeeded"
    assert notifications.tell() == 0

    assert told(team.bob) == [Event.NEEDS_YOU, Event.RUN_FINISHED]
    assert told(team.alice) == [Event.APPROVED, Event.RUN_STARTED, Event.RUN_FINISHED]


def test_nobody_is_asked_for_a_plan_that_cannot_be_approved(team):
    team.apply(config_map(a="1"))
    notifications.tell()
    Notification.objects.all().delete()
    team.plan(config_map(a="1"))

    notifications.tell()

    assert told(team.bob) == []


def test_person_without_rights_there_is_told_nothing(team):
    charlie, vera = make_person("charlie"), make_person("vera", Role.VIEWER)
    team.plan(config_map(a="1"))

    notifications.tell()

    assert Notification.objects.filter(person__in=[charlie, vera]).count() == 0


def test_request_for_changes_and_dropped_approvals_are_told(team):
    plan = team.plan(config_map(a="1"))
    approvals.approve_plan(plan, by=team.bob, digest=plan.digest)
    team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {}})
    notifications.tell()

    from applyviz.engine.requests.options import ApplyOptions  # noqa: PLC0415 - used here alone
    from applyviz.workflow import plans, reviews  # noqa: PLC0415 - used here alone

    reviews.replan_review(plan.review, by=team.alice, options=ApplyOptions(field_manager="another"))
    plans.make_plan(plan.review.latest_plan.pk)
    notifications.tell()
    latest = plan.review.latest_plan
    approvals.request_changes(latest, by=team.bob, digest=latest.digest, note="why?")
    notifications.tell()

    assert Event.APPROVALS_DROPPED in told(team.bob)
    assert told(team.alice)[-2:] == [Event.APPROVALS_DROPPED, Event.CHANGES_REQUESTED]


def test_expiring_approval_is_told_once(team):
    policy = Policy.objects.create(slug="short", number=1)
    PolicyVersion.objects.create(policy=policy, number=1, rules={"approval_hours": 1}, created_at=timezone.now())
    plan = team.plan(config_map(a="1"))
    approvals.approve_plan(plan, by=team.bob, digest=plan.digest)

    notifications.tell()
    notifications.tell()

    assert told(team.bob).count(Event.APPROVALS_EXPIRING) == 1
    assert told(team.alice).count(Event.APPROVALS_EXPIRING) == 1


@pytest.mark.parametrize(
    ("spoil", "event"),
    [
        (
            lambda team: team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {"a": "9"}}),
            Event.RUN_STALE,
        ),
        (lambda team: setattr(team.wire, "fault", lambda request, number: "refuse connection"), Event.RUN_FAILED),
    ],
)
def test_run_that_went_wrong_says_how(team, spoil, event):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    spoil(team)
    team.work(run)

    notifications.tell()

    assert told(team.alice)[-1] == event


def test_notifications_are_read_by_their_owner_alone(team):
    team.plan(config_map(a="1"))
    notifications.tell()
    one = inbox.list_notifications(for_user=team.bob).get()
    assert inbox.count_unread(for_user=team.bob) == 1

    with pytest.raises(NotVisibleError):
        inbox.read_one(one.pk, by=team.alice)
    inbox.read_one(one.pk, by=team.bob)

    assert inbox.count_unread(for_user=team.bob) == 0


def test_reading_all_leaves_what_came_after_the_page(team):
    team.plan(config_map(a="1"))
    notifications.tell()
    newest = inbox.list_notifications(for_user=team.bob).first().pk
    team.plan(config_map(a="2"))
    notifications.tell()

    inbox.read_all(by=team.bob, up_to=newest)

    assert inbox.count_unread(for_user=team.bob) == 1


def test_choices_hold_and_passed_over_consent_is_always_shown(team):
    choices.choose({Event.NEEDS_YOU: Ways(False, False), Event.GLASS_BROKEN: Ways(False, False)}, by=team.bob)
    team.plan(config_map(a="1"))

    notifications.tell()

    assert told(team.bob) == []
    assert choices.list_choices(team.bob)[Event.GLASS_BROKEN] == Ways(True, False)


def test_mail_goes_to_who_chose_it_once_and_holds_no_header_of_a_title(team, settings):
    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, "https://applyviz.example"
    team.bob.email = "bob@example.com"
    team.bob.save()
    plan = team.plan(config_map(a="1"))
    plan.review.title = "Upgrade\nBcc: x@example.com"
    plan.review.save()
    notifications.tell()
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
    notifications.tell()
    pending = Notification.objects.get(person=team.bob)
    monkeypatch.setattr("django.core.mail.EmailMessage.send", lambda self: (_ for _ in ()).throw(OSError("refused")))

    notifications.send_mail(pending.pk)

    pending.refresh_from_db()
    assert pending.mail_due_at is not None
    assert (pending.mailed_at, pending.mail_attempts, pending.mail_due_at > timezone.now()) == (None, 1, True)


@pytest.mark.parametrize("address", ["https://reviews.example", "https://example.com/run/", ""])
def test_mail_names_the_page_of_choices_wherever_the_installation_is(team, settings, address):
    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, address
    team.bob.email = "bob@example.com"
    team.bob.save()
    team.plan(config_map(a="1"))
    notifications.tell()

    notifications.send_mail(Notification.objects.get(person=team.bob).pk)

    assert f" {address.rstrip('/')}/notifications/choices/." in mail.outbox[0].body


def test_more_than_some_mails_an_hour_come_in_one(team, settings):
    settings.APPLYVIZ_MAIL = True
    team.bob.email = "bob@example.com"
    team.bob.save()
    now = timezone.now()
    for number in range(MOST_AN_HOUR + 3):
        facts = {"plan": {"number": number}, "review": {"number": 1, "title": "Storm\nBcc: x@example.com"}}
        happening = Happening.objects.create(key=f"storm:{number}", event=Event.NEEDS_YOU, facts=facts, at=now)
        Notification.objects.create(happening=happening, person=team.bob, mail_due_at=now)
    for one in Notification.objects.order_by("pk"):
        notifications.send_mail(one.pk)

    waiting = Notification.objects.filter(mailed_at=None)
    assert (len(mail.outbox), waiting.count()) == (MOST_AN_HOUR, 3)
    assert waiting.filter(mail_due_at__gt=timezone.now() + timedelta(minutes=59)).count() == 3
    assert [one.mail_attempts for one in waiting] == [0, 0, 0]

    hour = timedelta(hours=1, seconds=1)
    Notification.objects.exclude(mailed_at=None).update(mailed_at=F("mailed_at") - hour)
    Happening.objects.update(at=F("at") - hour)
    waiting.update(mail_due_at=timezone.now())
    for one in list(waiting):
        notifications.send_mail(one.pk)

    last = mail.outbox[MOST_AN_HOUR:]
    assert [one.subject for one in last] == [
        "[applyviz] Plan 22 of “Storm Bcc: x@example.com” needs your approval, and 2 more"
    ]
    assert last[0].body.count("needs your approval.\n") == 3
    assert Notification.objects.filter(mailed_at=None).count() == 0


def verify(headers, body, secret):
    """What a receiver does."""
    signed = headers["Applyviz-Timestamp"].encode() + b"." + body
    made = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(made, headers["Applyviz-Signature"])


def test_every_attempt_is_signed_anew_at_its_own_time_and_with_the_secret_of_then(team, admin, receiver, monkeypatch):
    webhook = add(receiver, admin)
    receiver.status = 500
    team.plan(config_map(a="1"))
    notifications.tell()
    deliver_all()
    webhooks.edit_webhook(
        webhook, name="Chat", url=receiver.url, secret="another-secret-of-it", events=[], is_enabled=True, by=admin
    )
    later = timezone.now() + timedelta(minutes=10)
    monkeypatch.setattr("applyviz.workflow.notifications.deliveries.timezone.now", lambda: later)
    deliver_all()

    (first, body), (second, again) = receiver.got
    assert (verify(first, body, SECRET), verify(second, again, SECRET)) == (True, False)
    assert verify(second, again, "another-secret-of-it")
    assert (first["Applyviz-Id"], body) == (second["Applyviz-Id"], again)
    assert int(second["Applyviz-Timestamp"]) == int(later.timestamp())
    replayed = {**first, "Applyviz-Timestamp": second["Applyviz-Timestamp"]}
    assert not verify(replayed, body, SECRET)
    told_of = AuditEntry.objects.filter(action="webhook.changed").order_by("-id")[0].detail["what"]
    assert told_of == "changed, with a new secret"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_webhook_that_redirects_is_followed_nowhere(team, admin, receiver, status):
    receiver.status, receiver.location = status, receiver.url.replace("/hook", "/elsewhere")
    webhook = add(receiver, admin)

    notifications.deliver(webhooks.try_webhook(webhook, by=admin).pk)

    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.status, len(receiver.got)) == (DeliveryState.WAITING, status, 1)


def test_webhook_gets_a_signed_message_without_any_value(team, admin, receiver):
    add(receiver, admin)
    plan = team.plan(config_map(a="canary-one"), secret(password="canary-two"))
    notifications.tell()

    deliver_all()

    headers, body = receiver.got[0]
    signed = headers["Applyviz-Timestamp"].encode() + b"." + body
    expected = "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    message = json.loads(body)
    assert headers["Applyviz-Signature"] == expected
    assert message["id"] == headers["Applyviz-Id"]
    assert (message["event"], message["review"]["number"]) == (Event.NEEDS_YOU, plan.review.number)
    assert b"canary" not in body


def test_webhook_that_does_not_take_it_is_tried_again_with_the_same_id_and_then_given_up(team, admin, receiver):
    add(receiver, admin)
    receiver.status = 503
    team.plan(config_map(a="1"))
    notifications.tell()
    pauses = []
    for _ in range(8):
        deliver_all()
        delivery = Delivery.objects.get()
        pauses.append(round((delivery.due_at - timezone.now()).total_seconds() / 10))

    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.status) == (DeliveryState.GIVEN_UP, 8, 503)
    assert pauses[:4] == [1, 4, 16, 64]
    assert len({headers["Applyviz-Id"] for headers, _ in receiver.got}) == 1
    assert len({body for _, body in receiver.got}) == 1
    receiver.status = 204
    webhooks.deliver_again(Webhook.objects.get(), delivery.pk, by=admin)
    deliver_all()
    assert Delivery.objects.get().state == DeliveryState.DELIVERED
    with pytest.raises(NotPossibleError):
        webhooks.deliver_again(Webhook.objects.get(), delivery.pk, by=admin)


def test_two_workers_never_deliver_at_once(team, admin, receiver):
    add(receiver, admin)
    team.plan(config_map(a="1"))
    notifications.tell()
    delivery = Delivery.objects.get()

    notifications.deliver(delivery.pk)
    notifications.deliver(delivery.pk)

    assert len(receiver.got) == 1


@pytest.mark.parametrize("url", ["http://example.com/", "https://user:pw@example.com/", "ftp://x/", "https://x y/"])
def test_webhook_to_an_address_that_links_may_not_have_is_refused(admin, url):
    with pytest.raises(NotValidError):
        webhooks.add_webhook(name="x", url=url, secret=SECRET, events=[], by=admin)


def test_webhook_to_the_own_network_is_never_reached(team, admin, receiver, settings, monkeypatch):
    webhook = add(receiver, admin)
    settings.APPLYVIZ_LINK_HOSTS = ()
    Webhook.objects.filter(pk=webhook.pk).update(url="https://127.0.0.1/")
    monkeypatch.setattr("applyviz.workflow.notifications.deliveries.make_policy", _quick_policy)
    delivery = webhooks.try_webhook(webhook, by=admin)

    notifications.deliver(delivery.pk)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.error, receiver.got) == (0, "nothing could be fetched from 127.0.0.1", [])


def _quick_policy():
    from applyviz.sources.url import FetchPolicy  # noqa: PLC0415 - used here alone

    return FetchPolicy(failure_seconds=0.0)


def test_secret_is_sealed_kept_when_left_empty_and_in_no_history(admin, receiver):
    webhook = add(receiver, admin)

    webhooks.edit_webhook(
        webhook, name="Chat", url=receiver.url, secret="", events=["run.failed"], is_enabled=True, by=admin
    )

    webhook = Webhook.objects.get()
    assert (webhook.secret.open_bytes(), webhook.events) == (SECRET.encode(), ["run.failed"])
    assert SECRET not in str(list(AuditEntry.objects.values()))
    with pytest.raises(NotValidError):
        webhooks.add_webhook(name="x", url=receiver.url, secret="short", events=[], by=admin)


def test_webhooks_are_for_administrators(team, receiver):
    with pytest.raises(NotAllowedError):
        webhooks.add_webhook(name="x", url=receiver.url, secret=SECRET, events=[], by=team.bob)
    with pytest.raises(NotAllowedError):
        webhooks.list_webhooks(for_user=team.bob)


def test_webhook_is_told_only_what_it_wants_and_nothing_once_removed(team, admin, receiver):
    wants = add(receiver, admin, events=["run.failed"])
    gone = add(receiver, admin)
    webhooks.retire_webhook(gone, by=admin)

    team.plan(config_map(a="1"))
    notifications.tell()

    assert (wants.deliveries.count(), gone.deliveries.count()) == (0, 0)


def test_every_event_has_a_sentence():
    for event in Event:
        happening = Happening(event=event.value, facts={"by": "bob", "review": {"title": "Upgrade", "number": 3}})
        assert render_sentence(happening)


def test_sweep_asks_for_what_is_due(team, admin, receiver, monkeypatch):
    add(receiver, admin)
    team.plan(config_map(a="1"))
    notifications.tell()
    asked = []
    monkeypatch.setattr("applyviz.queue.send", lambda name, **ids: asked.append(name.value) or True)

    assert notifications.ask_again(now=timezone.now()) == 0
    assert notifications.ask_again(now=timezone.now() + timedelta(seconds=10)) == 1
    assert asked == ["applyviz.deliver"]
    assert runs.resume_unfinished_runs() == 0
