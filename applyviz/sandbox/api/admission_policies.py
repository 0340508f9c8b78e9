"""Evaluate ValidatingAdmissionPolicies: which policies match a request, and what their expressions return.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ and
`pkg/admission/plugin/policy` of k8s.io/apiserver. They run after everything else, also in dry runs. Left out: the
authorizer, audit annotations, and policies that match an object at another of its versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from msgspec import Struct

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import StatusError
from applyviz.kubernetes.v1_36.validation.templates import selects
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.programs import Lazy, Meter, evaluate
from applyviz.sandbox.cel.values import CelError
from applyviz.sandbox.schema.schema_rules import BUDGET
from applyviz.sandbox.storage.definitions import namespace_key
from applyviz.sandbox.storage.resources import Registry, ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import Store

_GROUP = "admissionregistration.k8s.io"
_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "Invalid": 422, "RequestEntityTooLarge": 413}
_NO_PARAMETERS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
_NAMESPACE_META = (
    "name", "generateName", "namespace", "labels", "annotations", "UID", "creationTimestamp", "finalizers",
    "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "resourceVersion",
)  # fmt: skip

caller: ContextVar[RequestUser | None] = ContextVar("caller", default=None)
"""The user of the current request."""


class Attempt(Struct, frozen=True):
    """The write that a request attempts: `obj` is None for a delete, `old` for a create.

    - `gvk` and `obj` are those of the subresource, if it has a separate kind.
    """

    operation: str
    target: ResourceTarget
    route: Route
    name: str
    gvk: GroupVersionKind
    obj: JSONObject | None
    old: JSONObject | None
    is_dry_run: bool

    @property
    def namespace(self) -> str:
        """The namespace of the object; a namespace itself has none."""
        return self.route.namespace


class _Decision(Struct, frozen=True):
    """The reason for which a policy rejects an attempt."""

    message: str
    reason: str = "Invalid"


def judge(attempt: Attempt, store: Store, registry: Registry) -> tuple[str, ...]:
    """Return the warnings of all policies that match an attempt.

    - Raises `StatusError` with the message of the first policy that denies it.
    """
    if attempt.target.group == _GROUP and attempt.target.plural.startswith(("validating", "mutating")):
        return ()
    policies = store.list(_GROUP, "validatingadmissionpolicies")
    if not policies:
        return ()
    warnings: list[str] = []
    denied: list[tuple[str, _Decision]] = []
    for policy, binding in _find_pairs(policies, attempt, store):
        actions = binding["spec"].get("validationActions") or ()
        names = policy["metadata"]["name"], binding["metadata"]["name"]
        head = "ValidatingAdmissionPolicy '{}' with binding '{}'".format(*names)
        for decision in _decide(policy["spec"], binding["spec"], attempt, store, registry):
            if "Warn" in actions:
                warnings.append(f"Validation failed for {head}: {decision.message}")
            if "Deny" in actions:
                denied.append((f"{head} denied request: {decision.message}", decision))
    if denied:
        raise _deny(attempt, *denied[0], tuple(warnings))
    return tuple(warnings)


def _find_pairs(
    policies: Sequence[JSONObject], attempt: Attempt, store: Store
) -> Iterator[tuple[JSONObject, JSONObject]]:
    """Yield each policy that matches an attempt, with each of its matching bindings."""
    bindings = store.list(_GROUP, "validatingadmissionpolicybindings")
    for policy in policies:
        if _matches(policy["spec"].get("matchConstraints") or {}, attempt, store, has_rules=True):
            name = policy["metadata"]["name"]
            mine = (b for b in bindings if b["spec"].get("policyName") == name)
            yield from ((policy, b) for b in mine if _matches_binding(b, attempt, store))


def _deny(attempt: Attempt, message: str, decision: _Decision, warnings: tuple[str, ...]) -> StatusError:
    target = attempt.target
    resource = f"{target.plural}.{target.group}" if target.group else target.plural
    return StatusError(
        _CODES.get(decision.reason, 422),
        decision.reason,
        f'{resource} "{attempt.name}" is forbidden: {message}',
        attempt.name,
        target.group,
        target.plural,
        causes=[("", message, "")],
        warnings=warnings,
    )


# Matching ----------------------------------------------------------------------------------------
def _matches_binding(binding: JSONObject, attempt: Attempt, store: Store) -> bool:
    wanted = binding["spec"].get("matchResources")
    return not wanted or _matches(wanted, attempt, store, has_rules=bool(wanted.get("resourceRules")))


def _matches(wanted: JSONObject, attempt: Attempt, store: Store, *, has_rules: bool) -> bool:
    """Return whether the rules of a policy or a binding match an attempt; without rules, every resource matches."""
    if any(_matches_rule(rule, attempt) for rule in wanted.get("excludeResourceRules") or ()):
        return False
    if has_rules and not any(_matches_rule(rule, attempt) for rule in wanted.get("resourceRules") or ()):
        return False
    return _matches_namespace(wanted.get("namespaceSelector"), attempt, store) and _matches_labels(
        wanted.get("objectSelector"), attempt
    )


def _matches_rule(rule: JSONObject, attempt: Attempt) -> bool:
    target, sub = attempt.target, attempt.route.subresource
    names = rule.get("resourceNames") or ()
    scope = {"Namespaced": bool(attempt.namespace), "Cluster": not attempt.namespace}.get(rule.get("scope", "*"), True)
    return (
        scope
        and _is_in(target.group, rule.get("apiGroups"))
        and _is_in(target.gvk.version, rule.get("apiVersions"))
        and _is_in(attempt.operation, rule.get("operations"))
        and any(_is_resource(resource, target.plural, sub) for resource in rule.get("resources") or ())
        and (not names or attempt.name in names)
    )


def _is_in(value: str, choices: Sequence[str] | None) -> bool:
    return value in (choices or ()) or "*" in (choices or ())


def _is_resource(wanted: str, plural: str, subresource: str) -> bool:
    if wanted == "*/*":
        return True
    resource, _, sub = wanted.partition("/")
    return resource in ("*", plural) and (sub == subresource or (sub == "*" and bool(subresource)))


def _matches_namespace(selector: JSONObject | None, attempt: Attempt, store: Store) -> bool:
    """Return whether a namespace selector matches: cluster-scoped objects always, a namespace by its own labels."""
    if not selector:
        return True
    if attempt.target.plural == "namespaces" and not attempt.target.group:
        labels = ((attempt.obj or attempt.old or {}).get("metadata") or {}).get("labels")
        return selects(selector, labels or {})
    if not attempt.namespace:
        return True
    stored = store.get(namespace_key(attempt.namespace)) or {}
    return selects(selector, (stored.get("metadata") or {}).get("labels") or {})


def _matches_labels(selector: JSONObject | None, attempt: Attempt) -> bool:
    """Return whether a selector matches the new or the old object."""
    versions = [o for o in (attempt.obj, attempt.old) if o is not None]
    return not selector or any(selects(selector, o["metadata"].get("labels") or {}) for o in versions)


# Deciding ----------------------------------------------------------------------------------------
def _decide(
    spec: JSONObject, binding: JSONObject, attempt: Attempt, store: Store, registry: Registry
) -> Iterator[_Decision]:
    is_lenient = spec.get("failurePolicy") == "Ignore"
    parameters = _find_parameters(spec.get("paramKind"), binding.get("paramRef"), attempt, store, registry)
    if parameters is None:
        if not is_lenient:
            yield _Decision(_NO_PARAMETERS)
        return
    for parameter in parameters:
        meter = Meter(BUDGET)
        scope = _make_scope(spec, attempt, store, parameter, meter)
        for found in _evaluate(spec, scope, meter):
            if isinstance(found, _Decision):
                yield found
            elif not is_lenient:
                yield _Decision(found)


def _evaluate(spec: JSONObject, scope: Mapping[str, Any], meter: Meter) -> Iterator[_Decision | str]:
    """Yield the failed validations; a text for an expression that cannot be evaluated."""
    matched, problem = _meets_conditions(spec, scope, meter)
    if problem:
        yield problem
    if not matched:
        return
    for validation in spec.get("validations") or ():
        try:
            is_met = _run(validation["expression"], scope, meter)
        except _FailedError as error:
            yield str(error)
            continue
        if is_met is not True:
            yield _Decision(_message(validation, scope, meter), validation.get("reason") or "Invalid")


class _FailedError(Exception):
    """An expression failed to evaluate."""


def _run(expression: str, scope: Mapping[str, Any], meter: Meter) -> Any:
    try:
        return evaluate(expression, scope, meter)
    except CelError as error:
        raise _FailedError(f"expression '{expression}' resulted in error: {error}") from None


def _meets_conditions(spec: JSONObject, scope: Mapping[str, Any], meter: Meter) -> tuple[bool, str]:
    """Return whether all conditions hold, and an error; a condition that fails makes errors of others irrelevant."""
    problem = ""
    for condition in spec.get("matchConditions") or ():
        try:
            if _run(condition["expression"], scope, meter) is not True:
                return False, ""
        except _FailedError as error:
            problem = problem or str(error)
    return not problem, problem


def _message(validation: JSONObject, scope: Mapping[str, Any], meter: Meter) -> str:
    """Return the message of a validation: from its message expression, its text, or the failed expression."""
    if validation.get("messageExpression"):
        try:
            made = evaluate(validation["messageExpression"], scope, meter)
        except CelError:
            made = ""
        text = made.strip() if isinstance(made, str) else ""
        if text and "\n" not in text and len(text.encode()) <= 5 * 1024:
            return text
    return (validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"


def _make_scope(
    spec: JSONObject, attempt: Attempt, store: Store, parameter: JSONObject | None, meter: Meter
) -> dict[str, Any]:
    scope: dict[str, Any] = {
        "object": attempt.obj,
        "oldObject": attempt.old,
        "request": _describe(attempt),
        "params": parameter,
        "namespaceObject": _show_namespace(attempt, store),
    }
    variables: dict[str, Any] = _Variables()
    scope["variables"] = variables
    for variable in spec.get("variables") or ():
        text = variable["expression"]
        variables[variable["name"]] = Lazy(partial(evaluate, text, scope, meter))
    return scope


class _Variables(dict[str, Any]):
    """Variables are evaluated on first use, once."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        return found() if isinstance(found, Lazy) else found


