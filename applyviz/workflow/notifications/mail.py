"""Notification email to one person, sent once; retried for a while when the mail server refuses it.

Each person gets a limited number of emails per hour: later events wait and arrive in one email.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz import clock
from applyviz.records.models import Notification
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.notifications.choices import can_mail
from applyviz.workflow.notifications.inbox import list_visible
from applyviz.workflow.notifications.texts import find_choices_url, find_url, render_sentence

logger = logging.getLogger(__name__)
_BACKOFF = timedelta(minutes=1)
MAX_ATTEMPTS = 6
MOST_AN_HOUR, MOST_GATHERED = 20, 100
_HOUR = timedelta(hours=1)


def _render_line(notification: Notification) -> str:
    """Collapse a title to one line, so that it cannot inject a header."""
    return " ".join(render_sentence(notification.notification_event).split())


def _write(person: Person, notifications: Sequence[Notification]) -> EmailMessage:
    lines = [line for one in notifications for line in (f"{_render_line(one)}.", find_url(one.notification_event), "")]
    lines.append(_("To change which emails you receive, go to %(where)s.") % {"where": find_choices_url()})
    subject = _render_line(notifications[0])
    if len(notifications) > 1:
        more = len(notifications) - 1
        subject = ngettext("%(what)s, and %(n)d more", "%(what)s, and %(n)d more", more) % {
            "what": subject[:140],
            "n": more,
        }
    return EmailMessage(f"[applyviz] {subject}"[:200], "\n".join(lines), to=[person.email])


def _claim(pk: int, now: datetime) -> bool:
    mine = Notification.objects.filter(pk=pk, mail_due_at__lte=now, mailed_at=None)
    return bool(mine.update(mail_due_at=now + _BACKOFF, mail_attempts=F("mail_attempts") + 1))


def _find_next(person: Person, now: datetime) -> datetime | None:
    """Return when a person may get the next email; None: now."""
    sent = Notification.objects.filter(person=person, mailed_at__gt=now - _HOUR).order_by("-mailed_at")
    moments = sent.values_list("mailed_at", flat=True).distinct()
    last: datetime | None = moments[MOST_AN_HOUR - 1 : MOST_AN_HOUR].first()
    return last + _HOUR if last else None


def _collect_delayed(first: Notification, now: datetime) -> list[Notification]:
    """Return a delayed notification with the other delayed ones of that person."""
    if first.notification_event.at > now - _BACKOFF:
        return [first]
    waiting = list_visible(first.person).filter(mail_due_at__lte=now, mailed_at=None)
    found = [pk for pk in waiting.order_by("pk").values_list("pk", flat=True)[:MOST_GATHERED] if _claim(pk, now)]
    others = Notification.objects.filter(pk__in=found).select_related("notification_event").order_by("pk")
    return [first, *others]


def send_mail(notification_id: int) -> None:
    """Send the email of a notification when it is due; does nothing when it was sent or another worker has it.

    - Emails may wait for hours: one about a review that the person may not see any more is not sent.
    """
    now = clock.now()
    if not _claim(notification_id, now):
        return
    notification = Notification.objects.select_related("notification_event", "person").get(pk=notification_id)
    person = notification.person
    done = Notification.objects.filter(pk=notification_id)
    if not can_mail(person) or not person.is_active or not list_visible(person).filter(pk=notification_id).exists():
        done.update(mail_due_at=None)
        return
    later = _find_next(person, now)
    if later is not None:
        done.update(mail_due_at=later, mail_attempts=F("mail_attempts") - 1)
        return
    notifications = _collect_delayed(notification, now)
    try:
        _write(person, notifications).send()
    except (SMTPException, OSError) as error:
        logger.warning("the mail server refused notification %s: %s", notification_id, type(error).__name__)
        for one in notifications:
            waits = one.mail_attempts < MAX_ATTEMPTS
            again = now + _BACKOFF * 4 ** (one.mail_attempts - 1)
            Notification.objects.filter(pk=one.pk).update(mail_due_at=again if waits else None)
    else:
        sent = clock.host_now()
        Notification.objects.filter(pk__in=[one.pk for one in notifications]).update(mailed_at=sent, mail_due_at=None)
