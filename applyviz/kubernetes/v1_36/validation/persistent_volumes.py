"""Validate PersistentVolumes.

Rule: ValidatePersistentVolumeSpec in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.quantities import parse_quantity
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.claims import validate_access_modes, validate_classes
from applyviz.kubernetes.v1_36.validation.selectors import validate_node_selector
from applyviz.kubernetes.v1_36.validation.volumes import name_source, validate_source

# In the order of the server: the first one present is checked, the others are refused.
_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_POLICIES = ("Delete", "Recycle", "Retain")


def _volume(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    yield from validate_access_modes(spec, "spec")
    yield from _validate_capacity(spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _POLICIES:
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            yield from validate_node_selector(affinity["required"], "spec.nodeAffinity.required")
    yield from _validate_sources(spec)
    yield from validate_classes(spec, "spec")


def _validate_capacity(capacity: JSONObject) -> Iterator[FieldError]:
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported("spec.capacity", {**capacity} if capacity else None, ("storage",))
    for name, text in capacity.items():
        parsed = parse_quantity(str(text))
        if parsed is not None and parsed[0] <= 0:
            yield invalid(f"spec.capacity[{name}]", text, "must be greater than zero")


def _validate_sources(spec: JSONObject) -> Iterator[FieldError]:
    sources = [name for name in _SOURCES if spec.get(name) is not None]
    if not sources:
        yield required("spec", "must specify a volume type")
        return
    path = f"spec.{name_source(sources[0])}"
    yield from validate_source(sources[0], spec[sources[0]], path, ("name", "namespace"))
    yield from (forbidden(f"spec.{name}", "may not specify more than 1 volume type") for name in sources[1:])
    policy, path = spec.get("persistentVolumeReclaimPolicy"), (spec.get("hostPath") or {}).get("path", "")
    if policy == "Recycle" and path and not path.strip("/"):
        yield forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"persistentvolumes": _volume}
