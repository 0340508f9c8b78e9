"""Withdraw the messages of a restored database, which were sent after the backup or are out of date.

Rule: people keep the notifications in the product, where each shows its time; no email about them is sent, and a
webhook's delivery fails with a reason, so that an administrator can repeat it. Messages about the restore itself are
sent.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import DeliveryState
from applyviz.records.models import Delivery, Notification
from applyviz.workflow.notifications.events import send_pending


class WithdrawnMessages(Struct, frozen=True):
    """The numbers of emails and webhook deliveries that are not sent."""

    mails: int
    deliveries: int


def withdraw_unsent() -> WithdrawnMessages:
    """Withdraw every waiting email and webhook delivery, including those of events that are not distributed yet.

    - In the caller's transaction, so that no worker can send one meanwhile.
    """
    while send_pending():
        pass
    mails = Notification.objects.filter(mailed_at=None).exclude(mail_due_at=None).update(mail_due_at=None)
    deliveries = Delivery.objects.filter(state=DeliveryState.WAITING).update(
        state=DeliveryState.GIVEN_UP,
        status=0,
        error=_("not sent: the database was restored from a backup"),
        finished_at=clock.host_now(),
    )
    return WithdrawnMessages(mails, deliveries)
