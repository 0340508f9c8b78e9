"""The sweep: every few seconds it finds messages that were not sent, plans and runs that nobody works on.

It also removes what is kept for a time only.
"""

from __future__ import annotations

from django.utils import timezone

from applyviz import queue
from applyviz.queue import TaskName
from applyviz.records.sealing import can_open
from applyviz.workflow import (
    anchors,
    clusters,
    errands,
    heads,
    notifications,
    outbox,
    plans,
    playgrounds,
    runs,
    scans,
    watching,
)


def sweep() -> int:
    """Ask again for everything that is waiting for a worker; gives the number of messages sent."""
    now = timezone.now()
    playgrounds.remove_expired(now=now)
    if can_open():
        clusters.remember_tokens()
    errands.end_late(now=now)
    anchors.tie_loose(older_than=anchors.EVERY)
    heads.publish_due(now=now)
    sent = outbox.resend(now=now)
    for errand_id in errands.find_unfinished(now=now):
        sent += queue.send(TaskName.CARRY_OUT, errand_id=errand_id)
    scans.request_due(now=now)
    for scan_id in scans.find_unfinished(now=now):
        sent += queue.send(TaskName.SCAN_CLUSTER, scan_id=scan_id)
    for plan_id in plans.find_unfinished():
        sent += queue.send(TaskName.MAKE_PLAN, plan_id=plan_id)
    for verification_id in watching.find_unfinished(now=now):
        sent += queue.send(TaskName.VERIFY_PLAN, verification_id=verification_id)
    notifications.tell()
    sent += notifications.ask_again(now=now)
    return sent + runs.resume_unfinished_runs()
