"""Read the readiness of objects from a phase or a condition.

Rule:
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties.
A result is the text of a state and a sentence.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, get_at

CURRENT, IN_PROGRESS, FAILED = "Current", "InProgress", "Failed"


def find_condition(obj: JSONObject, name: str) -> JSONObject | None:
    """Return the condition of a type, None if the object has none."""
    for condition in get_at(obj, ("status", "conditions")) or ():
        if isinstance(condition, dict) and condition.get("type") == name:
            return condition
    return None


def is_condition(obj: JSONObject, name: str, status: str = "True") -> bool:
    """Return whether a condition has a status."""
    condition = find_condition(obj, name)
    return condition is not None and condition.get("status") == status


def find_message(obj: JSONObject, name: str, otherwise: str) -> str:
    """Return the message of a condition."""
    condition = find_condition(obj, name) or {}
    return condition.get("message") or condition.get("reason") or otherwise


def read_generic(obj: JSONObject) -> tuple[str, str]:
    """Read any other kind: Stalled fails, Reconciling or Ready that is not true is in progress, else it is done."""
    if is_condition(obj, "Stalled"):
        return FAILED, find_message(obj, "Stalled", "is stalled")
    if is_condition(obj, "Reconciling"):
        return IN_PROGRESS, find_message(obj, "Reconciling", "is being reconciled")
    ready = find_condition(obj, "Ready")
    if ready is not None and ready.get("status") != "True":
        return IN_PROGRESS, find_message(obj, "Ready", "is not ready")
    return CURRENT, "is there" if ready is None else "is ready"


def read_definition(obj: JSONObject) -> tuple[str, str]:
    """Return done for an established CustomResourceDefinition, and failed when its names are refused."""
    if is_condition(obj, "NamesAccepted", "False"):
        return FAILED, find_message(obj, "NamesAccepted", "its names are taken")
    if is_condition(obj, "Established"):
        return CURRENT, "is established"
    return IN_PROGRESS, "is not established yet"


def read_claim(obj: JSONObject) -> tuple[str, str]:
    """Return done for a bound claim; a claim that waits for its first consumer cannot progress alone."""
    phase = get_at(obj, ("status", "phase"), "")
    if phase == "Bound":
        return CURRENT, "is bound"
    if phase == "Lost":
        return FAILED, "has lost its volume"
    return IN_PROGRESS, "is not bound yet"


def read_service(obj: JSONObject) -> tuple[str, str]:
    """Return done for a load balancer with an address, and for every other Service."""
    if get_at(obj, ("spec", "type")) != "LoadBalancer":
        return CURRENT, "is there"
    if get_at(obj, ("status", "loadBalancer", "ingress")):
        return CURRENT, "has its address"
    return IN_PROGRESS, "waits for its address"


def read_namespace(obj: JSONObject) -> tuple[str, str]:
    """Return done for an active Namespace."""
    phase = get_at(obj, ("status", "phase"), "Active")
    return (CURRENT, "is active") if phase == "Active" else (IN_PROGRESS, f"is {phase.lower()}")


def read_budget(obj: JSONObject) -> tuple[str, str]:
    """Return done for a PodDisruptionBudget with enough healthy pods."""
    healthy = get_at(obj, ("status", "currentHealthy"), 0)
    desired = get_at(obj, ("status", "desiredHealthy"), 0)
    if healthy >= desired:
        return CURRENT, f"{healthy} of {desired} needed pods are healthy"
    return IN_PROGRESS, f"{healthy} of {desired} needed pods are healthy"


def read_count(obj: JSONObject, name: str) -> int:
    """Return a count of the status; 0 until a controller has written it."""
    value = get_at(obj, ("status", name))
    return value if isinstance(value, int) else 0
