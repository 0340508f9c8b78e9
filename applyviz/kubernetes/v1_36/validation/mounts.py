"""Validate where a container mounts the volumes of its Pod, as folders and as block devices.

Rule: ValidateVolumeMounts and ValidateVolumeDevices in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3. The
server does not read the claims themselves, so their `volumeMode` plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_found_value, not_supported, required
from applyviz.kubernetes.v1_36.validation.volumes import has_backsteps, validate_relative

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_NO_CLAIM = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def validate_mounts(container: JSONObject, path: str, volumes: Mapping[str, JSONObject]) -> Iterator[FieldError]:
    """Yield the problems of the mounts and devices of a container; `volumes` are the valid ones, by name."""
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    # Of several entries with one name, the last one counts for the other list.
    mounted = {mount.get("name", ""): mount.get("mountPath", "") for mount in mounts}
    attached = {device.get("name", ""): device.get("devicePath", "") for device in devices}
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        yield from _validate_mount(mount, f"{path}.volumeMounts[{i}]", volumes, seen)
        yield from _validate_overlap(mount, f"{path}.volumeMounts[{i}]", attached, ("mountPath", "volumeDevices"))
        yield from _validate_options(mount, container, f"{path}.volumeMounts", i)
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(devices):
        yield from _validate_device(device, f"{path}.volumeDevices[{i}]", volumes, names, paths)
        yield from _validate_overlap(device, f"{path}.volumeDevices[{i}]", mounted, ("devicePath", "volumeMounts"))


def _validate_mount(
    mount: JSONObject, path: str, volumes: Mapping[str, JSONObject], seen: set[str]
) -> Iterator[FieldError]:
    name, where = mount.get("name", ""), mount.get("mountPath", "")
    if not name:
        yield required(f"{path}.name")
    if name not in volumes:
        yield not_found_value(f"{path}.name", name)
    if not where:
        yield required(f"{path}.mountPath")
    if where in seen:
        yield invalid(f"{path}.mountPath", where, "must be unique")
    seen.add(where)


def _validate_device(
    device: JSONObject, path: str, volumes: Mapping[str, JSONObject], names: set[str], paths: set[str]
) -> Iterator[FieldError]:
    name, where = device.get("name", ""), device.get("devicePath", "")
    if not name:
        yield required(f"{path}.name")
    if name in names:
        yield invalid(f"{path}.name", name, "must be unique")
    volume = volumes.get(name)
    if volume is None:
        yield not_found_value(f"{path}.name", name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        yield invalid(f"{path}.name", name, _NO_CLAIM)
    if not where:
        yield required(f"{path}.devicePath")
    if where in paths:
        yield invalid(f"{path}.devicePath", where, "must be unique")
    if has_backsteps(where):
        yield invalid(f"{path}.devicePath", where, "can not contain backsteps ('..')")
    else:
        paths.add(where)
    names |= {name} - {""}


def _validate_overlap(
    entry: JSONObject, path: str, others: Mapping[str, str], names: tuple[str, str]
) -> Iterator[FieldError]:
    """Yield the problems of an entry whose name or path the other list has too."""
    field, other = names
    name, where = entry.get("name", ""), entry.get(field, "")
    if name in others:
        yield invalid(f"{path}.name", name, f"must not already exist in {other}")
    if where in others.values():
        yield invalid(f"{path}.{field}", where, f"must not already exist as a path in {other}")


def _validate_options(mount: JSONObject, container: JSONObject, path: str, i: int) -> Iterator[FieldError]:
    """Yield the problems of the other fields of a mount: the server names no position in the list for most."""
    if mount.get("subPath"):
        yield from validate_relative(mount["subPath"], f"{path}.subPath")
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{path}[{i}].subPathExpr", mount["subPathExpr"], detail)
        yield from validate_relative(mount["subPathExpr"], f"{path}.subPathExpr")
    mode = mount.get("mountPropagation")
    if mode is not None and mode not in _PROPAGATIONS:
        yield not_supported(f"{path}.mountPropagation", mode, _PROPAGATIONS)
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{path}.mountPropagation", detail)
    yield from _validate_recursive(mount, f"{path}.recursiveReadOnly")


def _validate_recursive(mount: JSONObject, path: str) -> Iterator[FieldError]:
    mode = mount.get("recursiveReadOnly")
    if mode in (None, "Disabled"):
        return
    if mode not in _RECURSIVE:
        yield not_supported(path, mode, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")
