"""Kinds that are served in several API groups, and what the deletion of an object reaches beyond it.

Rule: a kind of each line below has the same objects in all of its groups. Kubernetes stores them once, by the
cohabitating resources of kube-apiserver (`pkg/kubeapiserver/default_storage_factory_builder.go`); OpenShift has
other groups for RBAC and namespaces. A rule about a kind counts in each of its groups. Kinds of other aggregated
APIs are unknown.
"""

from __future__ import annotations

from typing import Final

Kind = tuple[str, str]
"""A group ("" for core) and a kind."""
EVERY_KIND: Final = "*"
"""Stands for all kinds where names of kinds are listed."""
NAMESPACE: Final[Kind] = ("", "Namespace")
CRD: Final[Kind] = ("apiextensions.k8s.io", "CustomResourceDefinition")
_RBAC = "rbac.authorization.k8s.io"
_STORED: Final[dict[Kind, Kind]] = {
    ("events.k8s.io", "Event"): ("", "Event"),
    ("extensions", "Ingress"): ("networking.k8s.io", "Ingress"),
    ("extensions", "NetworkPolicy"): ("networking.k8s.io", "NetworkPolicy"),
    ("extensions", "PodSecurityPolicy"): ("policy", "PodSecurityPolicy"),
    ("project.openshift.io", "Project"): NAMESPACE,
    **{("extensions", kind): ("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet")},
    **{
        ("authorization.openshift.io", kind): (_RBAC, kind)
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
}
SPACES: Final = (NAMESPACE, *(kind for kind, stored in _STORED.items() if stored == NAMESPACE))
"""The kinds whose deletion deletes everything in the namespace of their name."""
DEFINITIONS: Final = (CRD,)
"""The kinds whose deletion deletes every object of the kind that they define."""


def find_stored(group: str, kind: str) -> Kind:
    """Return the kind under which rules know an object, whatever group serves it."""
    return _STORED.get((group, kind), (group, kind))


def list_same(group: str, kind: str) -> tuple[Kind, ...]:
    """Return the kinds that have the same objects, the kind itself among them."""
    stored = find_stored(group, kind)
    return (stored, *(other for other, one in _STORED.items() if one == stored))


def list_kind_names(group: str, kind: str) -> frozenset[str]:
    """Return the names of the kinds that have the same objects: `core/Event`, `events.k8s.io/Event`."""
    return frozenset(f"{group or 'core'}/{kind}" for group, kind in list_same(group, kind))


def find_defined_group(group: str, kind: str, name: str) -> str:
    """Return the group of the objects that go with a deleted definition, by its name; "" for another kind."""
    return name.partition(".")[2] if (group, kind) in DEFINITIONS else ""
