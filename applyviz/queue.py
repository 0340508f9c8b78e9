"""Enqueue a task by name after the transaction commits.

The registry lookup by name means that use cases and tasks need not import each other. A lost message does no harm:
pending work is in the database, and the sweep enqueues it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum

import celery
from django.db import transaction

logger = logging.getLogger(__name__)


class TaskName(StrEnum):
    """The names of all tasks; `applyviz.tasks` registers each."""

    MAKE_PLAN = "applyviz.make_plan"
    EXECUTE_RUN = "applyviz.execute_run"
    WATCH_ROLLOUTS = "applyviz.watch_rollouts"
    VERIFY_PLAN = "applyviz.verify_plan"
    NOTIFY = "applyviz.notify"
    DELIVER = "applyviz.deliver"
    SEND_MAIL = "applyviz.send_mail"
    RECOVER = "applyviz.recover"
    ANSWER_WORKER_REQUEST = "applyviz.answer_worker_request"
    SCAN_CLUSTER = "applyviz.scan_cluster"
    SCAN_WHOLE_CLUSTER = "applyviz.scan_whole_cluster"
    COMPARE_PLAN = "applyviz.compare_plan"
    READ_PUSH = "applyviz.read_push"
    FOLLOW_BRANCH = "applyviz.follow_branch"
    MAIL_IDENTITY = "applyviz.mail_identity"
    PRUNE_HISTORY = "applyviz.prune_history"


def send(name: TaskName, **ids: int) -> bool:
    """Send the task to the broker now; return False (and log a line) if the broker does not accept it."""
    try:
        celery.current_app.tasks[name.value].apply_async(kwargs=ids, retry=False)
    except Exception:  # the broker's own errors, of many libraries; the sweep sends again
        logger.warning("The broker did not take %s %s; the sweep will send it again", name.value, ids, exc_info=True)
        return False
    return True


def enqueue(name: TaskName, *, after: Callable[[bool], None] | None = None, **ids: int) -> None:
    """Send the task to the broker once the surrounding transaction has committed.

    - `after` is called with whether the broker accepted it.
    """

    def _send() -> None:
        is_sent = send(name, **ids)
        if after is not None:
            after(is_sent)

    transaction.on_commit(_send)
