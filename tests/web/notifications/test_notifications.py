"""The bell, the list, marking as read, choices; webhooks in the settings."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from applyviz.records.enums import NotificationKind
from applyviz.records.models import Cluster, Delivery, Notification, NotificationChoice, NotificationEvent, Webhook
from tests.web import rows

SECRET = "a-secret-of-the-webhook"


def tell(person: User, number: int = 1, event: NotificationKind = NotificationKind.NEEDS_YOU) -> Notification:
    facts = {"review": {"number": 7, "title": "Upgrade <the> shop"}, "plan": {"number": 2}, "by": "alice"}
    notification_event = NotificationEvent.objects.create(key=f"k{number}", event=event, facts=facts, at=timezone.now())
    return Notification.objects.create(notification_event=notification_event, person=person)


@pytest.mark.parametrize(("count", "shown"), [(0, ""), (3, "3"), (120, "99+")])
def test_bell_counts_what_is_unread(as_bob, bob, count, shown):
    for number in range(count):
        tell(bob, number)

    page = as_bob.get("/notifications/bell/").content.decode()

    assert (shown in page, "<html" in page, 'hx-trigger="every' in page) == (True, False, True)
    assert ('class="count"' in page) == bool(count)


def test_every_page_asks_for_the_bell(as_bob):
    assert 'hx-get="/notifications/bell/"' in as_bob.get("/").content.decode()


def test_list_shows_ones_own_and_escapes_titles(as_bob, bob, alice):
    tell(bob, 1)
    tell(alice, 2, NotificationKind.APPROVED)

    page = as_bob.get("/notifications/").content.decode()

    assert "Upgrade &lt;the&gt; shop" in page
    assert "approved plan" not in page


def test_list_names_the_cluster_as_it_is_called_now(as_bob, bob):
    rows.make_cluster()
    Cluster.objects.update(slug="demo", name="Demo \u202esandbox")
    for number, slug in enumerate(("demo", "gone")):
        event = tell(bob, number).notification_event
        event.facts = {**event.facts, "cluster": slug}
        event.save()

    page = as_bob.get("/notifications/").content.decode()

    assert ("Demo <" in page and "U+202E" in page, "demo ·" in page, "gone ·" in page) == (True, False, True)


def test_list_without_any_says_what_will_come(as_bob):
    assert "No notifications yet" in as_bob.get("/notifications/").content.decode()


def test_list_takes_the_same_queries_for_one_and_for_many(as_bob, bob, django_assert_num_queries):
    tell(bob, 1)
    as_bob.get("/notifications/")
    with django_assert_num_queries(6):
        as_bob.get("/notifications/")
    for number in range(2, 12):
        tell(bob, number)
    with django_assert_num_queries(6):
        as_bob.get("/notifications/")


def test_opening_marks_as_read_and_leads_there(as_bob, as_alice, bob):
    one = tell(bob)

    assert as_alice.post(f"/notifications/{one.pk}/").status_code == 404
    assert as_bob.post(f"/notifications/{one.pk}/")["Location"] == "/reviews/7/overview/"
    assert Notification.objects.get().read_at is not None


def test_marking_all_as_read(as_bob, bob):
    newest = max(tell(bob, number).pk for number in range(3))

    as_bob.post("/notifications/read/", {"up_to": newest})

    assert Notification.objects.filter(read_at=None).count() == 0


def test_choices_are_kept(as_bob, bob):
    page = as_bob.get("/notifications/choices/").content.decode()
    as_bob.post("/notifications/choices/", {"shown": ["run.failed"], "mailed": []})

    assert page.count('type="checkbox"') == 32
    assert list(NotificationChoice.objects.filter(person=bob, is_shown=True).values_list("event", flat=True)) == [
        "run.failed"
    ]


def test_outsider_sees_nothing(as_charlie):
    for path in ("/notifications/", "/notifications/bell/", "/notifications/choices/", "/settings/webhooks/"):
        assert as_charlie.get(path).status_code == 404


def test_webhooks_are_managed_by_administrators(as_root, as_bob, settings):
    settings.APPLYVIZ_LINK_HOSTS = ("http://127.0.0.1:9",)
    assert as_bob.get("/settings/webhooks/").status_code == 403
    assert "No webhooks yet" in as_root.get("/settings/webhooks/").content.decode()

    values = {"name": "Chat", "url": "http://127.0.0.1:9/hook", "secret": SECRET, "events": ["run.failed"]}
    address = as_root.post("/settings/webhooks/new/", values)["Location"]
    page = as_root.get(address).content.decode()

    assert "No deliveries yet" in page
    assert SECRET not in page + as_root.get("/settings/webhooks/").content.decode()
    assert "127.0.0.1:9" in as_root.get("/settings/webhooks/").content.decode()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"url": "http://example.com/"}, "only https links"),
        ({"secret": "short"}, "at least 16"),
        ({"events": ["no.such"]}, "not one of the available choices"),
    ],
)
def test_webhook_that_cannot_be_is_refused_with_its_reason(as_root, values, text):
    good = {"name": "Chat", "url": "https://example.com/", "secret": SECRET}

    answer = as_root.post("/settings/webhooks/new/", {**good, **values})

    assert (answer.status_code, text in answer.content.decode()) == (422, True)
    assert Webhook.objects.count() == 0


def test_log_of_deliveries_tells_what_became_of_each(as_root, django_capture_on_commit_callbacks):
    as_root.post("/settings/webhooks/new/", {"name": "Chat", "url": "https://example.com/", "secret": SECRET})
    webhook = Webhook.objects.get()

    as_root.post(f"/settings/webhooks/{webhook.pk}/try/")
    delivery = Delivery.objects.get()
    waiting = as_root.get(f"/settings/webhooks/{webhook.pk}/").content.decode()
    Delivery.objects.update(attempts=3)
    tried = as_root.get(f"/settings/webhooks/{webhook.pk}/").content.decode()
    Delivery.objects.update(state="failed", attempts=8, error="no answer from example.com")
    over = as_root.get(f"/settings/webhooks/{webhook.pk}/").content.decode()
    as_root.post(f"/settings/webhooks/{webhook.pk}/deliveries/{delivery.pk}/again/")

    assert (str(delivery.identifier) in waiting, "next at" in waiting, ">Retry</button>" in waiting) == (
        True,
        True,
        False,
    )
    assert ("3 of 8" in tried, "Waiting" in tried, "ot attempted" in tried) == (True, True, False)
    assert ("no answer from" in over, "8 of 8" in over, ">Retry</button>" in over) == (True, True, True)
    assert Delivery.objects.get().state == "waiting"
    as_root.post(f"/settings/webhooks/{webhook.pk}/delete/")
    assert as_root.get(f"/settings/webhooks/{webhook.pk}/").status_code == 404
