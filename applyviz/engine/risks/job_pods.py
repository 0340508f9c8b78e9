"""A live Job is suspended, limited or ended by its new numbers: its active pods are deleted, and do not finish.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/job/, and the Job controller
(`pkg/controller/job/job_controller.go`): it deletes every active pod of a suspended Job and of one that fails, and
those beyond `parallelism` or beyond the completions that are left. Without `completions`, one success lets all others
finish. Active are pods that run or wait for a node. It leaves Jobs alone that others manage.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import position_of

_CONTROLLER = "kubernetes.io/job-controller"
_USUAL_FAILURES = 6


def _describe(f: Facts) -> Templates:
    which = "1 active pod before it finishes" if f.get("pods") == "1" else "{pods} active pods before they finish"
    sentences = {
        "suspend": f"Job {{name}} is suspended: Kubernetes deletes {which}, and creates new ones when the Job resumes.",
        "parallelism": f"Job {{name}} may run fewer pods at a time: Kubernetes deletes {which}.",
        "completions": f"Job {{name}} has fewer completions left: Kubernetes deletes {which}.",
        "backoffLimit": f"Job {{name}} has more failures than its new limit: it fails, and Kubernetes deletes {which}.",
        "activeDeadlineSeconds": (
            "Job {name} fails once it has been active for {seconds} seconds, at once if that time has passed: "
            "Kubernetes then deletes its active pods before they finish."
        ),
    }
    return (sentences[f["field"]],)


JOB_PODS_DELETED = RiskKind("job-pods-deleted", "Active pods of a Job are deleted", _describe)


def _number(job: JSONObject, part: str, name: str, default: int) -> int:
    found = get_at(job, (part, name))
    return found if isinstance(found, int) else default


def _is_suspended(job: JSONObject) -> bool:
    return get_at(job, ("spec", "suspend")) is True


def _count_done(job: JSONObject, live: JSONObject) -> int:
    """Return how many completions of a live Job count: of an Indexed one those of the indexes that it has."""
    indexes, total = get_at(live, ("status", "completedIndexes")), get_at(job, ("spec", "completions"))
    is_indexed = get_at(job, ("spec", "completionMode")) == "Indexed" and isinstance(total, int)
    if not is_indexed or not isinstance(indexes, str):
        return _number(live, "status", "succeeded", 0)
    count = 0
    for part in indexes.split(","):
        first, _dash, last = part.partition("-")
        start, end = read_digits(first), read_digits(last or first)
        if start is not None and end is not None:
            count += max(0, min(end, total - 1) - start + 1)
    return count


def _count_kept(job: JSONObject, live: JSONObject) -> int:
    """Return how many of the active pods of a live Job stay, if it is as this one says; more than it has are all."""
    if _is_suspended(job):
        return 0
    done, total = _count_done(job, live), get_at(job, ("spec", "completions"))
    most, active = _number(job, "spec", "parallelism", 1), _number(live, "status", "active", 0)
    if not isinstance(total, int):
        return active if done else most
    return max(0, min(most, total - done))


def _fails(job: JSONObject, live: JSONObject) -> bool:
    """Return whether a live Job has failed more often than this one allows."""
    return _number(live, "status", "failed", 0) > _number(job, "spec", "backoffLimit", _USUAL_FAILURES)


def _find_field(live: JSONObject, result: JSONObject) -> str:
    """Return the field by which active pods are deleted, "" if none are."""
    active = _number(live, "status", "active", 0)
    if active > 0 and _fails(result, live) and not _fails(live, live):
        return "backoffLimit"
    if _count_kept(result, live) < min(active, _count_kept(live, live)):
        if _is_suspended(result):
            return "suspend"
        was, now = (_number(job, "spec", "parallelism", 1) for job in (live, result))
        return "parallelism" if now < was else "completions"
    was, now = (get_at(job, ("spec", "activeDeadlineSeconds")) for job in (live, result))
    is_sooner = isinstance(now, int) and (not isinstance(was, int) or now < was)
    return "activeDeadlineSeconds" if active > 0 and is_sooner and not _is_suspended(result) else ""


@rule(247)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that active pods of a live Job are deleted, because of the field that says so."""
    live, result = subject.live, subject.result
    if subject.ref.key[:2] != ("batch", "Job") or live is None or result is None or subject.manifest is None:
        return
    name = _find_field(live, result)
    if not name or get_at(live, ("spec", "managedBy")) not in (None, _CONTROLLER):
        return
    active = _number(live, "status", "active", 0)
    kept = 0 if name == "backoffLimit" else _count_kept(result, live)
    facts = {"name": subject.ref.name, "field": name, "pods": str(active - kept)}
    if name == "activeDeadlineSeconds":
        facts = {"name": subject.ref.name, "field": name, "seconds": str(get_at(result, ("spec", name)))}
    yield JOB_PODS_DELETED.at(fields("spec", name), facts, position_of(subject, ("spec", name)))
