"""Kinds whose updates must name a resourceVersion; for the others 0 or none means: whatever the version is.

Rule: `AllowUnconditionalUpdate` of each strategy in kubernetes/kubernetes; custom resources never allow it. Asked of a
v1.36 server: it applies a Service with resourceVersion 0, and refuses a Lease.
"""

from __future__ import annotations

from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Resource

NO_UNCONDITIONAL_UPDATE = frozenset(
    {
        "customresourcedefinitions", "runtimeclasses", "poddisruptionbudgets", "csidrivers", "csistoragecapacities",
        "volumeattachments", "csinodes", "leases", "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
        "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings", "apiservices",
    }
)  # fmt: skip
ANY_VERSION = "0"
"""The resourceVersion that binds a write to no version, as an empty one does."""


def can_name_any_version(resource: Resource) -> bool:
    """Return whether an update of this kind may name `ANY_VERSION`."""
    return bundled().find_resource(resource.gvk) is not None and resource.plural not in NO_UNCONDITIONAL_UPDATE
