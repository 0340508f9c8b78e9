"""Pods that go, while others come: with an object that is deleted and created again, or with other numbers.

Rule: the garbage collector deletes the pods of a deleted owner, and the new object starts its own, whatever its update
strategy says. Deletion with orphans keeps them: a workload adopts those that its selector matches, and replaces them
where their template is another (https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents).

A StatefulSet that counts from another number (`pkg/controller/statefulset/stateful_set_control.go`) creates each pod
whose number is missing, then deletes those whose number is outside; with `OrderedReady`, not before all others are
ready. A claim belongs to a number. Where claims go with their pods is another risk, `ends-objects`.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.ordinals import list_missing, read_ordinals
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.selectors import read_selector
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.restarts import PODS_RESTART, count_pods, is_workload
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, position_of

_LABELS = ("spec", "template", "metadata", "labels")
_SCALED = (("apps", "ReplicaSet"), ("", "ReplicationController"))
_POD, _JOB = ("", "Pod"), ("batch", "Job")


def is_adopting(ref: ObjectRef, live: JSONObject, result: JSONObject) -> bool:
    """Return whether the new workload adopts the pods that the deleted one leaves behind."""
    selector = read_selector(get_at(result, ("spec", "selector")))
    is_adopter = is_workload(ref) or ref.key[:2] in _SCALED
    return is_adopter and selector is not None and selector.matches(get_at(live, _LABELS) or {})


def _count(ref: ObjectRef, obj: JSONObject) -> int | None:
    """Return the number of running or desired pods of an object; None if unknown."""
    key = ref.key[:2]
    if is_workload(ref) or key in _SCALED:
        return count_pods(ref.gvk.kind, obj)
    if key == _JOB:
        active = get_at(obj, ("status", "active"), 0)
        return active if isinstance(active, int) else 0
    return int(key == _POD and get_at(obj, ("status", "phase")) not in ENDED_PHASES)


def find_replaced(ref: ObjectRef, live: JSONObject, result: JSONObject) -> Iterator[Risk]:
    """Yield the risk of the pods that stop with a deleted object, whose successor starts new ones.

    - An object that wants no pods afterwards restarts none: it is scaled to 0.
    """
    stopped, is_job = _count(ref, live), ref.key[:2] == _JOB
    started = None if is_job or ref.gvk.kind == "DaemonSet" else _count(ref, result)
    if stopped == 0 or started == 0 or (is_job and get_at(result, ("spec", "suspend")) is True):
        return
    facts = {"owner": ref.gvk.kind, "pods": "" if stopped is None else str(stopped)}
    facts |= {} if started is None else {"starts": str(started)}
    facts |= {} if is_job else {"stops": "all"}
    yield PODS_RESTART.at(facts=facts, level=RiskLevel.MEDIUM if is_job else RiskLevel.HIGH)


_START = ("spec", "ordinals", "start")


def _describe_numbers(f: Facts) -> Templates:
    makes = ", and creates {created}" if f["created"] else ""
    parts = [f"StatefulSet {{name}} counts its pods from {{start}}: Kubernetes deletes {{deleted}}{makes}."]
    if f["claims"] and f["created"]:
        parts.append("A claim belongs to the number of its pod: the new pods do not get the data of the deleted ones.")
    if f["stops"]:
        parts.append("It does not wait until new pods are ready (podManagementPolicy Parallel).")
    return tuple(parts)


PODS_RENUMBERED = RiskKind("pods-renumbered", "Pods are renumbered", _describe_numbers)


def _name(owner: str, rows: tuple[range, ...]) -> str:
    """Return the names of pods, of each row of numbers the first and the last: `db-0, db-5 to db-9`."""
    ends = (dict.fromkeys((f"{owner}-{row[0]}", f"{owner}-{row[-1]}")) for row in rows)
    return ", ".join(" to ".join(names) for names in ends)


@rule(248)
def find_renumbered(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that a live StatefulSet gives its pods other numbers, with those that go and those that come."""
    live, result = subject.live, subject.result
    if subject.ref.key[:2] != ("apps", "StatefulSet") or live is None or result is None or subject.manifest is None:
        return
    before, after = read_ordinals(live), read_ordinals(result)
    deleted, created = list_missing(before, after), list_missing(after, before)
    if before.start == after.start or not deleted:
        return
    owner = subject.ref.name
    has_claims = bool(list_at(result, "spec", "volumeClaimTemplates"))
    is_parallel = get_at(result, ("spec", "podManagementPolicy")) == "Parallel"
    facts = {
        "name": owner,
        "start": str(after.start),
        "deleted": _name(owner, deleted),
        "created": _name(owner, created),
        "claims": "kept apart" if has_claims else "",
        "stops": "at once" if is_parallel and created else "",
    }
    level = RiskLevel.HIGH if has_claims and created else RiskLevel.MEDIUM
    yield PODS_RENUMBERED.at(fields(*_START), facts, position_of(subject, _START), level=level)
