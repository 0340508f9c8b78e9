"""Validation of PersistentVolumeClaims, also as templates of a StatefulSet."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.quantities import parse_quantity
from applyviz.kubernetes.parity.status import FieldError, invalid, not_supported, required

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def validate_claim_spec(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a claim's spec."""
    if not spec.get("accessModes"):
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes") or ():
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    asked = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in asked:
        yield required(f"{path}.resources[storage]")
        return
    parsed = parse_quantity(str(asked["storage"]))
    if parsed is not None and parsed[0] <= 0:
        yield invalid(f"{path}.resources[storage]", asked["storage"], "must be greater than zero")
