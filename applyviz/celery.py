"""The Celery application: JSON messages that contain an id, no results, a sweep that finds lost work.

The database is the truth: a duplicate or lost message only changes the timing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import billiard
from celery import Celery
from celery.signals import (
    after_task_publish,
    beat_init,
    celeryd_init,
    task_postrun,
    task_prerun,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings

from applyviz import audit_origin, environment, request_ids, stopping

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "applyviz.settings")

PULSE_SECONDS = 5.0
with environment.refusing():
    # It reads all settings; Celery would print where the error came from, and go on.
    RECOVERY_SECONDS: int = settings.APPLYVIZ_RECOVERY_SECONDS
app = Celery("applyviz")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # Beat has only intervals, so it needs no schedule file between starts.
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        "recover": {
            "task": "applyviz.recover",
            "schedule": float(RECOVERY_SECONDS),
            "options": {"expires": 4 * RECOVERY_SECONDS},  # they must not pile up without a worker
        },
        "prune": {"task": "applyviz.prune_history", "schedule": 3600.0},
    },
)


@celeryd_init.connect
def _check_worker(**_: object) -> None:
    """Refuse to start a worker without its keys, its database or its broker."""
    from applyviz import process_keys  # noqa: PLC0415 - models exist only after the applications are loaded

    with environment.refusing():
        process_keys.require_worker_keys()


@celeryd_init.connect
def _load_client(**_: object) -> None:
    """Load the client of clusters once, before this worker forks."""
    from applyviz.clusters import connect  # noqa: PLC0415 - as above

    connect.load_live_client()


@beat_init.connect
def _check_beat(**_: object) -> None:
    """Refuse to start beat without a broker, because no worker would get its messages."""
    from applyviz import process_keys  # noqa: PLC0415 - as above

    with environment.refusing():
        process_keys.require_broker()


@task_prerun.connect
def _hold_origin(task_id: str = "", **_: object) -> None:
    """Mark the work of a task as done by a worker, and name the task in log lines and audit entries."""
    audit_origin.current.set(audit_origin.Origin(audit_origin.WORKER))
    request_ids.current.set(task_id or "-")


@task_postrun.connect
def _let_go(**_: object) -> None:
    request_ids.current.set("-")


@worker_ready.connect
def _begin_pulse(sender: Any = None, **_: object) -> None:
    """Touch a file from the loop that takes tasks, so that a health check costs nothing and cannot be wrong."""
    if settings.APPLYVIZ_PULSE_FILE:
        sender.timer.call_repeatedly(PULSE_SECONDS, Path(settings.APPLYVIZ_PULSE_FILE).touch)


@beat_init.connect
def _begin_beat_pulse(**_: object) -> None:
    """Touch a file whenever the broker accepted a message of beat, which sends one every few seconds."""
    if settings.APPLYVIZ_PULSE_FILE:
        after_task_publish.connect(_touch, weak=False)


def _touch(**_: object) -> None:
    Path(settings.APPLYVIZ_PULSE_FILE).touch()


@worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Stop the forked processes with this worker; those that do not are ended a moment after the grace."""
    if not stopping.is_requested():
        stopping.request()
        stopping.limit_end(_end_pool)


def _end_pool() -> None:
    """End the processes of the pool: what they had begun was handed over, or is found by the recovery task."""
    for process in billiard.active_children():
        process.kill()


# Pool threads resolve the default application; without this they would accept every task and run none.
app.set_default()
app.autodiscover_tasks(["applyviz"])
