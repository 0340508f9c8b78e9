"""Validate the sources of volumes that people rarely write: disks of networks and clouds, images, claims of their own.

Rule: the functions that ValidateVolumes calls in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import validate_annotations, validate_labels
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.claims import validate_claim_spec

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_NAMES = ("iqn", "eui", "naa")
_FORMS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}\Z"),
}
_NO_NAME = "must be valid format starting with iqn, eui, or naa"
_MOST_LUN = 255
_NO_LUN = f"must be between 0 and {_MOST_LUN}, inclusive"
_EITHER_NAME = "must specify either targetWWNs or wwids, but not both"
_BOTH_NAMES = "targetWWNs and wwids can not be specified simultaneously"
_CACHING, _DISKS = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def validate_less_common(kind: str, source: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a source of a volume; nothing of a kind without rules here."""
    rule = _RULES.get(kind)
    yield from rule(source, path) if rule is not None else ()


def _empty_dir(source: JSONObject, path: str) -> Iterator[FieldError]:
    parsed = parse_quantity(str(source.get("sizeLimit") or "0"))
    if parsed is not None and parsed[0] < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _image(source: JSONObject, path: str) -> Iterator[FieldError]:
    policy = source.get("pullPolicy")
    if policy not in (*PULL_POLICIES, None):
        yield not_supported(f"{path}.pullPolicy", policy, PULL_POLICIES)


def _iscsi(source: JSONObject, path: str) -> Iterator[FieldError]:
    yield from (required(f"{path}.{name}") for name in ("targetPortal", "iqn") if not source.get(name))
    for field, shown in (("iqn", "iqn"), ("initiatorName", "initiatorname")):
        name = source.get(field)
        if name and name[:3] not in _NAMES:
            yield invalid(f"{path}.{shown}", name, _NO_NAME)
        elif name and not _FORMS[name[:3]].match(name):
            yield invalid(f"{path}.{shown}", name, "must be valid format")
    if not 0 <= source.get("lun", 0) <= _MOST_LUN:
        yield invalid(f"{path}.lun", source["lun"], _NO_LUN)
    is_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if is_secret and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")


def _fibre_channel(source: JSONObject, path: str) -> Iterator[FieldError]:
    targets, lun = source.get("targetWWNs") or [], source.get("lun")
    if not targets and not source.get("wwids"):
        yield required(f"{path}.targetWWNs", _EITHER_NAME)
    if targets and source.get("wwids"):
        yield invalid(f"{path}.targetWWNs", targets, _BOTH_NAMES)
    if targets and lun is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets and lun is not None and not 0 <= lun <= _MOST_LUN:
        yield invalid(f"{path}.lun", lun, _NO_LUN)


def _azure_disk(source: JSONObject, path: str) -> Iterator[FieldError]:
    kind, address = source.get("kind"), source.get("diskURI", "")
    yield from (required(f"{path}.{name}") for name in ("diskName", "diskURI") if not source.get(name))
    for name, allowed in (("cachingMode", _CACHING), ("kind", _DISKS)):
        if source.get(name) not in (*allowed, None):
            yield not_supported(f"{path}.{name}", source[name], allowed)
    if kind is not None:
        start, form = ("/subscriptions/", _MANAGED) if kind == "Managed" else ("https://", _BLOB)
        if not address.startswith(start):
            yield not_supported(f"{path}.diskURI", address, (form,))


def _own_claim(source: JSONObject, path: str) -> Iterator[FieldError]:
    template, at = source.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if template is None:
        yield required(at)
        return
    meta = template.get("metadata") or {}
    yield from validate_annotations(meta.get("annotations"), f"{at}.metadata.annotations")
    yield from validate_labels(meta.get("labels"), f"{at}.metadata.labels")
    yield from validate_claim_spec(template.get("spec") or {}, f"{at}.spec")


_RULES: Mapping[str, Callable[[JSONObject, str], Iterator[FieldError]]] = {
    "azureDisk": _azure_disk,
    "emptyDir": _empty_dir,
    "ephemeral": _own_claim,
    "fc": _fibre_channel,
    "image": _image,
    "iscsi": _iscsi,
}
