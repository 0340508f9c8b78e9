"""Apply runs: started after approval, executed by a worker, resumed by another one if that worker is lost.

Only this room may use the writer. Every state change is a conditional update; every request is journaled before it is
sent.
"""

from applyviz.workflow.runs.attempts import list_attempts, measure_pauses
from applyviz.workflow.runs.execute import execute_run
from applyviz.workflow.runs.lookup import find_parked, find_unfinished, get_run, list_runs
from applyviz.workflow.runs.resume import release_leases, resume_unfinished_runs, watch_parked_runs
from applyviz.workflow.runs.retry import find_retry_blockers, list_retryable, retry_run
from applyviz.workflow.runs.rollout_watch import watch_rollouts
from applyviz.workflow.runs.run_order import find_run_before, has_turn
from applyviz.workflow.runs.scheduled_starts import (
    approve_and_schedule,
    can_cancel,
    cancel_all_starts,
    cancel_start,
    find_end,
    find_last_start,
    find_schedule_blockers,
    find_waiting,
    schedule_start,
    start_due,
)
from applyviz.workflow.runs.start import (
    approve_and_run,
    cancel_run,
    cancel_unfinished_runs,
    find_run_blockers,
    require_person,
    start_run,
)

__all__ = [
    "approve_and_run",
    "approve_and_schedule",
    "can_cancel",
    "cancel_all_starts",
    "cancel_run",
    "cancel_start",
    "cancel_unfinished_runs",
    "execute_run",
    "find_end",
    "find_last_start",
    "find_parked",
    "find_retry_blockers",
    "find_run_before",
    "find_run_blockers",
    "find_schedule_blockers",
    "find_unfinished",
    "find_waiting",
    "get_run",
    "has_turn",
    "list_attempts",
    "list_retryable",
    "list_runs",
    "measure_pauses",
    "release_leases",
    "require_person",
    "resume_unfinished_runs",
    "retry_run",
    "schedule_start",
    "start_due",
    "start_run",
    "watch_parked_runs",
    "watch_rollouts",
]
