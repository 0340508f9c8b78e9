"""Telling webhooks: signed at the time of each attempt, tried again, given up, never led elsewhere."""

import hashlib
import hmac
import json
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from django.utils import timezone

from applyviz import clock
from applyviz.records.enums import DeliveryState, NotificationKind, Role
from applyviz.records.models import AuditEntry, Delivery, Webhook
from applyviz.workflow import notifications, runs
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.notifications import webhooks
from tests import moments
from tests.builders import make_person
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
SECRET = "a-secret-of-the-webhook"


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


def add(receiver, admin, **values):
    values = {"name": "Chat", "url": receiver.url, "secret": SECRET, "events": [], **values}
    return webhooks.add_webhook(**values, by=admin)


def deliver_all():
    for delivery in Delivery.objects.filter(state=DeliveryState.WAITING):
        Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())
        notifications.deliver(delivery.pk)


def verify(headers, body, secret):
    """What a receiver does."""
    signed = headers["Applyviz-Timestamp"].encode() + b"." + body
    made = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(made, headers["Applyviz-Signature"])


def test_every_attempt_is_signed_anew_at_its_own_time_and_with_the_secret_of_then(team, admin, receiver):
    webhook = add(receiver, admin)
    receiver.status = 500
    team.plan(config_map(a="1"))
    notifications.send_pending()
    deliver_all()
    webhooks.edit_webhook(
        webhook, name="Chat", url=receiver.url, secret="another-secret-of-it", events=[], is_enabled=True, by=admin
    )
    later = clock.now() + timedelta(minutes=10)
    moments.move_to(later, tick=False)
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
    notifications.send_pending()

    deliver_all()

    headers, body = receiver.got[0]
    signed = headers["Applyviz-Timestamp"].encode() + b"." + body
    expected = "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    message = json.loads(body)
    assert headers["Applyviz-Signature"] == expected
    assert message["id"] == headers["Applyviz-Id"]
    assert (message["event"], message["review"]["number"]) == (NotificationKind.NEEDS_YOU, plan.review.number)
    assert b"canary" not in body


def test_webhook_that_does_not_take_it_is_tried_again_with_the_same_id_and_then_given_up(team, admin, receiver):
    add(receiver, admin)
    receiver.status = 503
    team.plan(config_map(a="1"))
    notifications.send_pending()
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
    notifications.send_pending()
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
    assert (delivery.status, delivery.error, receiver.got) == (0, "no answer from 127.0.0.1", [])


def _quick_policy():
    from applyviz.sources.pinned import FetchPolicy  # noqa: PLC0415 - used here alone

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
    webhooks.delete_webhook(gone, by=admin)

    team.plan(config_map(a="1"))
    notifications.send_pending()

    assert (wants.deliveries.count(), gone.deliveries.count()) == (0, 0)


def test_sweep_asks_for_what_is_due(team, admin, receiver, monkeypatch):
    add(receiver, admin)
    team.plan(config_map(a="1"))
    notifications.send_pending()
    asked = []
    monkeypatch.setattr("applyviz.queue.send", lambda name, **ids: asked.append(name.value) or True)

    assert notifications.ask_again(now=timezone.now()) == 0
    assert notifications.ask_again(now=timezone.now() + timedelta(seconds=10)) == 1
    assert asked == ["applyviz.deliver"]
    assert runs.resume_unfinished_runs() == 0
