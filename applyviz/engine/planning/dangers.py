"""The classes of changes for which a policy may ask for more consent.

Rule: what deletes, what takes fields from others, and what changes the rights, the rules or the shape of a whole
cluster rather than one workload (RBAC, admission, definitions of kinds, namespaces, `kube-*`). Read from what will
be sent and to which object, never from what a manifest calls itself.
"""

from __future__ import annotations

from enum import StrEnum

from applyviz.engine.planning.plan import ObjectChange, Operation


class DangerClass(StrEnum):
    """The closed set; `MANY` is a matter of the plan as a whole."""

    PRUNE = "prune"
    RECREATE = "delete + create"
    TAKE_OVER = "take over"
    RBAC = "rbac"
    CRD = "crd"
    WEBHOOK = "webhook"
    NAMESPACE = "namespace"
    CLUSTER_SCOPED = "cluster-scoped"
    SYSTEM = "kube-system"
    MANY = "many objects"


_OF_GROUP = {
    "rbac.authorization.k8s.io": DangerClass.RBAC,
    "apiextensions.k8s.io": DangerClass.CRD,
    "apiregistration.k8s.io": DangerClass.CRD,
    "admissionregistration.k8s.io": DangerClass.WEBHOOK,
}
_OF_OPERATION = {Operation.PRUNE: DangerClass.PRUNE, Operation.RECREATE: DangerClass.RECREATE}
_SYSTEM_PREFIX = "kube-"


def _takes_over(change: ObjectChange) -> bool:
    return any(r.is_write and r.query.get("force") == "true" for r in change.requests)


def classify(change: ObjectChange) -> tuple[DangerClass, ...]:
    """The classes of one change, in their order; none for a change that writes nothing.

    - A refused change counts: once its conflicts are decided, it is written.
    """
    if change.operation in (Operation.UNCHANGED, Operation.ERROR):
        return ()
    ref = change.ref
    found = {_OF_GROUP.get(ref.gvk.group), _OF_OPERATION.get(change.operation)}
    is_namespace = ref.gvk.group == "" and ref.gvk.kind == "Namespace"
    if is_namespace:
        found.add(DangerClass.NAMESPACE)
    if not ref.namespace:
        found.add(DangerClass.CLUSTER_SCOPED)
    if (ref.name if is_namespace else ref.namespace).startswith(_SYSTEM_PREFIX):
        found.add(DangerClass.SYSTEM)
    if _takes_over(change):
        found.add(DangerClass.TAKE_OVER)
    return tuple(danger for danger in DangerClass if danger in found)
