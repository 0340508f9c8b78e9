"""Validation of PersistentVolumeClaims, also as templates of a StatefulSet."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")


def validate_claim_spec(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a claim's spec."""
    if not spec.get("accessModes"):
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_selector(spec.get("selector"), f"{path}.selector")
    yield from validate_access_modes(spec, path)
    yield from validate_classes(spec, path)
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            yield from _validate_source(spec[name], f"{path}.{name}")
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is not None and not _is_same_source(source, reference):
        yield invalid(path, {}, "must match dataSourceRef")
    asked = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in asked:
        yield required(f"{path}.resources[storage]")
        return
    parsed = parse_quantity(str(asked["storage"]))
    if parsed is not None and parsed[0] <= 0:
        yield invalid(f"{path}.resources[storage]", asked["storage"], "must be greater than zero")


def validate_classes(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the storage class and the mode of a claim or volume."""
    for name in ("storageClassName", "volumeAttributesClassName"):
        problems = subdomain_problems(spec[name]) if spec.get(name) else []
        yield from (invalid(f"{path}.{name}", spec[name], problem) for problem in problems)
    if spec.get("volumeMode") not in (*_VOLUME_MODES, None):
        yield not_supported(f"{path}.volumeMode", spec["volumeMode"], _VOLUME_MODES)


def _is_same_source(source: JSONObject, reference: JSONObject) -> bool:
    return all((source.get(name) or "") == (reference.get(name) or "") for name in ("apiGroup", "kind", "name"))


def _validate_source(source: JSONObject, path: str) -> Iterator[FieldError]:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    yield from (required(f"{path}.{name}") for name in ("name", "kind") if not source.get(name))
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, kind, detail)
    yield from (invalid(f"{path}.apiGroup", group, problem) for problem in (subdomain_problems(group) if group else ()))


def validate_access_modes(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the access modes of a claim or volume."""
    modes = spec.get("accessModes") or ()
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
