"""Validation of storage classes and CSI drivers.

Rule: `pkg/apis/storage/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import qualified_name_problems
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, duplicate, invalid, not_supported, required

_LEAST_SECONDS, _MOST_SECONDS = 600, 1 << 32
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_CHOICES = (
    ("reclaimPolicy", ("Delete", "Retain")),
    ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
)
_MODES = ("Persistent", "Ephemeral")


def _storage_class(obj: JSONObject) -> Iterator[FieldError]:
    provisioner = obj.get("provisioner") or ""
    if not provisioner:
        yield required("provisioner")
    for problem in qualified_name_problems(provisioner.lower()) if provisioner else ():
        yield invalid("provisioner", provisioner.lower(), problem)
    if "" in (obj.get("parameters") or {}):
        yield invalid("parameters", "", "field can not be empty.")
    for name, choices in _CHOICES:
        if obj.get(name) not in choices:
            yield not_supported(name, obj.get(name) or "", choices)
    yield from _topologies(obj.get("allowedTopologies") or [])


def _topologies(terms: list[JSONObject]) -> Iterator[FieldError]:
    # The server also compares with as many empty terms as there are terms.
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for number, term in enumerate(terms):
        path = f"allowedTopologies[{number}].matchLabelExpressions"
        found: dict[str, set[str]] = {}
        for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _topology(expression, f"{path}[{index}]")
            key = expression.get("key") or ""
            if key in found:
                yield duplicate(f"{path}[{index}].key", key)
            found[key] = set(expression.get("values") or ())
        for other in seen:
            if other == found:
                yield duplicate(path, "")
        seen.append(found)


def _topology(expression: JSONObject, path: str) -> Iterator[FieldError]:
    values = expression.get("values") or []
    if not values:
        yield required(f"{path}.values")
    for number, value in enumerate(values):
        if value in values[:number]:
            yield duplicate(f"{path}.values[{number}]", value)
    key = expression.get("key") or ""
    for problem in qualified_name_problems(key):
        yield invalid(f"{path}.key", key, problem)


def _storage_class_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if (obj.get(name) or None) != (live.get(name) or None):
            yield invalid(name, obj.get(name), IMMUTABLE)


def _driver(obj: JSONObject) -> Iterator[FieldError]:
    audiences: set[str] = set()
    for number, asked in enumerate(obj["spec"].get("tokenRequests") or ()):
        path, audience = f"spec.tokenRequests[{number}]", asked.get("audience") or ""
        if audience in audiences:
            yield duplicate(f"{path}.audience", audience)
            continue
        audiences.add(audience)
        seconds = asked.get("expirationSeconds")
        if seconds is not None and seconds < _LEAST_SECONDS:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _MOST_SECONDS:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    policy = obj["spec"].get("fsGroupPolicy")
    if policy not in (None, *_GROUP_POLICIES):
        yield not_supported("spec.fsGroupPolicy", policy, _GROUP_POLICIES)
    for mode in obj["spec"].get("volumeLifecycleModes") or ():
        if mode not in _MODES:
            yield not_supported("spec.volumeLifecycleModes", mode, _MODES)


def _driver_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    for name, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        value = obj["spec"].get(name)
        if value != live["spec"].get(name):
            yield invalid(f"spec.{shown}", value, IMMUTABLE)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "storageclasses": _storage_class,
    "csidrivers": _driver,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "storageclasses": _storage_class_update,
    "csidrivers": _driver_update,
}
