"""The inputs of `playground-kinds.yaml` that no file of `wide` holds, each with the reason.

Most of them cannot be made: kubectl or the server refuses the step before the apply that is asked about, so there is
nothing to compare.
"""

from collections.abc import Mapping

_FIXED = "someone else changes the field first, and the server allows no change of it"
_CLASS = "the Pod names a class that its cluster may have"
_ADDRESS = "the address is outside the range of a cluster that only its server knows"
_BREAKS = "the server breaks down over `$setElementOrder` of maps in a list that is replaced, and closes the connection"
_OWNERS = (
    "the apply leaves the Namespace without owners: kubectl has written last-applied by then, the product writes it "
    "next, so that the server names before-first-apply, too"
)
UNRECORDED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "csidriver-disk.example.com-spec.attachrequired-client-set-null",
            *(f"csinode-node-a-spec.drivers-{how}" for how in ("client-reset", "server-set-null", "server-forced")),
            *(f"job-once-spec.completions-{how}" for how in ("client-set-null", "server-agreed", "client-reset")),
            "persistentvolumeclaim-data-spec.resources-client-reset",
            "persistentvolumeclaim-data-spec.selector-server-set-null",
            *(f"persistentvolume-vol-spec.hostpath-client-{how}" for how in ("reset", "kept-empty")),
            "pod-pod-spec.containers.0.env-server-forced",
            "pod-pod-spec.containers.0.resources-client-kept",
            *(f"pod-pod-spec.{name}-client-kept" for name in ("volumes", "restartpolicy", "hostname")),
            *(f"pod-pod-spec.nodeselector-{how}" for how in ("client-set-null", "server-forced", "server-agreed")),
            *(f"pod-pod-spec.schedulinggates-{how}" for how in ("client-reset", "server-reset", "server-agreed")),
            "priorityclass-high-preemptionpolicy-client-kept",
            "statefulset-store-spec.servicename-client-kept",
            "statefulset-store-spec.volumeclaimtemplates-client-reset",
            *(f"storageclass-fast-parameters-{how}" for how in ("client-kept-empty", "server-given-up")),
        ),
        _FIXED,
    ),
    "pod-pod-spec.priorityclassname-client-bad0": _CLASS,
    "pod-pod-spec.runtimeclassname-client-bad0": _CLASS,
    "service-web-spec.clusterip-client-bad2": _ADDRESS,
    "limitrange-limits-spec.limits-client-order": _BREAKS,
    "validatingwebhookconfiguration-vhook-webhooks.0.rules-client-order": _BREAKS,
    "namespace-space-metadata.annotations-server-client-drop": _OWNERS,
}
