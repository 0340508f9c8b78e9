"""Asks for a task by name, after the transaction commits.

A name and a registry look-up, so that use cases and tasks need not import each other. Losing the message
loses nothing: what is to be done is in the database, and the sweep asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum

import celery
from django.db import transaction

logger = logging.getLogger(__name__)


class TaskName(StrEnum):
    """Every task there is; `applyviz.tasks` registers each."""

    MAKE_PLAN = "applyviz.make_plan"
    EXECUTE_RUN = "applyviz.execute_run"
    VERIFY_PLAN = "applyviz.verify_plan"
    NOTIFY = "applyviz.notify"
    DELIVER = "applyviz.deliver"
    SEND_MAIL = "applyviz.send_mail"
    RECOVER = "applyviz.recover"
    ANSWER_WORKER_REQUEST = "applyviz.answer_worker_request"
    SCAN_CLUSTER = "applyviz.scan_cluster"
    PRUNE_HISTORY = "applyviz.prune_history"


def send(name: TaskName, **ids: int) -> bool:
    """Hand the task to the broker now; False (and a log line) when the broker does not take it."""
    try:
        celery.current_app.tasks[name.value].apply_async(kwargs=ids, retry=False)
    except Exception:  # the broker's own errors, of many libraries; the sweep sends again
        logger.warning("The broker did not take %s %s; the sweep will send it again", name.value, ids, exc_info=True)
        return False
    return True


def enqueue(name: TaskName, *, after: Callable[[bool], None] | None = None, **ids: int) -> None:
    """Hand the task to the broker once the surrounding transaction has committed.

    - `after` is told whether the broker took it.
    """

    def _send() -> None:
        is_sent = send(name, **ids)
        if after is not None:
            after(is_sent)

    transaction.on_commit(_send)
