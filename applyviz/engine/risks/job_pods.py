"""A live Job is suspended, or may run fewer pods at a time: its active pods are deleted, and do not finish.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job, and the Job controller
(`pkg/controller/job/job_controller.go`): it deletes every active pod of a suspended Job, and those beyond
`parallelism`. Active are pods that run or wait for a node. A Job whose status counts no active pod loses none.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import position_of


def _describe(f: Facts) -> Templates:
    which = "1 active pod before it finishes" if f["pods"] == "1" else "{pods} active pods before they finish"
    if f["field"] == "suspend":
        return (f"Job {{name}} is suspended: Kubernetes deletes {which}, and creates new ones when the Job resumes.",)
    return (f"Job {{name}} may run fewer pods at a time: Kubernetes deletes {which}.",)


JOB_PODS_DELETED = RiskKind("job-pods-deleted", "Active pods of a Job are deleted", _describe)


def _count_allowed(job: JSONObject) -> int:
    """Return how many pods a Job may run at a time."""
    parallelism = get_at(job, ("spec", "parallelism"))
    if get_at(job, ("spec", "suspend")) is True:
        return 0
    return parallelism if isinstance(parallelism, int) else 1


@rule(247)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that active pods of a live Job are deleted, because it is suspended or may run fewer."""
    live, result = subject.live, subject.result
    if subject.ref.key[:2] != ("batch", "Job") or live is None or result is None or subject.manifest is None:
        return
    active, allowed = get_at(live, ("status", "active")), _count_allowed(result)
    if not isinstance(active, int) or allowed >= min(active, _count_allowed(live)):
        return
    name = "suspend" if get_at(result, ("spec", "suspend")) is True else "parallelism"
    facts = {"name": subject.ref.name, "field": name, "pods": str(active - allowed)}
    yield JOB_PODS_DELETED.at(fields("spec", name), facts, position_of(subject, ("spec", name)))
