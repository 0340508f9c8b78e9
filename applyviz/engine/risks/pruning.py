"""Prune removes a large share of a set, or a kind whose deletion deletes other objects.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-to-delete-objects: objects
outside the manifests are deleted; deleting a Namespace, a CustomResourceDefinition or a volume deletes its content.
"""

from __future__ import annotations

from collections.abc import Sequence

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel

CRITICAL_KINDS = frozenset(
    ("Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim", "StatefulSet")
)
LARGE_SHARE = 0.3
SMALL_SET = 3


def find_prune_risks(pruned: Sequence[ObjectRef], members: int) -> tuple[Risk, ...]:
    """Return the risks of deleting `pruned` from a set that now has `members` live objects."""
    found = [
        Risk(RiskKind.PRUNE_SHARE, RiskLevel.HIGH, (), {"what": str(ref), "kind": ref.gvk.kind})
        for ref in pruned
        if ref.gvk.kind in CRITICAL_KINDS
    ]
    if members and len(pruned) >= SMALL_SET and len(pruned) / members >= LARGE_SHARE:
        facts = {"pruned": str(len(pruned)), "members": str(members)}
        found.append(Risk(RiskKind.PRUNE_SHARE, RiskLevel.HIGH, (), facts))
    return tuple(found)
