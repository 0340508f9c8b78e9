"""Names that several packages share: what identifies an object, what kubectl records, what the server writes.

Rule: https://kubernetes.io/docs/reference/labels-annotations-taints/ and the ObjectMeta of the API conventions.
"""

from __future__ import annotations

from typing import Final

from applyviz.engine.objects.paths import FieldPath, fields

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which client-side apply records the manifest."""
LAST_APPLIED_PATH: Final = fields("metadata", "annotations", LAST_APPLIED)
CLIENT_SIDE_MANAGER: Final = "kubectl-client-side-apply"
"""The field manager of kubectl's client-side apply."""
PART_OF: Final = "applyset.kubernetes.io/part-of"
"""The label that names the ApplySet of a member."""
NAMING: Final[frozenset[FieldPath]] = frozenset(
    (fields("apiVersion"), fields("kind"), fields("metadata", "name"), fields("metadata", "namespace"))
)
"""The fields that say which object a manifest is."""
SERVER_WRITTEN: Final = frozenset(
    ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
)
"""The fields of metadata that the server writes, whatever a manifest says."""
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""The finalizers that stand for how dependents are deleted."""
ENDED_PHASES: Final = ("Succeeded", "Failed")
"""The phases in which no container of a pod runs again."""
REQUESTER: Final = ("username", "uid", "groups", "extra")
"""The fields of the spec of a CertificateSigningRequest in which the server records who sent it."""
