"""Telling one person by mail, once; tried again for a while when the mail server does not take it."""

from __future__ import annotations

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from applyviz.records.models import Notification
from applyviz.workflow.access import Person
from applyviz.workflow.notifications.choices import can_mail
from applyviz.workflow.notifications.texts import find_url, render_sentence

logger = logging.getLogger(__name__)
_BACKOFF = timedelta(minutes=1)
MOST_ATTEMPTS = 6


def _write(person: Person, notification: Notification) -> EmailMessage:
    happening = notification.happening
    sentence = render_sentence(happening)
    lines = [
        f"{sentence}.",
        "",
        find_url(happening),
        "",
        _("You get this mail because of your choices at %(where)s.")
        % {"where": find_url(happening).partition("/re")[0].partition("/ru")[0] + "/notifications/choices/"},
    ]
    subject = " ".join(sentence.split())  # no line of a title ever becomes a header
    return EmailMessage(f"[applyviz] {subject}"[:200], "\n".join(lines), to=[person.email])


def send_mail(notification_id: int) -> None:
    """Send the mail of a notification when it is due; nothing happens when another worker has it or it was sent."""
    now = timezone.now()
    mine = Notification.objects.filter(pk=notification_id, mail_due_at__lte=now, mailed_at=None)
    if not mine.update(mail_due_at=now + _BACKOFF, mail_attempts=F("mail_attempts") + 1):
        return
    notification = Notification.objects.select_related("happening", "person").get(pk=notification_id)
    person = notification.person
    done = Notification.objects.filter(pk=notification_id)
    if not can_mail(person) or not person.is_active:
        done.update(mail_due_at=None)
        return
    try:
        _write(person, notification).send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail server did not take notification %s: %s", notification_id, type(error).__name__)
        waits = notification.mail_attempts < MOST_ATTEMPTS
        later = now + _BACKOFF * 4 ** (notification.mail_attempts - 1)
        done.update(mail_due_at=later if waits else None)
    else:
        done.update(mailed_at=timezone.now(), mail_due_at=None)
