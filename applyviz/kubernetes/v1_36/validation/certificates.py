"""Validation of requests for certificates, of their conditions and of the certificate in their status.

Rule: `pkg/apis/certificates/validation` of k8s.io/kubernetes v1.36.3. An update keeps what was there before.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.certificate_requests import find_certificate_problem, find_request_problem
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

REQUESTS = "certificatesigningrequests"
_LEGACY = "kubernetes.io/legacy-unknown"
_DOMAIN, _SIGNER = 253, 571
_SHORTEST = 600
_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_APPROVED, _DENIED = "Approved", "Denied"
_ALWAYS_TRUE = (_APPROVED, _DENIED, "Failed")
_STATUSES = ("False", "True", "Unknown")
_CONDITIONS = "status.conditions"


def _read(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def _list_conditions(obj: JSONObject) -> list[JSONObject]:
    return get_at(obj, ("status", "conditions")) or []


def _signer(name: str) -> Iterator[FieldError]:
    path, parts = "spec.signerName", name.split("/")
    if not name:
        yield required(path)
        return
    if len(parts) != 2:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, rest = parts
    if len(domain) > _DOMAIN:
        yield too_long(path, _DOMAIN)
    yield from _first_problems(path, domain, label_problems)
    if "." not in domain:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_problems(path, rest, subdomain_problems)
    if len(name) > _SIGNER:
        yield too_long(path, _SIGNER)


def _first_problems(path: str, text: str, find: Callable[[str], list[str]]) -> Iterator[FieldError]:
    """Yield the problems of the first part between dots that has any."""
    part = next((part for part in text.split(".") if find(part)), None)
    for problem in find(part) if part is not None else ():
        yield invalid(path, text, f"validating label {quote(part or '')}: {problem}")


def _usages(usages: list[str], before: list[str]) -> Iterator[FieldError]:
    path = "spec.usages"
    if not usages:
        yield required(path)
    if all(usage in _USAGES for usage in before):
        for number, usage in enumerate(usages):
            if usage not in _USAGES:
                yield not_supported(f"{path}[{number}]", usage, _USAGES)
    if len(set(before)) == len(before):
        seen: set[str] = set()
        for number, usage in enumerate(usages):
            if usage in seen:
                yield duplicate(f"{path}[{number}]", usage)
            seen.add(usage)


def _request(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    spec, before = obj.get("spec") or {}, live.get("spec") or {}
    if problem := find_request_problem(_read(spec.get("request"))):
        yield invalid("spec.request", spec.get("request"), problem)
    yield from _usages(spec.get("usages") or [], before.get("usages") or [])
    signer = spec.get("signerName") or ""
    if signer != _LEGACY or before.get("signerName") == _LEGACY:
        yield from _signer(signer)
    else:
        yield invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        detail = f"may not specify a duration less than {_SHORTEST} seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, detail)
    yield from _conditions(_list_conditions(obj), [one.get("type") or "" for one in _list_conditions(live)])


def _conditions(conditions: list[JSONObject], before: list[str]) -> Iterator[FieldError]:
    """Yield the problems of conditions, but for those that the types of conditions before had, too."""
    seen: set[str] = set()
    known, is_repeated = set(before), len(set(before)) < len(before)
    for number, condition in enumerate(conditions):
        path, kind, status = f"{_CONDITIONS}[{number}]", condition.get("type") or "", condition.get("status") or ""
        if not kind and "" not in known:
            yield required(f"{path}.type")
        allowed = ("True",) if kind in _ALWAYS_TRUE else _STATUSES
        if not status:
            yield required(f"{path}.status")
        elif status not in allowed:
            yield not_supported(f"{path}.status", status, allowed)
        other = {_APPROVED: _DENIED, _DENIED: _APPROVED}.get(kind)
        if other in seen and not {_APPROVED, _DENIED} <= known:
            yield invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen and not is_repeated:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)


def _changed_conditions(obj: JSONObject, live: JSONObject, subresource: str) -> Iterator[FieldError]:
    before, after = (Counter(one.get("type") for one in _list_conditions(one)) for one in (live, obj))
    for kind in _ALWAYS_TRUE:
        if after[kind] < before[kind]:
            yield forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')
    for kind in (_APPROVED, _DENIED) if subresource != "approval" else ():
        if after[kind] > before[kind]:
            yield forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"')


def validate_request_update(obj: JSONObject, live: JSONObject, subresource: str = "") -> Iterator[FieldError]:
    """Yield the problems of a changed request, of its status or of its approval."""
    yield from _request(obj, live)
    after, before = (get_at(one, ("status", "certificate")) or "" for one in (obj, live))
    is_read = after != before and not find_certificate_problem(_read(before))
    if problem := find_certificate_problem(_read(after)) if is_read else "":
        yield invalid("status.certificate", "<certificate data>", problem)
    yield from _changed_conditions(obj, live, subresource)
    if after != before and before:
        yield forbidden("status.certificate", "updates may not modify existing certificate content")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {REQUESTS: lambda obj: _request(obj, {})}
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {REQUESTS: lambda obj: iter(())}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {REQUESTS: validate_request_update}
