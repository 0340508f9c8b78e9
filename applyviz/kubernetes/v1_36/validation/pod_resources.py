"""Validate the resources of a Pod as a whole, and the claims of devices that its containers may use.

Rule: validatePodResources, validatePodResourceConsistency and validatePodResourceClaims in
`pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, qualified_name_problems, subdomain_problems
from applyviz.kubernetes.parity.resources_math import sum_requests
from applyviz.kubernetes.parity.status import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    invalid_struct,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation.containers import validate_resources

_OF_PODS = ("cpu", "hugepages-", "memory")
_NOT_SHARED = "claims may not be set for Resources at pod-level"
_TOO_MANY = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_NO_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
_CLAIM_NAMES = ("resourceClaimName", "resourceClaimTemplateName")


def validate_pod_resources(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the resources of a Pod, by themselves and beside those of its containers."""
    resources, at = spec.get("resources"), f"{path}.resources"
    if resources is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(at, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden(f"{at}.claims", _NOT_SHARED)
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    yield from validate_resources(resources, at, claims, _validate_name)
    yield from _validate_sums(spec, resources.get("requests") or {}, f"{at}.requests")
    limits = resources.get("limits") or {}
    for i, container in enumerate(spec.get("containers") or ()):
        for name, text in ((container.get("resources") or {}).get("limits") or {}).items():
            if _is_more(text, limits.get(name)):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{at}.containers[{i}][{name}].limits", text, detail)


def _validate_name(name: str, path: str) -> Iterator[FieldError]:
    problems = qualified_name_problems(name)
    yield from (invalid(path, name, problem) for problem in problems)
    is_standard = name in ("cpu", "memory", "ephemeral-storage", "storage") or name.startswith("hugepages-")
    if not problems and "/" not in name and not is_standard:
        yield invalid(path, name, "must be a standard resource type or fully qualified")
    elif not problems and not name.startswith("hugepages-") and name not in _OF_PODS:
        yield not_supported(path, name, _OF_PODS)


def _validate_sums(spec: JSONObject, requests: JSONObject, path: str) -> Iterator[FieldError]:
    for name, text in sum_requests(spec).items():
        if _is_more(text, requests.get(name)):
            detail = f"must be greater than or equal to aggregate container requests of {text}"
            yield invalid(f"{path}[{name}]", requests[name], detail)


def _is_more(text: str, other: str | None) -> bool:
    one, most = parse_quantity(text), None if other is None else parse_quantity(other)
    return one is not None and most is not None and one[0] > most[0]


def validate_pod_claims(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the claims of devices that a Pod names."""
    names: set[str] = set()
    for i, claim in enumerate(spec.get("resourceClaims") or ()):
        at, name = f"{path}.resourceClaims[{i}]", claim.get("name", "")
        if not name:
            yield required(f"{at}.name")
        elif name in names:
            yield duplicate(f"{at}.name", name)
        else:
            yield from (invalid(f"{at}.name", name, problem) for problem in label_problems(name))
        names.add(name)
        sources = {n: claim[n] for n in _CLAIM_NAMES if claim.get(n) is not None}
        if len(sources) != 1:
            shown = {"Name": name, **{f"R{n[1:]}": claim.get(n) for n in _CLAIM_NAMES}}
            yield invalid_struct(at, shown, _TOO_MANY if sources else _NO_SOURCE)
        for source, text in sources.items():
            yield from (invalid(f"{at}.{source}", text, problem) for problem in subdomain_problems(text))