def _describe(attempt: Attempt) -> dict[str, Any]:
    """Return the `request` variable."""
    target, route, gvk = attempt.target, attempt.route, attempt.gvk
    kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    resource = {"group": target.group, "version": target.gvk.version, "resource": target.plural}
    sub = {"subResource": route.subresource, "requestSubResource": route.subresource} if route.subresource else {}
    return {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        **sub,
        "name": attempt.name,
        "namespace": route.namespace,
        "operation": attempt.operation,
        "userInfo": (caller.get() or RequestUser()).render(),
        "dryRun": attempt.is_dry_run,
    }


def _show_namespace(attempt: Attempt, store: Store) -> dict[str, Any] | None:
    stored = store.get(namespace_key(attempt.namespace)) if attempt.namespace else None
    if stored is None:
        return None
    meta = {k: v for k, v in stored["metadata"].items() if k in _NAMESPACE_META}
    return {"metadata": meta, "spec": stored.get("spec") or {}, "status": stored.get("status") or {}}


def _find_parameters(
    kind: JSONObject | None, wanted: JSONObject | None, attempt: Attempt, store: Store, registry: Registry
) -> Sequence[JSONObject | None] | None:
    """Return the values of `params` one by one; None if parameters are required and there are none."""
    if not kind or not wanted:
        return (None,)
    target = registry.find_kind(GroupVersionKind.from_object(kind))
    found: Sequence[JSONObject] = ()
    if target is not None:
        namespace = (wanted.get("namespace") or attempt.namespace) if target.resource.is_namespaced else None
        found = store.list(target.group, target.plural, namespace)
        if wanted.get("name"):
            found = [o for o in found if o["metadata"]["name"] == wanted["name"]]
        elif wanted.get("selector") is not None:
            found = [o for o in found if selects(wanted["selector"], o["metadata"].get("labels") or {})]
    if found:
        return found
    return () if wanted.get("parameterNotFoundAction") == "Allow" else None
