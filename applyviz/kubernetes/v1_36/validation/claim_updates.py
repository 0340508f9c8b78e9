"""Validation of changes of PersistentVolumeClaims.

Rule: `pkg/apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.kubernetes.parity.equality import find_topology, is_equal
from applyviz.kubernetes.parity.line_differences import render_differences
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, forbidden, invalid
from applyviz.kubernetes.v1_36.validation.selectors import order_selector

_CLAIM_UPDATE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
# The annotation that named the class of a claim before there was a field.
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _is_class_moved(obj: JSONObject, live: JSONObject) -> bool:
    """Return whether the class of a claim moves from its annotation to its field."""
    named, had_named = ((one["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION) for one in (obj, live))
    is_same_class = had_named is not None and obj["spec"].get("storageClassName") == had_named
    return is_same_class and "storageClassName" not in live["spec"] and named in (None, had_named)


def validate_claim_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    """Yield the forbidden changes of an update of a claim; the server prints the lines of its struct that differ."""
    named, had_named = ((one["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION, "") for one in (obj, live))
    if named != had_named and not _is_class_moved(obj, live):
        yield invalid(f"metadata.annotations.{CLASS_ANNOTATION}", named, IMMUTABLE)
    spec, before = map(_order_fields, _align_free_fields(obj, live))
    if not _is_same_spec(_without_empty(spec), _without_empty(before)):
        yield forbidden("spec", f"{_CLAIM_UPDATE}\n{render_differences(before, spec)}")
    asked, had = (_read_size(get_at(one, ("spec", "resources", "requests"))) for one in (obj, live))
    if asked < had and asked <= _read_size(get_at(live, ("status", "capacity"))):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    if obj["spec"].get("volumeMode") != live["spec"].get("volumeMode"):
        yield invalid("volumeMode", obj["spec"].get("volumeMode"), IMMUTABLE)


def _read_size(amounts: JSONObject | None) -> Decimal:
    parsed = parse_quantity(str((amounts or {}).get("storage", "0")))
    return Decimal(0) if parsed is None else parsed[0]


def _without_empty(ordered: JSONObject) -> JSONObject:
    """Return the fields of a struct as the server compares them: empty lists and maps count as missing."""
    resources = {name.lower(): amounts or None for name, amounts in ordered["Resources"].items()}
    return {**ordered, "AccessModes": ordered["AccessModes"] or None, "Resources": resources}


def _is_same_spec(spec: JSONObject, before: JSONObject) -> bool:
    """Return whether two ordered specs are equal to the server; of their fields, only the resources are amounts."""
    at = find_topology("v1", "PersistentVolumeClaim", "spec", "resources")
    return all(is_equal(spec[name], before[name], at if name == "Resources" else None) for name in spec)


def _align_free_fields(obj: JSONObject, live: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the new and the old spec of a claim, with equal values in the fields that may change.

    - The volume name can be set once, and so can the class, unless an annotation names one. A bound claim may ask for
      more space, and for another class of its attributes.
    """
    spec, before = obj["spec"], live["spec"]
    had_class = "storageClassName" in before or CLASS_ANNOTATION in (live["metadata"].get("annotations") or {})
    if not before.get("volumeName"):
        before = _with(before, "volumeName", spec.get("volumeName"))
    if not had_class or _is_class_moved(obj, live):
        spec = _with(spec, "storageClassName", before.get("storageClassName"))
    if (live.get("status") or {}).get("phase") != "Bound":
        return spec, before
    spec = _with(spec, "volumeAttributesClassName", before.get("volumeAttributesClassName"))
    requests = get_at(spec, ("resources", "requests"))
    if requests:
        had = (get_at(before, ("resources", "requests")) or {}).get("storage", "0")
        spec = {**spec, "resources": {**spec["resources"], "requests": {**requests, "storage": had}}}
    return spec, before


def _with(spec: JSONObject, name: str, value: JSONValue) -> JSONObject:
    kept = {key: one for key, one in spec.items() if key != name}
    return kept if value is None else {**kept, name: value}


def _order_fields(spec: JSONObject) -> JSONObject:
    """Return a spec as the server prints its struct: all fields, in the order of their declaration."""
    resources, selector = spec.get("resources") or {}, spec.get("selector")
    return {
        "AccessModes": spec.get("accessModes"),
        "Selector": None if selector is None else order_selector(selector),
        "Resources": {
            name.capitalize(): None if (amounts := resources.get(name)) is None else dict(sorted(amounts.items()))
            for name in ("limits", "requests")
        },
        "VolumeName": spec.get("volumeName", ""),
        "StorageClassName": spec.get("storageClassName"),
        "VolumeMode": spec.get("volumeMode"),
        "DataSource": _order_source(spec.get("dataSource"), "Kind", "Name"),
        "DataSourceRef": _order_source(spec.get("dataSourceRef"), "Kind", "Name", "Namespace"),
        "VolumeAttributesClassName": spec.get("volumeAttributesClassName"),
    }


def _order_source(source: JSONObject | None, *names: str) -> JSONObject | None:
    if source is None:
        return None
    return {"APIGroup": source.get("apiGroup"), **{name: source.get(name.lower()) for name in names}}
