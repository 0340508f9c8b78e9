"""Validate the volumes of a Pod.

Rule: ValidateVolumes in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3, for the sources that people write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, subdomain_problems
from applyviz.kubernetes.parity.status import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from applyviz.kubernetes.v1_36.validation.environment import validate_amount_reference, validate_field_reference
from applyviz.kubernetes.v1_36.validation.volume_sources import validate_less_common

# In the order of the server: the first one present is checked, the others are refused.
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_CHECKED_AS = {"gcePersistentDisk": "persistentDisk"}
_REFUSED_AS = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
# The fields that a source needs, in the order of the server; nothing else is checked of the older sources.
_NAMED_BY = {
    "configMap": ("name",),
    "secret": ("secretName",),
    "persistentVolumeClaim": ("claimName",),
    "awsElasticBlockStore": ("volumeID",),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
_HOST_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_LONGEST_DRIVER = 63
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_volumes(volumes: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    """Yield the problems of all volumes."""
    names: set[str] = set()
    for i, volume in enumerate(volumes):
        problems = list(_validate_volume(volume, f"{path}[{i}]", names))
        yield from problems
        if not problems:
            names.add(volume["name"])


def find_valid_volumes(volumes: Sequence[JSONObject]) -> dict[str, JSONObject]:
    """Return the valid volumes by name: a container can mount no other."""
    valid: dict[str, JSONObject] = {}
    for volume in volumes:
        if not any(_validate_volume(volume, "", {*valid})):
            valid[volume["name"]] = volume
    return valid


def _validate_volume(volume: JSONObject, path: str, others: set[str]) -> Iterator[FieldError]:
    """Yield the problems of a volume; `others` are the names of the valid ones before it."""
    name, sources = volume.get("name", ""), [k for k in _SOURCES if volume.get(k) is not None]
    if not sources:
        yield required(path, "must specify a volume type")
    else:
        yield from validate_source(sources[0], volume[sources[0]], f"{path}.{name_source(sources[0])}")
    for extra in sources[1:]:
        yield forbidden(f"{path}.{_REFUSED_AS.get(extra, extra)}", "may not specify more than 1 volume type")
    if not name:
        yield required(f"{path}.name")
    yield from (invalid(f"{path}.name", name, problem) for problem in (label_problems(name) if name else ()))
    if name in others:
        yield duplicate(f"{path}.name", name)


def name_source(kind: str) -> str:
    """Return what the server calls a source whose fields it refuses."""
    return _CHECKED_AS.get(kind, kind)


def validate_source(
    kind: str, source: JSONObject, path: str, reference: Sequence[str] = ("name",)
) -> Iterator[FieldError]:
    """Yield the problems of what a volume is made of; `reference`: what its reference to a Secret needs."""
    yield from (required(f"{path}.{name}") for name in _NAMED_BY.get(kind, ()) if not source.get(name))
    if kind == "hostPath":
        yield from _validate_host_path(source, path)
    elif kind == "nfs":
        yield from _validate_nfs(source, path)
    elif kind in ("secret", "configMap", "downwardAPI", "projected"):
        yield from _validate_mode(source, "defaultMode", path)
        yield from _validate_files(kind, source, path)
    elif kind in ("cinder", "storageos"):
        yield from _validate_reference(source.get("secretRef"), reference, f"{path}.secretRef")
    elif kind == "csi":
        yield from _validate_csi(source, path)
        yield from _validate_reference(source.get("nodePublishSecretRef"), reference, f"{path}.nodePublishSecretRef")
    else:
        yield from validate_less_common(kind, source, path)


def _validate_host_path(source: JSONObject, path: str) -> Iterator[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from validate_backsteps(source["path"], f"{path}.path")
    if source.get("type") not in (*_HOST_TYPES, None):
        yield not_supported(f"{path}.type", source["type"], _HOST_TYPES)


def _validate_reference(secret: JSONObject | None, needs: Sequence[str], path: str) -> Iterator[FieldError]:
    if secret is not None:
        yield from (required(f"{path}.{name}") for name in needs if not secret.get(name))


def validate_driver_name(name: str, path: str) -> Iterator[FieldError]:
    """Yield the problems of the name of a driver of volumes or devices."""
    if not name:
        yield required(path)
        return
    if len(name) > _LONGEST_DRIVER:
        yield too_long(path, _LONGEST_DRIVER)
    yield from (invalid(path, name, problem) for problem in subdomain_problems(name.lower()))


def _validate_csi(source: JSONObject, path: str) -> Iterator[FieldError]:
    yield from validate_driver_name(source.get("driver", ""), f"{path}.driver")
    name = (source.get("nodePublishSecretRef") or {}).get("name", "")
    yield from (invalid(f"{path}.name", name, problem) for problem in (subdomain_problems(name) if name else ()))


def _validate_nfs(source: JSONObject, path: str) -> Iterator[FieldError]:
    yield from (required(f"{path}.{name}") for name in ("server", "path") if not source.get(name))
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _validate_files(kind: str, source: JSONObject, path: str) -> Iterator[FieldError]:
    if kind == "downwardAPI":
        for item in source.get("items") or ():
            yield from _validate_field_file(item, path)
    elif kind == "projected":
        for i, part in enumerate(source.get("sources") or ()):
            yield from _validate_part(part, f"{path}.sources[{i}]")
        yield from _validate_collisions(source, path)
    else:
        for i, item in enumerate(source.get("items") or ()):
            yield from _validate_item(item, f"{path}.items[{i}]")


def _validate_collisions(source: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the files that two parts of a projected volume would write."""
    seen: set[str] = set()
    for part in source.get("sources") or ():
        for kind in ("secret", "configMap", "downwardAPI"):
            for item in (part.get(kind) or {}).get("items") or ():
                file = item.get("path", "")
                if file and file in seen:
                    shown = file if kind == "downwardAPI" else part[kind].get("name", "")
                    yield invalid(path, shown, "conflicting duplicate paths")
                seen.add(file)


