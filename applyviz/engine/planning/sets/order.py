"""Order the changes of a plan in steps.

Rule: dependencies come first: namespaces, then definitions of kinds, accounts and permissions, policies and
configuration, storage, services, workloads, controllers of workloads, then custom resources, and webhooks last.
Deletions go in reverse order, after everything else. In as-given order each object is a step.
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import Order

_RANKS: tuple[tuple[tuple[str, str], ...], ...] = (
    (NAMESPACE,),
    (CRD,),
    (
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("networking.k8s.io", "IngressClass"),
        ("", "ResourceQuota"),
        ("", "LimitRange"),
        ("networking.k8s.io", "NetworkPolicy"),
    ),
    (
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "Role"),
    ),
    (("rbac.authorization.k8s.io", "ClusterRoleBinding"), ("rbac.authorization.k8s.io", "RoleBinding")),
    (("", "ConfigMap"), ("", "Secret")),
    (("", "PersistentVolume"), ("", "PersistentVolumeClaim")),
    (("", "Service"), ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")),
    (
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("", "ReplicationController"),
        ("", "Pod"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    ),
    (
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("policy", "PodDisruptionBudget"),
        ("networking.k8s.io", "Ingress"),
        ("apiregistration.k8s.io", "APIService"),
    ),
    (),
    (
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ),
)
_RANK_OF = {kind: rank for rank, kinds in enumerate(_RANKS) for kind in kinds}
_BUILT_IN_LAST = len(_RANKS) - 3
_CUSTOM = len(_RANKS) - 2
_DELETIONS = len(_RANKS)
_LAST = 3 * _DELETIONS


def rank_kind(gvk: GroupVersionKind) -> int:
    """Return the rank of a kind; unranked kinds go with the other built-in kinds, or with custom resources."""
    rank = _RANK_OF.get((gvk.group, gvk.kind))
    if rank is not None:
        return rank
    return _CUSTOM if "." in gvk.group and not gvk.group.endswith(".k8s.io") else _BUILT_IN_LAST


def _rank_parent(parent: ObjectRef, changes: Iterable[PlannedObject]) -> int:
    """Return the rank of an ApplySet's parent: written before its members, but after a namespace that it needs."""
    namespace = (*NAMESPACE, "", parent.namespace)
    return 0 if any(c.ref.key == namespace and c.operation is Operation.CREATE for c in changes) else -1


def _list_ranks(changes: tuple[PlannedObject, ...], parent: ObjectRef | None) -> list[tuple[int, int]]:
    ranks = []
    parent_rank = -1 if parent is None else _rank_parent(parent, changes)
    for change in changes:
        if parent is None or change.ref != parent:
            ranks.append((rank_change(change), 0))
            continue
        ranks.append((parent_rank, 1))
        parent_rank = _LAST
    return ranks


def rank_change(change: PlannedObject) -> int:
    """Return the rank of a change; deletions come after everything else."""
    rank = rank_kind(change.ref.gvk)
    is_reverse = change.operation.is_deletion or change.operation is Operation.NOT_FOUND
    return 2 * _DELETIONS - rank if is_reverse else rank


def order_steps(
    changes: Iterable[PlannedObject], order: Order = Order.DEPENDENCY, *, parent: ObjectRef | None = None
) -> tuple[PlannedObject, ...]:
    """Return the changes in the order of application, each with its step (from 0, without gaps).

    - `parent`: of an ApplySet; its first change comes before the members, its second one after everything.
    """
    changes = tuple(changes)
    if order is Order.AS_GIVEN:
        return tuple(replace(change, step=n) for n, change in enumerate(changes))
    ranks = _list_ranks(changes, parent)
    steps = {rank: n for n, rank in enumerate(sorted(set(ranks)))}
    placed = [replace(change, step=steps[rank]) for change, rank in zip(changes, ranks, strict=True)]
    return tuple(sorted(placed, key=lambda c: c.step))
