"""API versions that are deprecated, removed, or not served by the cluster.

Rule: https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for built-in kinds, `deprecated` and `served` of
a CustomResourceDefinition's versions for custom ones, discovery for both.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import get_at
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.immutable import find_version
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import position_of

# apiVersion: {kind ("" for every kind): (removed in, replacement)}
REMOVED: dict[str, dict[str, tuple[str, str]]] = {
    "extensions/v1beta1": {
        "Ingress": ("1.22", "networking.k8s.io/v1"),
        "NetworkPolicy": ("1.16", "networking.k8s.io/v1"),
        "": ("1.16", "apps/v1"),
    },
    "apps/v1beta1": {"": ("1.16", "apps/v1")},
    "apps/v1beta2": {"": ("1.16", "apps/v1")},
    "networking.k8s.io/v1beta1": {
        "Ingress": ("1.22", "networking.k8s.io/v1"),
        "IngressClass": ("1.22", "networking.k8s.io/v1"),
    },
    "rbac.authorization.k8s.io/v1beta1": {"": ("1.22", "rbac.authorization.k8s.io/v1")},
    "rbac.authorization.k8s.io/v1alpha1": {"": ("1.23", "rbac.authorization.k8s.io/v1")},
    "apiextensions.k8s.io/v1beta1": {"": ("1.22", "apiextensions.k8s.io/v1")},
    "apiregistration.k8s.io/v1beta1": {"": ("1.22", "apiregistration.k8s.io/v1")},
    "admissionregistration.k8s.io/v1beta1": {
        "MutatingWebhookConfiguration": ("1.22", "admissionregistration.k8s.io/v1"),
        "ValidatingWebhookConfiguration": ("1.22", "admissionregistration.k8s.io/v1"),
        "ValidatingAdmissionPolicy": ("1.34", "admissionregistration.k8s.io/v1"),
        "ValidatingAdmissionPolicyBinding": ("1.34", "admissionregistration.k8s.io/v1"),
    },
    "authentication.k8s.io/v1beta1": {"TokenReview": ("1.22", "authentication.k8s.io/v1")},
    "authorization.k8s.io/v1beta1": {"": ("1.22", "authorization.k8s.io/v1")},
    "certificates.k8s.io/v1beta1": {"CertificateSigningRequest": ("1.22", "certificates.k8s.io/v1")},
    "coordination.k8s.io/v1beta1": {"Lease": ("1.22", "coordination.k8s.io/v1")},
    "scheduling.k8s.io/v1beta1": {"": ("1.22", "scheduling.k8s.io/v1")},
    "storage.k8s.io/v1beta1": {
        "CSIDriver": ("1.22", "storage.k8s.io/v1"),
        "CSINode": ("1.22", "storage.k8s.io/v1"),
        "StorageClass": ("1.22", "storage.k8s.io/v1"),
        "VolumeAttachment": ("1.22", "storage.k8s.io/v1"),
        "CSIStorageCapacity": ("1.27", "storage.k8s.io/v1"),
    },
    "batch/v1beta1": {"": ("1.25", "batch/v1")},
    "discovery.k8s.io/v1beta1": {"": ("1.25", "discovery.k8s.io/v1")},
    "events.k8s.io/v1beta1": {"": ("1.25", "events.k8s.io/v1")},
    "policy/v1beta1": {
        "PodDisruptionBudget": ("1.25", "policy/v1"),
        "PodSecurityPolicy": ("1.25", "Pod Security admission"),
    },
    "node.k8s.io/v1beta1": {"": ("1.25", "node.k8s.io/v1")},
    "autoscaling/v2beta1": {"": ("1.25", "autoscaling/v2")},
    "autoscaling/v2beta2": {"": ("1.26", "autoscaling/v2")},
    "flowcontrol.apiserver.k8s.io/v1beta1": {"": ("1.26", "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta2": {"": ("1.29", "flowcontrol.apiserver.k8s.io/v1")},
    "flowcontrol.apiserver.k8s.io/v1beta3": {"": ("1.32", "flowcontrol.apiserver.k8s.io/v1")},
}
# Still served, but deprecated.
_DEPRECATED = {
    ("v1", "ComponentStatus"): "the health endpoints of each component",
    ("v1", "Endpoints"): "discovery.k8s.io/v1 EndpointSlice",
}


def _describe_version(f: Facts) -> Templates:
    instead = (Advice.USE_VERSION.value,) if f.get("instead") else ()
    if f["state"] == "not-served":
        return ("The cluster does not serve {version} {kind}.", *instead)
    if f["state"] == "removed":
        return ("{version} {kind} was removed in Kubernetes {since}.", *instead)
    # A definition can name its own replacement.
    return ("{version} {kind} is deprecated.", *(("{note}",) if f.get("note") else instead))


DEPRECATED_VERSION = RiskKind(
    "deprecated-version", "Deprecated or removed API version", _describe_version, level=RiskLevel.HIGH
)


def _custom(subject: RiskSubject) -> tuple[str, str] | None:
    version = find_version(subject)
    if get_at(version, ("served",)) is False:
        return "not-served", ""
    if get_at(version, ("deprecated",)) is True:
        return "deprecated", str(get_at(version, ("deprecationWarning",)) or "")
    return None


def _built_in(subject: RiskSubject) -> tuple[str, str, str] | None:
    gvk = subject.ref.gvk
    kinds = REMOVED.get(gvk.api_version, {})
    found = kinds.get(gvk.kind) or kinds.get("")
    if found is not None:
        return "removed", found[1], found[0]
    instead = _DEPRECATED.get((gvk.api_version, gvk.kind))
    return ("deprecated", instead, "") if instead is not None else None


@rule(30)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of an apiVersion that is not served, was removed, or is deprecated."""
    if subject.manifest is None:
        return
    gvk = subject.ref.gvk
    facts = {"version": gvk.api_version, "kind": gvk.kind, "state": "", "instead": "", "since": "", "note": ""}
    built_in, custom = _built_in(subject), _custom(subject)
    if subject.resource_versions and gvk.api_version not in subject.resource_versions:
        facts["state"] = "not-served"
        facts["instead"] = ", ".join(subject.resource_versions)
    elif built_in is not None:
        facts["state"], facts["instead"], facts["since"] = built_in
    elif custom is not None:
        facts["state"], facts["note"] = custom
    else:
        return
    level = RiskLevel.MEDIUM if facts["state"] == "deprecated" else RiskLevel.HIGH
    yield DEPRECATED_VERSION.at(fields("apiVersion"), facts, position_of(subject, ("apiVersion",)), level=level)