def _validate_part(part: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of one source of a projected volume."""
    for kind in ("secret", "configMap", "downwardAPI"):
        if part.get(kind) is not None:
            if kind != "downwardAPI" and not part[kind].get("name"):
                yield required(f"{path}.{kind}.name")
            yield from _validate_files(kind, part[kind], f"{path}.{kind}")
    token = part.get("serviceAccountToken")
    if token is not None:
        seconds = token.get("expirationSeconds", 3600)
        if seconds < 600:
            at = f"{path}.serviceAccountToken.expirationSeconds"
            yield invalid(at, seconds, "may not specify a duration less than 10 minutes")
        if not token.get("path"):
            yield required(f"{path.rpartition('.')[0]}.path")
    if sum(value is not None for value in part.values()) > 1:
        yield forbidden(path, "may not specify more than 1 volume type per source")


def _validate_item(item: JSONObject, path: str) -> Iterator[FieldError]:
    yield from (required(f"{path}.{name}") for name in ("key", "path") if not item.get(name))
    yield from _validate_file_path(item.get("path", ""), f"{path}.path")
    yield from _validate_mode(item, "mode", path)


def _validate_field_file(item: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a file with a field of the Pod; the server names no position in the list."""
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from _validate_file_path(item.get("path", ""), f"{path}.path")
    if item.get("fieldRef") is not None:
        yield from validate_field_reference(item["fieldRef"], f"{path}.fieldRef", is_file=True)
        if item.get("resourceFieldRef") is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif item.get("resourceFieldRef") is not None:
        yield from validate_amount_reference(item["resourceFieldRef"], f"{path}.resourceFieldRef", is_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _validate_mode(item, "mode", path)


def _validate_mode(owner: JSONObject, name: str, path: str) -> Iterator[FieldError]:
    mode = owner.get(name)
    if isinstance(mode, int) and not 0 <= mode <= 0o777:
        yield invalid(f"{path}.{name}", mode, _MODE)


def validate_backsteps(text: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of a path that leaves its folder."""
    if has_backsteps(text):
        yield invalid(path, text, "must not contain '..'")


def has_backsteps(text: str) -> bool:
    """Return whether a path leaves its folder."""
    return ".." in text.split("/")


def validate_relative(text: str, path: str) -> Iterator[FieldError]:
    """Yield the problems of a path that must stay within a volume."""
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path")
    yield from validate_backsteps(text, path)


def _validate_file_path(text: str, path: str) -> Iterator[FieldError]:
    yield from validate_relative(text, path)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid(path, text, "must not start with '..'")
