"""Apply runs: started after approval, executed by a worker, resumed by another one if that worker is lost.

Only this room may use the writer. Every state change is a conditional update; every request is journaled before it is
sent.
"""

from applyviz.workflow.runs.execute import execute_run
from applyviz.workflow.runs.lookup import find_unfinished, get_run, list_runs
from applyviz.workflow.runs.resume import release_leases, resume_unfinished_runs
from applyviz.workflow.runs.run_order import find_run_before, has_turn
from applyviz.workflow.runs.start import approve_and_run, cancel_run, find_run_blockers, start_run

__all__ = [
    "approve_and_run",
    "cancel_run",
    "execute_run",
    "find_run_before",
    "find_run_blockers",
    "find_unfinished",
    "get_run",
    "has_turn",
    "list_runs",
    "release_leases",
    "resume_unfinished_runs",
    "start_run",
]
