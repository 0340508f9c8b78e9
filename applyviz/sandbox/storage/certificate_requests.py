"""Prepare a CertificateSigningRequest for storage: record the requester, and restore what a write may not change.

Rule: the strategies of k8s.io/kubernetes `pkg/registry/certificates/certificates`. No write changes the spec;
`/approval` changes only the conditions, and `/status` the certificate and all conditions but Approved and Denied.
"""

from __future__ import annotations

from applyviz.engine.objects.known_names import REQUESTER
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.kubernetes.v1_36.validation.certificates import REQUESTS
from applyviz.sandbox.storage.resources import ResourceTarget

APPROVAL = "approval"


def name_requester(target: ResourceTarget, obj: MutableObject, user: JSONObject) -> None:
    """Write into a new request who sent it, in place; of other kinds nothing changes."""
    if target.plural != REQUESTS or target.struct is None:
        return
    spec = obj.get("spec") or {}
    for name in REQUESTER:
        spec.pop(name, None)
        if user.get(name):
            spec[name] = clone(user[name])


def prepare_request(obj: MutableObject, live: JSONObject, subresource: str, now: str) -> None:
    """Revert what a write of a request may not change, and write the times of its conditions, in place.

    - `now` is RFC 3339 in UTC.
    """
    obj["spec"] = clone(live["spec"])
    if not subresource:
        return
    conditions: list[MutableObject] = get_at(obj, ("status", "conditions")) or []
    known: list[MutableObject] = get_at(live, ("status", "conditions")) or []
    if subresource == APPROVAL:
        obj["status"] = {**clone(live.get("status") or {}), "conditions": conditions}
    else:
        for kind in ("Approved", "Denied"):
            _keep_conditions(conditions, known, kind)
    moments = _list_transitions(known)
    for condition in conditions:
        moment = moments.get((condition.get("type"), condition.get("status")), now)
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or moment
    if not conditions:
        (obj.get("status") or {}).pop("conditions", None)


def _keep_conditions(conditions: list[MutableObject], known: list[MutableObject], kind: str) -> None:
    """Restore the live conditions of a type; if there are more or fewer of them, validation refuses the write."""
    positions = [number for number, one in enumerate(conditions) if one.get("type") == kind]
    before = [one for one in known if one.get("type") == kind]
    if len(positions) == len(before):
        for number, one in zip(positions, before, strict=True):
            conditions[number] = clone(one)


def _list_transitions(known: list[MutableObject]) -> dict[tuple[JSONValue, JSONValue], JSONValue]:
    """Return when the first condition of each type and status got it, by both."""
    dated = (one for one in reversed(known) if one.get("lastTransitionTime"))
    return {(one.get("type"), one.get("status")): one["lastTransitionTime"] for one in dated}
