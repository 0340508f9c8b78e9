"""Celery tasks: each takes ids and calls one use case; each may arrive twice or late."""

from __future__ import annotations

from celery import shared_task

from applyviz.queue import TaskName
from applyviz.workflow import notifications, runs, worker_requests
from applyviz.workflow.audit import retention
from applyviz.workflow.following import deliveries, fetching, identity_mail
from applyviz.workflow.live import external_apply, plan_comparison, scan_process, scans
from applyviz.workflow.ops import recovery
from applyviz.workflow.plans import planner


@shared_task(name=TaskName.MAKE_PLAN.value)
def make_plan(plan_id: int) -> None:
    """Calculate a plan."""
    planner.make_plan(plan_id)


@shared_task(name=TaskName.EXECUTE_RUN.value)
def execute_run(run_id: int) -> None:
    """Execute an apply run."""
    runs.execute_run(run_id)


@shared_task(name=TaskName.WATCH_ROLLOUTS.value)
def watch_rollouts(run_id: int) -> None:
    """Look at the rollouts that a run waits for."""
    runs.watch_rollouts(run_id)


@shared_task(name=TaskName.VERIFY_PLAN.value)
def verify_plan(verification_id: int) -> None:
    """Compare live with a plan that another tool applies."""
    external_apply.verify_plan(verification_id)


@shared_task(name=TaskName.NOTIFY.value)
def notify() -> None:
    """Notify people and webhooks of new events."""
    notifications.send_pending()


@shared_task(name=TaskName.DELIVER.value)
def deliver(delivery_id: int) -> None:
    """Attempt one webhook delivery."""
    notifications.deliver(delivery_id)


@shared_task(name=TaskName.SEND_MAIL.value)
def send_mail(notification_id: int) -> None:
    """Attempt to send one notification email."""
    notifications.send_mail(notification_id)


@shared_task(name=TaskName.RECOVER.value)
def recover_unfinished() -> None:
    """Enqueue unfinished work that no worker has."""
    recovery.recover()


@shared_task(name=TaskName.ANSWER_WORKER_REQUEST.value)
def answer_worker_request(worker_request_id: int) -> None:
    """Answer a worker request."""
    worker_requests.answer_worker_request(worker_request_id)


@shared_task(name=TaskName.SCAN_CLUSTER.value)
def scan_cluster(scan_id: int) -> None:
    """Scan what runs wrote to a cluster."""
    scans.scan_cluster(scan_id)


@shared_task(name=TaskName.SCAN_WHOLE_CLUSTER.value)
def scan_whole_cluster(scan_id: int) -> None:
    """Scan all live objects of a cluster."""
    scan_process.scan_whole_cluster(scan_id)


@shared_task(name=TaskName.COMPARE_PLAN.value)
def compare_plan(comparison_id: int) -> None:
    """Compare an open plan with live."""
    plan_comparison.compare_plan(comparison_id)


@shared_task(name=TaskName.READ_PUSH.value)
def read_push(delivery_id: int) -> None:
    """Verify a delivery of a git host."""
    deliveries.read_delivery(delivery_id)


@shared_task(name=TaskName.FOLLOW_BRANCH.value)
def follow_branch(following_id: int) -> None:
    """Fetch a followed branch."""
    fetching.follow_branch(following_id)


@shared_task(name=TaskName.MAIL_IDENTITY.value)
def mail_identity(identity_id: int) -> None:
    """Send the link that verifies an address."""
    identity_mail.mail_identity(identity_id)


@shared_task(name=TaskName.PRUNE_HISTORY.value)
def prune_history() -> None:
    """Remove bodies and requests that retention policies no longer keep."""
    retention.prune_all()
