"""After a restore: what was to be sent at the time of the backup was sent since, or is out of date, and is not sent.

Rule: people keep the notifications in the product, where each shows its time; no email about them is sent, and a
webhook's delivery fails with a reason, so that an administrator can repeat it. What the restore itself ends is news.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.enums import DeliveryState
from applyviz.records.models import Delivery, Notification
from applyviz.workflow.notifications.events import send_pending


@dataclass(frozen=True, slots=True)
class WithdrawnMessages:
    """How many emails and webhook deliveries waited and are not sent."""

    mails: int
    deliveries: int


def withdraw_unsent() -> WithdrawnMessages:
    """Withdraw every email and webhook delivery that waits, also of events that nobody was notified of yet.

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
