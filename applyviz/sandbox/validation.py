"""Validate objects as the server does before it answers 422: metadata, the kind, and immutable fields.

Rule: `pkg/apis/*/validation` of k8s.io/kubernetes v1.36.3, for the common cases; a rule that is not here is not
checked. Custom resources are validated against their structural schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    mask_trailing_dash,
    path_segment_problems,
    subdomain_problems,
    validate_metadata,
    validate_metadata_update,
)
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid
from applyviz.kubernetes.v1_36.validation import (
    autoscaling,
    certificates,
    config,
    definitions,
    devices,
    discovery,
    events,
    fixed,
    jobs,
    limits,
    network,
    persistent_volumes,
    remaining,
    services,
    storage,
    webhooks,
    workloads,
)
from applyviz.kubernetes.v1_36.validation.statuses import validate_status
from applyviz.sandbox.expressions import validate_expressions
from applyviz.sandbox.schema import structural
from applyviz.sandbox.schema.definition_schemas import check_schema
from applyviz.sandbox.schema.ratcheting import find_child
from applyviz.sandbox.schema.schema_rules import check_rules
from applyviz.sandbox.schema.structural_rules import validate_embedded, validate_lists
from applyviz.sandbox.storage.resources import CRD_PLURAL, ResourceTarget
from applyviz.sandbox.storage.scaling import validate_scale

Rule = Callable[[JSONObject], Iterator[FieldError]]
UpdateRule = Callable[[JSONObject, JSONObject], Iterator[FieldError]]

_NAME_RULES: Mapping[str, Callable[[str], list[str]]] = {
    "namespaces": label_problems,
    "services": label_problems,
    "roles": path_segment_problems,
    "rolebindings": path_segment_problems,
    "clusterroles": path_segment_problems,
    "clusterrolebindings": path_segment_problems,
    "poddisruptionbudgets": path_segment_problems,
    "events": path_segment_problems,
    "events.events.k8s.io": subdomain_problems,
    certificates.REQUESTS: path_segment_problems,
    limits.SERVICES: path_segment_problems,
    "statefulsets": label_problems,
    "cronjobs": jobs.cron_job_name_problems,
    "replicationcontrollers": lambda name: subdomain_problems(name, "bytes"),
    "deviceclasses": lambda name: subdomain_problems(name, "bytes"),
}
_CREATE: Mapping[str, Rule] = {
    **workloads.CREATE,
    **network.CREATE,
    **persistent_volumes.CREATE,
    **remaining.CREATE,
    **services.CREATE,
    **webhooks.CREATE,
    **config.CREATE,
    **definitions.CREATE,
    **devices.CREATE,
    **storage.CREATE,
    **limits.CREATE,
    **discovery.CREATE,
    **events.CREATE,
    **autoscaling.CREATE,
    **certificates.CREATE,
}
_UPDATE: Mapping[str, UpdateRule] = {
    **workloads.UPDATE,
    **remaining.UPDATE,
    **services.UPDATE,
    **config.UPDATE,
    **definitions.UPDATE,
    **storage.UPDATE,
    **limits.UPDATE,
    **discovery.UPDATE,
    **events.UPDATE,
    **fixed.UPDATE,
    **certificates.UPDATE,
}
_CHANGED: Mapping[str, Rule] = {
    **workloads.CHANGED,
    **config.CHANGED,
    **definitions.CHANGED,
    **devices.CHANGED,
    **discovery.CHANGED,
    **events.CHANGED,
    **remaining.CHANGED,
    **certificates.CHANGED,
}

# For these kinds the update rules include all rules for a new object, also those of metadata.
_WHOLE_ON_UPDATE = frozenset(
    {
        *("configmaps", "secrets", "services", "serviceaccounts", "limitranges", "ingressclasses"),
        *("roles", "clusterroles", "rolebindings", "clusterrolebindings"),
        *(certificates.REQUESTS, limits.SERVICES),
    }
)


def _name_problems(target: ResourceTarget, name: str) -> list[str]:
    named = (f"{target.plural}.{target.group}", target.plural) if target.struct is not None else ()
    rule = next((_NAME_RULES[one] for one in named if one in _NAME_RULES), subdomain_problems)
    return rule(name) if name else []


def _validate_schemas(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of the schemas of a definition."""
    if target.plural != CRD_PLURAL:
        return
    has_status = definitions.has_status(obj["spec"])
    for path, schema in definitions.list_moved(obj["spec"], "schema"):
        found = get_at(schema, ("openAPIV3Schema",))
        if found is not None:
            yield from check_schema(found, f"{path}.openAPIV3Schema", has_status=has_status)


