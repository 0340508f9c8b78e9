"""Prepare a request for a certificate for storage: who asks, and which write may change which part.

Rule: the strategies of k8s.io/kubernetes `pkg/registry/certificates/certificates`. Nobody changes what was asked for;
`/approval` changes the conditions alone, and `/status` those that neither approve nor deny, and the certificate.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, clone, get_at
from applyviz.kubernetes.v1_36.validation.certificates import REQUESTS
from applyviz.sandbox.storage.resources import ResourceTarget

APPROVAL = "approval"
_REQUESTER = ("username", "uid", "groups", "extra")


def name_requester(target: ResourceTarget, obj: MutableObject, user: JSONObject) -> None:
    """Write into a new request who sent it, in place; of other kinds nothing changes."""
    if target.plural != REQUESTS or target.struct is None:
        return
    spec = obj.get("spec") or {}
    for name in _REQUESTER:
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
    for condition in conditions:
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or _find_transition(condition, known, now)
    if not conditions:
        (obj.get("status") or {}).pop("conditions", None)


def _keep_conditions(conditions: list[MutableObject], known: list[MutableObject], kind: str) -> None:
    """Keep the conditions of a type as they are live; if their number differs, validation refuses them."""
    positions = [number for number, one in enumerate(conditions) if one.get("type") == kind]
    before = [one for one in known if one.get("type") == kind]
    if len(positions) == len(before):
        for number, one in zip(positions, before, strict=True):
            conditions[number] = clone(one)


def _find_transition(condition: JSONObject, known: list[MutableObject], now: str) -> str:
    same = (one for one in known if all(one.get(name) == condition.get(name) for name in ("type", "status")))
    return next((one["lastTransitionTime"] for one in same if one.get("lastTransitionTime")), now)
