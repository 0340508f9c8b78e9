"""Read the options of a delete, from its body or its query.

Rule: `DeleteOptions` of meta.k8s.io/v1 and their validation. With a body, whatever is in it, the API server ignores the
query, a dry run included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.manifests.metadata import name_of_type
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.kubernetes.parity.decoding import WrongTypeError, fits_integer
from applyviz.kubernetes.parity.json_text import list_pairs, number_text
from applyviz.kubernetes.parity.payloads import Payload, UnreadableError, interpret
from applyviz.kubernetes.parity.status import (
    FieldError,
    StatusError,
    bad_request,
    invalid,
    invalid_object,
    not_supported,
)
from applyviz.sandbox.api.list_options import read_number

_POLICIES = ("Foreground", "Background", "Orphan")
_KIND, _VERSION = "DeleteOptions", "meta.k8s.io/v1"
_OTHER_KINDS = frozenset({"Status", "CreateOptions", "UpdateOptions"})
_FALSE = ("0", "false")
_OWNER, _BINDING = "DeleteOptions", "Preconditions"
_TYPES: Mapping[str, tuple[type, str]] = {
    "kind": (str, "string"),
    "apiVersion": (str, "string"),
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": (bool, "bool"),
}
_BINDING_TYPES: Mapping[str, tuple[type, str]] = {"uid": (str, "types.UID"), "resourceVersion": (str, "string")}


class DeleteOptions(Struct, frozen=True):
    """The options of a delete; uid and resource version are preconditions."""

    is_dry_run: bool = False
    policy: str = ""
    uid: str | None = None
    resource_version: str | None = None
    grace: int | None = None


class _Given(Struct, frozen=True):
    """The options as the client sent them, unchecked; None for each that is absent."""

    dry_run: tuple[str, ...] = ()
    policy: str | None = None
    orphans: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    grace: int | None = None


def read_delete_options(request: Request, payload: Payload) -> DeleteOptions:
    """Return the options of a delete.

    - Raises `StatusError`: 415 or 400 for what cannot be read, 422 that names every invalid option.
    """
    has_body = bool(payload.text) if payload.text is not None else payload.value is not None
    given = _read_body(payload) if has_body else _read_query(request.query)
    if errors := list(_list_problems(given)):
        raise invalid_object("meta.k8s.io", _KIND, "", errors)
    policy = given.policy or ""
    if given.orphans is not None:
        policy = "Orphan" if given.orphans else "Background"
    return DeleteOptions(bool(given.dry_run), policy, given.uid, given.resource_version, given.grace)


def _list_problems(given: _Given) -> Iterator[FieldError]:
    path, policy = "propagationPolicy", given.policy
    if policy is not None and given.orphans is not None:
        yield invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set")
    if policy is not None and policy not in _POLICIES:
        yield not_supported(path, policy, [*_POLICIES, "nil"])
    if given.dry_run not in ((), ("All",)):
        yield not_supported("dryRun", list(given.dry_run), ["All"])


def _read_query(query: Mapping[str, str]) -> _Given:
    grace = read_number(query, "gracePeriodSeconds") if "gracePeriodSeconds" in query else None
    orphans = query.get("orphanDependents")
    return _Given(
        dry_run=(query["dryRun"],) if "dryRun" in query else (),
        policy=query.get("propagationPolicy"),
        orphans=orphans.lower() not in _FALSE if orphans is not None else None,
        grace=grace,
    )


def _read_body(payload: Payload) -> _Given:
    payload.negotiate()
    try:
        value = payload.read()
        version, kind = interpret(value)
    except UnreadableError as error:
        raise bad_request(str(error)) from None
    if kind not in ("", _KIND):
        raise _refuse_kind(version or _VERSION, kind)
    given = _Given()
    for name, item in list_pairs(value or {}):
        given = _take(given, name, item)
    return given


def _refuse_kind(version: str, kind: str) -> StatusError:
    if kind in _OTHER_KINDS:
        return bad_request(f"converting (v1.{kind}) to (v1.{_KIND}): unknown conversion")
    return bad_request(
        f'no kind {quote(kind)} is registered for version {quote(version)} in scheme "pkg/runtime/scheme.go:111"'
    )


def _take(given: _Given, name: str, item: JSONValue) -> _Given:
    """Return the options with one more field; an unknown one is ignored."""
    if name not in _TYPES or item is None:
        return given
    _check(item, *_TYPES[name], _OWNER, name)
    match name, item:
        case "dryRun", [*entries]:
            for entry in entries:
                _check(entry, str, "string", _OWNER, name)
            return replace(given, dry_run=tuple(str(entry or "") for entry in entries))
        case "preconditions", {}:
            return _take_preconditions(given, list_pairs(item))
        case "propagationPolicy", str(policy):
            return replace(given, policy=policy)
        case "orphanDependents", bool(orphans):
            return replace(given, orphans=orphans)
        case "gracePeriodSeconds", int(grace):
            return replace(given, grace=grace)
    return given


def _take_preconditions(given: _Given, pairs: Iterable[tuple[str, JSONValue]]) -> _Given:
    bound: dict[str, str] = {}
    for key, entry in pairs:
        if key in _BINDING_TYPES and entry is not None:
            _check(entry, *_BINDING_TYPES[key], _BINDING, f"preconditions.{key}")
            bound[key] = str(entry)
    return replace(given, uid=bound.get("uid"), resource_version=bound.get("resourceVersion"))


def _check(value: JSONValue, wanted: type, go_type: str, owner: str, path: str) -> None:
    if value is not None and (not isinstance(value, wanted) or _is_other_number(value, wanted)):
        raise bad_request(str(WrongTypeError(_name_found(value, wanted), go_type, owner, path)))


def _is_other_number(value: object, wanted: type) -> bool:
    if wanted is not int:
        return False
    return isinstance(value, bool) or not (isinstance(value, int) and fits_integer(value, "int64"))


def _name_found(value: JSONValue, wanted: type) -> str:
    if wanted is int and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"number {number_text(value)}"
    return name_of_type(value)
