"""Validate PersistentVolumes.

Rule: ValidatePersistentVolumeSpec in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.claims import validate_access_modes, validate_classes
from applyviz.kubernetes.v1_36.validation.selectors import validate_node_selector
from applyviz.kubernetes.v1_36.validation.volumes import name_source, validate_driver_name, validate_source

# In the order of the server: the first one present is checked, the others are refused.
_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_SECRETS = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
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
    name = "volumeAttributesClassName"
    if spec.get(name) == "":
        yield required(f"spec.{name}", "an empty string is disallowed")
    if spec.get(name) is not None and spec.get("csi") is None:
        yield required("spec.csi", f"has to be specified when using {name}")


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
    path, source = f"spec.{name_source(sources[0])}", spec[sources[0]]
    if sources[0] == "csi":
        yield from _validate_csi(source, path)
    else:
        yield from validate_source(sources[0], source, path, ("name", "namespace"))
    yield from (forbidden(f"spec.{name}", "may not specify more than 1 volume type") for name in sources[1:])
    policy, path = spec.get("persistentVolumeReclaimPolicy"), (spec.get("hostPath") or {}).get("path", "")
    if policy == "Recycle" and path and not path.strip("/"):
        yield forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")


def _validate_csi(source: JSONObject, path: str) -> Iterator[FieldError]:
    yield from validate_driver_name(source.get("driver", ""), f"{path}.driver")
    if not source.get("volumeHandle"):
        yield required(f"{path}.volumeHandle")
    for name in (n for n in _SECRETS if source.get(n) is not None):
        for part, find_problems in (("name", subdomain_problems), ("namespace", label_problems)):
            text, at = source[name].get(part, ""), f"{path}.{name}.{part}"
            if not text:
                yield required(at)
            yield from (invalid(at, text, problem) for problem in (find_problems(text) if text else ()))


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"persistentvolumes": _volume}
