"""Write the status of a namespace that is still terminating, as the namespace controller does.

Rule: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and k8s.io/kubernetes
`pkg/controller/namespace/deletion/status_condition_utils.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.storage.definitions import make_condition
from applyviz.sandbox.storage.store import ObjectKey

_FINE = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


def describe_rest(namespace: MutableObject, left: Sequence[tuple[ObjectKey, JSONObject]], now: str) -> None:
    """Write the conditions that say what a namespace still waits for."""
    fresh = [make_condition(kind, "False", reason, message, now) for kind, reason, message in _FINE]
    names = Counter(f"{key.plural}.{key.group}" for key, _ in left)
    remaining = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(names.items()))
    message = f"Some resources are remaining: {remaining}"
    fresh.append(make_condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", message, now))
    finalizers = Counter(f for _, obj in left for f in obj["metadata"].get("finalizers") or ())
    if finalizers:
        remaining = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
        message = f"Some content in the namespace has finalizers remaining: {remaining}"
        fresh.append(make_condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message, now))
    else:
        message = "All content-preserving finalizers finished"
        fresh.append(make_condition("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", message, now))
    status = namespace["status"] = {**(namespace.get("status") or {})}
    known = {c["type"]: c for c in status.get("conditions") or ()}
    for condition in fresh:
        before = known.get(condition["type"])
        if before is not None and before["status"] == condition["status"]:
            condition["lastTransitionTime"] = before["lastTransitionTime"]
        known[condition["type"]] = condition
    status["conditions"] = list(known.values())
