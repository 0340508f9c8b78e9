"""Refuse changes of fields that are fixed in kinds without other rules.

Rule: the update validation of kube-apiserver v1.36.3; the stories `claims-fixed` hold its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, forbidden, invalid
from applyviz.kubernetes.v1_36.validation.remaining import validate_service_range


def _fix(name: str) -> Callable[[JSONObject, JSONObject], Iterator[FieldError]]:
    def check(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
        if not is_same_json(obj.get(name), live.get(name)):
            yield invalid(name, obj.get(name), IMMUTABLE)

    return check


def _service_range(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    before, wanted = (one["spec"].get("cidrs") or [] for one in (live, obj))
    if len(before) != len(wanted) and (len(before), len(wanted)) != (1, 2):
        yield invalid("spec.cidrs", obj["spec"].get("cidrs"), IMMUTABLE)
        return
    for index, one in enumerate(before):
        if one != wanted[index]:
            yield invalid(f"spec.cidrs[{index}]", wanted[index], IMMUTABLE)
    if len(before) < len(wanted):
        yield from validate_service_range(obj)


def _attributes_class(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    for name in ("driverName", "parameters"):
        if not is_same_json(obj.get(name), live.get(name)):
            yield forbidden(name, f"updates to {name} are forbidden.")


UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "runtimeclasses": _fix("handler"),
    "controllerrevisions": _fix("data"),
    "resourceclaims": _fix("spec"),
    "resourceclaimtemplates": _fix("spec"),
    "servicecidrs": _service_range,
    "volumeattributesclasses": _attributes_class,
}
