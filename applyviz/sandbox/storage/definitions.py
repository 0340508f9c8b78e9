"""Write into a definition what the server's controllers do: accepted names, conditions, its termination.

A new CustomResourceDefinition is established before the next request. Rule: k8s.io/apiextensions-apiserver
`pkg/controller` (status, establish, finalizer).
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.engine.ownership import updates
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import CRD_GROUP, CRD_PLURAL, ResourceTarget
from applyviz.sandbox.storage.store import ObjectKey

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_SERVER = "kube-apiserver"
_PROTECTED_GROUPS = ("k8s.io", "kubernetes.io")
_APPROVAL = "api-approved.kubernetes.io"
_NAME_FIELDS = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def namespace_key(name: str) -> ObjectKey:
    """Return the key of a namespace."""
    return ObjectKey("", "namespaces", "", name)


def update_definition(cluster: SandboxCluster, target: ResourceTarget, obj: MutableObject) -> None:
    """Update a definition as the server's controllers do after a create or an update."""
    if target.group == CRD_GROUP and target.plural == CRD_PLURAL:
        _accept_names(cluster, target, obj)


def make_condition(kind: str, status: str, reason: str, message: str, now: str) -> MutableObject:
    """Return a condition that changed now."""
    return {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}


def _find_taken(cluster: SandboxCluster, obj: JSONObject) -> str:
    """Return the name that another definition of the group already uses, else empty text."""
    spec = obj["spec"]
    for other in cluster.store.list(CRD_GROUP, CRD_PLURAL):
        if other["metadata"]["name"] == obj["metadata"]["name"] or other["spec"]["group"] != spec["group"]:
            continue
        known = other.get("status", {}).get("acceptedNames") or {}
        if known.get("kind") == spec["names"]["kind"]:
            return str(known["kind"])
    return ""


def _judge_approval(obj: JSONObject, now: str) -> list[MutableObject]:
    """Return the approval condition; groups of Kubernetes itself need an annotation."""
    group: str = obj["spec"]["group"]
    if not any(group == g or group.endswith("." + g) for g in _PROTECTED_GROUPS):
        return []
    text = (obj["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    kind = "KubernetesAPIApprovalPolicyConformant"
    if text.startswith("unapproved"):
        return [make_condition(kind, "False", "UnapprovedAnnotation", f'not approved: "{text}"', now)]
    return [make_condition(kind, "True", "ApprovedAnnotation", f"approved in {text}", now)]


def _accept_names(cluster: SandboxCluster, target: ResourceTarget, obj: MutableObject) -> None:
    before, status, now = clone(obj), obj.setdefault("status", {}), cluster.now()
    names = obj["spec"]["names"]
    taken = _find_taken(cluster, obj)
    if taken:
        fresh = [make_condition("NamesAccepted", "False", "KindConflict", f'"{taken}" is already in use', now)]
    else:
        status["acceptedNames"] = {k: clone(names[k]) for k in _NAME_FIELDS if names.get(k)}
        fresh = [
            make_condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
            make_condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now),
        ]
    fresh += _judge_approval(obj, now)
    known = {c["type"]: c for c in status.get("conditions") or ()}
    for condition in fresh:
        if known.get(condition["type"], {}).get("status") != condition["status"]:
            known[condition["type"]] = condition
    status["conditions"] = list(known.values())
    if status == before.get("status"):
        return
    obj["metadata"]["managedFields"] = updates.update(
        before, obj, kind=target.kind, manager=_SERVER, subresource="status", now=now
    )
    cluster.save(target, obj)


def mark_terminating(obj: MutableObject, now: str) -> None:
    """Write the condition of a definition whose objects are being deleted."""
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    conditions = obj["status"]["conditions"] = obj["status"].get("conditions") or []
    conditions.append(make_condition("Terminating", "True", "InstanceDeletionPending", message, now))
