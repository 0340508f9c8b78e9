"""A person who lost access to a review reads nothing about it: not in the inbox, and not in a delayed email."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.records.enums import Role
from applyviz.records.models import Notification, Review
from applyviz.workflow.notifications import events, mail
from tests.builders import grant_role, make_person, set_email, take_roles
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "canary7Rz"


@pytest.fixture
def told(team: Team, settings: Any) -> Notification:
    """Carol, an approver of the namespace, is notified of a review and may get an email; nothing is sent yet."""
    settings.APPLYVIZ_MAIL = True
    carol = make_person("carol")
    grant_role(carol, Role.APPROVER, cluster="box", namespace="default", is_cluster_scoped=False)
    set_email("carol", "carol@example.org")
    plan = team.plan(config_map(a="1"))
    Review.objects.update(title=f"Change {CANARY}")
    plan.refresh_from_db()
    events.send_pending()
    found = Notification.objects.filter(person=carol).first()
    assert found is not None
    Notification.objects.filter(person=carol).update(mail_due_at=clock.now(), mailed_at=None)
    return found


def read(notification: Notification) -> tuple[bool, bool, int]:
    """Whether the inbox shows the review, what the bell counts, and the status of the notification itself."""
    client = Client()
    client.force_login(notification.person)
    page = client.get(reverse("notifications:list-notifications")).content.decode()
    bell = client.get(reverse("notifications:show-bell")).content.decode()
    opened = client.post(reverse("notifications:open-notification", args=[notification.pk]))
    return CANARY in page, "unread" in bell, opened.status_code


def send(notification: Notification) -> int:
    outbox.outbox.clear()
    mail.send_mail(notification.pk)
    return len([one for one in outbox.outbox if CANARY in f"{one.subject} {one.body}"])


def test_who_may_see_the_review_is_notified(told: Notification) -> None:
    assert (read(told), send(told)) == ((True, True, 302), 1)


def test_who_lost_the_right_reads_nothing(told: Notification) -> None:
    take_roles(told.person)
    grant_role(told.person, Role.APPROVER, cluster="box", namespace="mine", is_cluster_scoped=False)

    assert (read(told), send(told)) == ((False, False, 404), 0)
    assert Notification.objects.get(pk=told.pk).mail_due_at is None


def test_emails_that_are_gathered_leave_it_out(told: Notification) -> None:
    """One email gathers what waited: a review that is still visible, and this one."""
    take_roles(told.person)
    grant_role(told.person, Role.APPROVER, cluster="box", namespace="mine", is_cluster_scoped=False)
    event = told.notification_event
    event.pk, event.key, event.facts, event.entry = None, "another", {}, None
    event.at = clock.now() - timedelta(hours=1)
    event.save(force_insert=True)
    other = Notification.objects.create(notification_event=event, person=told.person, mail_due_at=clock.now())

    assert send(other) == 0
    assert Notification.objects.get(pk=other.pk).mailed_at is not None
