"""List the references of one object: names in `list_references`, label selectors in `list_selections`.

Rule: fields count by their shape where kinds share it (pod templates, `roleRef`, `scaleTargetRef`, `webhooks`), so that
custom resources of the same shape count too. Cost is linear in the size of the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from applyviz.engine.objects.ordinals import read_ordinals
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.references import routes
from applyviz.engine.references.model import Key, NamedPort, PlainPath, Reference, ReferenceKind, Selection
from applyviz.engine.references.pods import find_pod_template, list_pod_references
from applyviz.engine.references.reading import list_entries, map_at, text_at
from applyviz.engine.references.selectors import read_labels, read_selector

_RBAC, _STORAGE = "rbac.authorization.k8s.io", ("storage.k8s.io", "StorageClass", "")
_SCALED = {"Deployment": "apps", "StatefulSet": "apps", "ReplicaSet": "apps"}
# A StatefulSet creates one claim per template and pod; references to more of them add no information.
_CLAIMS = 10
References: TypeAlias = Iterator[Reference]


def _list_binding(obj: JSONObject, namespace: str) -> References:
    role = map_at(obj, "roleRef")
    kind = text_at(role, "kind")
    target = (_RBAC, kind, namespace if kind == "Role" else "", text_at(role, "name"))
    yield Reference(ReferenceKind.ROLE, ("roleRef",), target)
    for n, subject in list_entries(obj.get("subjects")):
        if subject.get("kind") == "ServiceAccount":
            account = ("", "ServiceAccount", text_at(subject, "namespace") or namespace, text_at(subject, "name"))
            yield Reference(ReferenceKind.SUBJECT, ("subjects", n), account)


def _list_scale_target(obj: JSONObject, namespace: str) -> References:
    target = get_at(obj, ("spec", "scaleTargetRef"))
    if target is None:
        return
    # KEDA scales a Deployment if no kind is named.
    kind = text_at(target, "kind") or "Deployment"
    version = text_at(target, "apiVersion")
    group = version.rpartition("/")[0] if version else _SCALED.get(kind, "")
    key = (group, kind, namespace, text_at(target, "name"))
    yield Reference(ReferenceKind.SCALE_TARGET, ("spec", "scaleTargetRef"), key)


def _name_service(service: JSONValue) -> tuple[Key, str]:
    port = get_at(service, ("port",), 443)
    return ("", "Service", text_at(service, "namespace"), text_at(service, "name")), str(port)


def _list_callbacks(obj: JSONObject, namespace: str) -> References:
    """Yield the Services that the API server calls: webhooks, conversions, aggregated APIs."""
    for n, hook in list_entries(obj.get("webhooks")):
        path = ("webhooks", n, "clientConfig", "service")
        yield Reference(ReferenceKind.WEBHOOK, path, *_name_service(get_at(hook, ("clientConfig", "service"))))
    conversion = ("spec", "conversion", "webhook", "clientConfig", "service")
    yield Reference(ReferenceKind.WEBHOOK, conversion, *_name_service(get_at(obj, conversion)))
    if obj.get("kind") == "APIService":
        service = get_at(obj, ("spec", "service"))
        yield Reference(ReferenceKind.API_SERVICE, ("spec", "service"), *_name_service(service))


def _list_owners(obj: JSONObject, namespace: str) -> References:
    for n, owner in list_entries(get_at(obj, ("metadata", "ownerReferences"))):
        group = text_at(owner, "apiVersion").rpartition("/")[0]
        # The reference does not say whether the owner is namespaced; the resolver tries both.
        target = (group, text_at(owner, "kind"), namespace, text_at(owner, "name"))
        yield Reference(ReferenceKind.OWNER, ("metadata", "ownerReferences", n), target)


def _list_claims(obj: JSONObject, namespace: str) -> References:
    """Yield the claims that a StatefulSet creates from its templates, and their storage classes."""
    name, numbers = text_at(obj, "metadata", "name"), read_ordinals(obj)[:_CLAIMS]
    for n, template in list_entries(get_at(obj, ("spec", "volumeClaimTemplates"))):
        path: PlainPath = ("spec", "volumeClaimTemplates", n)
        storage = (*_STORAGE, text_at(template, "spec", "storageClassName"))
        yield Reference(ReferenceKind.STORAGE, (*path, "spec", "storageClassName"), storage)
        for ordinal in numbers:
            claim = f"{text_at(template, 'metadata', 'name')}-{name}-{ordinal}"
            target = ("", "PersistentVolumeClaim", namespace, claim)
            yield Reference(ReferenceKind.CLAIM_TEMPLATE, path, target, is_optional=True)
    service = ("", "Service", namespace, text_at(obj, "spec", "serviceName"))
    yield Reference(ReferenceKind.GOVERNING_SERVICE, ("spec", "serviceName"), service, is_optional=True)


def _list_storage(obj: JSONObject, namespace: str) -> References:
    storage = (*_STORAGE, text_at(obj, "spec", "storageClassName"))
    yield Reference(ReferenceKind.STORAGE, ("spec", "storageClassName"), storage)
    volume = ("", "PersistentVolume", "", text_at(obj, "spec", "volumeName"))
    yield Reference(ReferenceKind.STORAGE, ("spec", "volumeName"), volume)


def _list_account(obj: JSONObject, namespace: str) -> References:
    for field in ("secrets", "imagePullSecrets"):
        for n, secret in list_entries(obj.get(field)):
            target = ("", "Secret", namespace, text_at(secret, "name"))
            yield Reference(ReferenceKind.PULL_SECRET, (field, n), target, is_optional=field == "secrets")


def _list_policy(obj: JSONObject, namespace: str) -> References:
    kind = text_at(obj, "kind").removesuffix("Binding")
    target = ("admissionregistration.k8s.io", kind, "", text_at(obj, "spec", "policyName"))
    yield Reference(ReferenceKind.POLICY, ("spec", "policyName"), target)


_BY_KIND = {
    "StatefulSet": _list_claims,
    "PersistentVolumeClaim": _list_storage,
    "ServiceAccount": _list_account,
    "Ingress": routes.list_ingress_references,
    "Gateway": routes.list_gateway_references,
    "HTTPRoute": routes.list_route_references,
    "GRPCRoute": routes.list_route_references,
    "TLSRoute": routes.list_route_references,
    "TCPRoute": routes.list_route_references,
    "UDPRoute": routes.list_route_references,
    "ValidatingAdmissionPolicyBinding": _list_policy,
    "MutatingAdmissionPolicyBinding": _list_policy,
}


def _list_all(ref: ObjectRef, obj: JSONObject) -> References:
    namespace = ref.namespace
    template = find_pod_template(obj)
    if template is not None:
        yield from list_pod_references(template, namespace)
    yield from _list_binding(obj, namespace)
    yield from _list_scale_target(obj, namespace)
    yield from _list_callbacks(obj, namespace)
    yield from _list_owners(obj, namespace)
    of_kind = _BY_KIND.get(ref.gvk.kind)
    if of_kind is not None:
        yield from of_kind(obj, namespace)


def list_references(ref: ObjectRef, obj: JSONObject) -> tuple[Reference, ...]:
    """Return everything that an object names, without its namespace and its definition.

    - A reference without a kind or a name is none.
    """
    return tuple(found for found in _list_all(ref, obj) if found.target[1] and found.target[3])


def _list_target_ports(obj: JSONObject) -> Iterator[NamedPort]:
    for n, port in list_entries(get_at(obj, ("spec", "ports"))):
        name = text_at(port, "targetPort")
        if name:
            yield NamedPort(("spec", "ports", n, "targetPort"), name)


def list_selections(ref: ObjectRef, obj: JSONObject) -> tuple[Selection, ...]:
    """Return the pods that an object selects by labels: of Services, disruption budgets and network policies."""
    kind, namespace = ref.gvk.kind, ref.namespace
    if kind == "Service" and not ref.gvk.group:
        labels = read_labels(get_at(obj, ("spec", "selector")))
        if labels is None or text_at(obj, "spec", "type") == "ExternalName":
            return ()
        ports = tuple(_list_target_ports(obj))
        return (Selection(ReferenceKind.SERVICE_SELECTOR, ("spec", "selector"), namespace, labels, ports),)
    field, found = {
        "PodDisruptionBudget": ("selector", ReferenceKind.DISRUPTION_BUDGET),
        "NetworkPolicy": ("podSelector", ReferenceKind.NETWORK_POLICY),
    }.get(kind, ("", ReferenceKind.POLICY))
    selector = read_selector(get_at(obj, ("spec", field)))
    return () if selector is None else (Selection(found, ("spec", field), namespace, selector),)
