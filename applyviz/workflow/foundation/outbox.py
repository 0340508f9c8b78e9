"""Outbox for messages that must not get lost: a row in the transaction that needs the task, sent after its commit.

The recovery task calls `resend` for messages that the broker never accepted. A repeated message does no harm, because
every task claims its row first.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from applyviz import clock, queue
from applyviz.queue import TaskName
from applyviz.records.models import OutboxMessage
from applyviz.workflow.foundation import failpoints

_PATIENCE = timedelta(seconds=3)
_KEPT = timedelta(days=1)


def _mark_sent(message_id: int) -> None:
    OutboxMessage.objects.filter(id=message_id, sent_at=None).update(sent_at=clock.now())


def post(task: TaskName, **ids: int) -> None:
    """Enqueue a task as part of the surrounding transaction."""
    message = OutboxMessage.objects.create(task=task.value, ids=ids, created_at=clock.now())

    def _after(is_sent: bool) -> None:
        failpoints.reach("message.sent")
        if is_sent:
            _mark_sent(message.id)

    transaction.on_commit(lambda: failpoints.reach("message.sending"))
    queue.enqueue(task, after=_after, **ids)


def resend(*, now: datetime) -> int:
    """Send messages that are overdue; return the number of messages sent.

    - Forgets messages that were sent more than a day ago.
    """
    sent = 0
    for message in OutboxMessage.objects.filter(sent_at=None, created_at__lt=now - _PATIENCE)[:500]:
        if queue.send(TaskName(message.task), **message.ids):
            _mark_sent(message.id)
            sent += 1
    OutboxMessage.objects.filter(sent_at__lt=now - _KEPT).delete()
    return sent
