"""Recovery: every few seconds, find unsent messages, and plans and runs without a worker.

It also starts scheduled runs that are due, and removes expired rows. The parts are independent: an error in one does
not stop the others, and runs come first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from applyviz import clock, queue
from applyviz.queue import TaskName
from applyviz.workflow import notifications, runs, worker_requests
from applyviz.workflow.audit import anchors, checkpoints
from applyviz.workflow.following import deliveries, fetching
from applyviz.workflow.foundation import outbox
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.live import external_apply, plan_comparison, scans
from applyviz.workflow.ops import health, playgrounds
from applyviz.workflow.people import commit_identities, sessions
from applyviz.workflow.plans import planner

logger = logging.getLogger(__name__)


def _ask_for_runs(now: datetime) -> int:
    return runs.resume_unfinished_runs()


def _watch_rollouts(now: datetime) -> int:
    return runs.watch_parked_runs()


def _start_scheduled(now: datetime) -> int:
    return runs.start_due()


def _ask_for_plans(now: datetime) -> int:
    return sum(queue.send(TaskName.MAKE_PLAN, plan_id=plan_id) for plan_id in planner.find_unfinished())


def _send_again(now: datetime) -> int:
    return outbox.resend(now=now)


def _ask_for_scans(now: datetime) -> int:
    scans.request_due(now=now)
    return sum(queue.send(name, scan_id=scan_id) for scan_id, name in scans.find_unfinished(now=now))


def _ask_for_verifications(now: datetime) -> int:
    found = external_apply.find_unfinished(now=now)
    return sum(queue.send(TaskName.VERIFY_PLAN, verification_id=verification_id) for verification_id in found)


def _ask_for_comparisons(now: datetime) -> int:
    found = plan_comparison.find_unfinished(now=now)
    return sum(queue.send(TaskName.COMPARE_PLAN, comparison_id=comparison_id) for comparison_id in found)


def _ask_for_worker_requests(now: datetime) -> int:
    worker_requests.end_late(now=now)
    return sum(
        queue.send(TaskName.ANSWER_WORKER_REQUEST, worker_request_id=worker_request_id)
        for worker_request_id in worker_requests.find_unfinished(now=now)
    )


def _ask_for_pushes(now: datetime) -> int:
    found = deliveries.find_unread(now=now)
    return sum(queue.send(TaskName.READ_PUSH, delivery_id=delivery_id) for delivery_id in found)


def _ask_for_branches(now: datetime) -> int:
    fetching.end_closed()
    return sum(queue.send(TaskName.FOLLOW_BRANCH, following_id=pk) for pk in fetching.find_due(now=now))


def _ask_for_identity_mails(now: datetime) -> int:
    return sum(queue.send(TaskName.MAIL_IDENTITY, identity_id=pk) for pk in commit_identities.find_due_mails())


def _send_notifications(now: datetime) -> int:
    notifications.send_pending()
    return notifications.ask_again(now=now)


def _anchor_history(now: datetime) -> int:
    anchors.anchor_pending(older_than=anchors.EVERY)
    checkpoints.publish_due(now=now)
    return 0


def _note_time(now: datetime) -> int:
    health.note_recovery(now)
    return 0


def _remove_expired(now: datetime) -> int:
    playgrounds.remove_expired(now=now)
    sessions.forget_old(now=now)
    deliveries.forget_old(now=now)
    return 0


_PARTS: tuple[Callable[[datetime], int], ...] = (
    _ask_for_runs, _start_scheduled, _watch_rollouts, _send_again, _ask_for_plans, _ask_for_worker_requests,
    _ask_for_scans, _ask_for_verifications, _ask_for_comparisons, _ask_for_pushes, _ask_for_branches,
    _ask_for_identity_mails, _send_notifications, _anchor_history, _remove_expired, _note_time,
)  # fmt: skip


def recover() -> int:
    """Enqueue everything that waits for a worker; return the number of messages sent."""
    now, sent = clock.now(), 0
    for part in _PARTS:
        try:
            sent += part(now)
        except Exception as error:  # any error: the other parts must not wait for its repair
            log_unexpected(logger, f"a part of the recovery failed ({part.__name__.strip('_')})", error)
    return sent
