"""The fields that a write cannot own: the main resource excludes `status`, `/status` excludes `spec`.

Rule: the reset fields of the API server's strategies. The tables list the kinds that differ from the general rule;
kinds without a status subresource exclude nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.refs import GroupVersionKind

STATUS = fields("status")
SPEC = fields("spec")
METADATA = fields("metadata")

_STATUS_OF: Mapping[tuple[str, str], tuple[FieldPath, ...]] = {
    ("apps", "Deployment"): (SPEC, fields("metadata", "labels")),
    ("", "Pod"): (SPEC, fields("metadata", "deletionTimestamp"), fields("metadata", "ownerReferences")),
    ("certificates.k8s.io", "CertificateSigningRequest"): (SPEC, fields("status", "conditions")),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (SPEC, METADATA),
    ("apiregistration.k8s.io", "APIService"): (SPEC, METADATA),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): (SPEC, METADATA),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (SPEC, METADATA),
    ("networking.k8s.io", "ServiceCIDR"): (SPEC, METADATA),
    ("resource.k8s.io", "ResourceClaim"): (SPEC, METADATA),
    ("storage.k8s.io", "VolumeAttachment"): (SPEC, METADATA),
}
_MAIN_OF: Mapping[tuple[str, str], tuple[FieldPath, ...]] = {
    ("certificates.k8s.io", "CertificateSigningRequest"): (SPEC, STATUS),
}
_OTHERS: Mapping[tuple[str, str, str], tuple[FieldPath, ...]] = {
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): (SPEC, fields("status", "certificate")),
    ("", "Namespace", "finalize"): (STATUS,),
}


def list_builtin_resets(
    gvk: GroupVersionKind, subresources: tuple[str, ...]
) -> dict[tuple[str, str], tuple[FieldPath, ...]]:
    """Return the reset fields of a built-in kind at its version, by (subresource, apiVersion)."""
    if "status" not in subresources:
        return {}
    kind = (gvk.group, gvk.kind)
    resets = {"": _MAIN_OF.get(kind, (STATUS,)), "status": _STATUS_OF.get(kind, (SPEC,))}
    for (group, name, subresource), paths in _OTHERS.items():
        if (group, name) == kind and subresource in subresources:
            resets[subresource] = paths
    return {(subresource, gvk.api_version): paths for subresource, paths in resets.items()}