def _validate_custom(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    errors = [
        *structural.validate(obj, target.schema),
        *validate_scale(target, obj),
        *_validate_structure(target, obj),
    ]
    yield from chain(errors, check_rules(obj, target.schema, None, errors))


def _validate_changed_custom(
    target: ResourceTarget, obj: JSONObject, live: JSONObject, subresource: str
) -> Iterator[FieldError]:
    errors = list(_validate_changed_structure(target, obj, live, subresource))
    yield from chain(errors, check_rules(obj, target.schema, live, errors))


def _validate_changed_structure(
    target: ResourceTarget, obj: JSONObject, live: JSONObject, subresource: str
) -> Iterator[FieldError]:
    """Yield the problems of a changed custom resource; unchanged values pass, and lists may keep their duplicates."""
    if subresource == "status":
        schema = get_at(target.schema, ("properties", "status"))
        if "status" in obj:
            yield from structural.validate(obj["status"], schema, "status", find_child(live, "status"))
        yield from validate_scale(target, obj, has_spec=False)
    else:
        yield from structural.validate(obj, target.schema, "", live)
        yield from validate_scale(target, obj)
        yield from validate_embedded(obj, target.schema)
    if not any(validate_lists(live, target.schema)):
        yield from validate_lists(obj, target.schema)


def _validate_structure(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    yield from validate_embedded(obj, target.schema)
    yield from validate_lists(obj, target.schema)


def _validate_type(target: ResourceTarget, obj: JSONObject) -> list[FieldError]:
    """Return the problem of a custom resource whose kind differs from the path; its schema is then not checked."""
    wanted = {"kind": target.gvk.kind, "apiVersion": target.gvk.api_version}
    return [invalid(n, obj.get(n, ""), f"must be {w}") for n, w in wanted.items() if obj.get(n, "") != w]


def validate_create(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of a new object."""
    meta = obj["metadata"]
    if target.struct is None and (wrong := _validate_type(target, obj)):
        yield from chain(wrong, _validate_structure(target, obj))
        return
    prefix = _name_problems(target, mask_trailing_dash(meta.get("generateName", "")))
    yield from validate_metadata(
        meta, _name_problems(target, meta.get("name", "")), problems_of_prefix=prefix, is_custom=target.struct is None
    )
    if target.struct is None:
        yield from _validate_custom(target, obj)
    elif (rule := _CREATE.get(target.plural)) is not None:
        yield from chain(rule(obj), _validate_schemas(target, obj), validate_expressions(target, obj))


def validate_update(
    target: ResourceTarget, obj: JSONObject, live: JSONObject, subresource: str
) -> Iterator[FieldError]:
    """Yield the problems of a changed object, including those of the change."""
    meta = obj["metadata"]
    is_custom = target.struct is None
    yield from validate_metadata(meta, path_segment_problems(meta.get("name", "")), is_custom=is_custom)
    yield from validate_metadata_update(meta, live["metadata"])
    if target.struct is None and (wrong := _validate_type(target, obj)):
        yield from chain(wrong, _validate_structure(target, obj))
        return
    # The server checks immutable fields twice: by the rule of all objects, and by that of the kind.
    yield from validate_metadata_update(meta, live["metadata"])
    if target.struct is None:
        yield from _validate_changed_custom(target, obj, live, subresource)
    elif not subresource:
        if target.plural in _WHOLE_ON_UPDATE:
            yield from validate_metadata(meta, _name_problems(target, meta.get("name", "")))
        create = _CHANGED.get(target.plural) or _CREATE.get(target.plural)
        update = _UPDATE.get(target.plural)
        yield from chain(create(obj) if create else (), update(obj, live) if update else ())
        yield from chain(_validate_schemas(target, obj), validate_expressions(target, obj))
    elif target.plural == certificates.REQUESTS:
        yield from validate_metadata(meta, path_segment_problems(meta.get("name", "")))
        yield from certificates.validate_request_update(obj, live, subresource)
    elif subresource == "status" and target.plural == limits.SERVICES:
        yield from limits.validate_service_conditions(obj)
    elif subresource == "status":
        yield from validate_status(target.plural, obj, live)
        yield from _validate_balancer(target, obj)


def _validate_balancer(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    if target.plural == "services":
        is_balanced = get_at(obj, ("spec", "type")) == "LoadBalancer"
        if get_at(obj, ("status", "loadBalancer", "ingress")) and not is_balanced:
            yield forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")
