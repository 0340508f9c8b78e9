"""Worker requests: questions of pages that only workers can answer, because they need decryption.

A process with the decryption keys (the personal installation) answers through the same interface at once. A web process
of a team stores the question as ids, waits a moment for the masked answer, and otherwise reports that it is pending.
"""

from applyviz.workflow.foundation.worker_questions import (
    RefusedError,
    UnansweredError,
    UnfinishedError,
    WaitingError,
    find_worker_request,
    read_answer,
)
from applyviz.workflow.worker_requests.answering import answer_worker_request, end_late, find_unfinished
from applyviz.workflow.worker_requests.chart_targets import read_api_versions
from applyviz.workflow.worker_requests.questions import (
    add_cluster,
    adopt,
    check_connection,
    compare_objects,
    find_facts,
    read_adoption,
    read_applysets,
    read_holdings,
    read_inventory,
    read_run_health,
    read_state,
    replace_credential,
    undo_run,
)
from applyviz.workflow.worker_requests.repositories import check_repository, fetch_repository
from applyviz.workflow.worker_requests.sandboxes import answer_kubectl, answer_watch, read_kubeconfig

__all__ = [
    "RefusedError",
    "UnansweredError",
    "UnfinishedError",
    "WaitingError",
    "add_cluster",
    "adopt",
    "answer_kubectl",
    "answer_watch",
    "answer_worker_request",
    "check_connection",
    "check_repository",
    "compare_objects",
    "end_late",
    "fetch_repository",
    "find_facts",
    "find_unfinished",
    "find_worker_request",
    "read_adoption",
    "read_answer",
    "read_api_versions",
    "read_applysets",
    "read_holdings",
    "read_inventory",
    "read_kubeconfig",
    "read_run_health",
    "read_state",
    "replace_credential",
    "undo_run",
]
