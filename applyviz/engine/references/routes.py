"""List the references of Ingresses and routes: backends, parents, classes and certificates.

Rule: https://kubernetes.io/docs/concepts/services-networking/ingress/ and
https://gateway-api.sigs.k8s.io/reference/spec/ (group, kind and namespace of a reference have defaults). A missing
certificate is optional: it is often made by another controller, and the default one is served until then.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.references.model import Key, PlainPath, Reference, ReferenceKind
from applyviz.engine.references.reading import list_entries, map_at, text_at

GATEWAY = "gateway.networking.k8s.io"
_CLASS = ("networking.k8s.io", "IngressClass")


def _read_port(port: JSONValue) -> str:
    """Return a port as text: its name, or its number."""
    return str(port) if isinstance(port, (int, str)) and not isinstance(port, bool) else ""


def _list_backend(backend: JSONObject, path: PlainPath, namespace: str) -> Iterator[Reference]:
    service = map_at(backend, "service")
    port = map_at(service, "port")
    # `serviceName` and `servicePort` belong to the versions before networking.k8s.io/v1.
    name = text_at(service, "name") or text_at(backend, "serviceName")
    key = _read_port(port.get("name") or port.get("number") or backend.get("servicePort"))
    yield Reference(ReferenceKind.BACKEND, path, ("", "Service", namespace, name), key)
    resource = map_at(backend, "resource")
    target = (text_at(resource, "apiGroup"), text_at(resource, "kind"), namespace, text_at(resource, "name"))
    yield Reference(ReferenceKind.BACKEND, path, target)


def list_ingress_references(obj: JSONObject, namespace: str) -> Iterator[Reference]:
    """Yield what an Ingress names."""
    spec = map_at(obj, "spec")
    for n, rule in list_entries(spec.get("rules")):
        for m, path in list_entries(get_at(rule, ("http", "paths"))):
            backend_path = ("spec", "rules", n, "http", "paths", m, "backend")
            yield from _list_backend(map_at(path, "backend"), backend_path, namespace)
    for field in ("defaultBackend", "backend"):
        yield from _list_backend(map_at(spec, field), ("spec", field), namespace)
    name = text_at(spec, "ingressClassName")
    yield Reference(ReferenceKind.CLASS, ("spec", "ingressClassName"), (*_CLASS, "", name))
    for n, entry in list_entries(spec.get("tls")):
        target = ("", "Secret", namespace, text_at(entry, "secretName"))
        yield Reference(ReferenceKind.CERTIFICATE, ("spec", "tls", n, "secretName"), target, is_optional=True)


def _read_target(ref: JSONObject, namespace: str, *, group: str = "", kind: str) -> Key:
    """Return the object of a reference of the Gateway API, whose parts have defaults."""
    named = ref.get("group")
    return (
        named if isinstance(named, str) else group,
        text_at(ref, "kind") or kind,
        text_at(ref, "namespace") or namespace,
        text_at(ref, "name"),
    )


def list_route_references(obj: JSONObject, namespace: str) -> Iterator[Reference]:
    """Yield what a route of the Gateway API names: its Gateways and its backends."""
    spec = map_at(obj, "spec")
    for n, parent in list_entries(spec.get("parentRefs")):
        target = _read_target(parent, namespace, group=GATEWAY, kind="Gateway")
        yield Reference(ReferenceKind.PARENT, ("spec", "parentRefs", n), target)
    for n, rule in list_entries(spec.get("rules")):
        rule_path: PlainPath = ("spec", "rules", n)
        found = [((*rule_path, "backendRefs", m), backend) for m, backend in list_entries(rule.get("backendRefs"))]
        for m, step in list_entries(rule.get("filters")):
            mirror = map_at(step, "requestMirror", "backendRef")
            found.append(((*rule_path, "filters", m, "requestMirror", "backendRef"), mirror))
        for path, backend in found:
            target = _read_target(backend, namespace, kind="Service")
            yield Reference(ReferenceKind.BACKEND, path, target, _read_port(backend.get("port")))


def list_gateway_references(obj: JSONObject, namespace: str) -> Iterator[Reference]:
    """Yield what a Gateway names: its class and the certificates of its listeners."""
    spec = map_at(obj, "spec")
    target = (GATEWAY, "GatewayClass", "", text_at(spec, "gatewayClassName"))
    yield Reference(ReferenceKind.CLASS, ("spec", "gatewayClassName"), target)
    for n, listener in list_entries(spec.get("listeners")):
        for m, ref in list_entries(get_at(listener, ("tls", "certificateRefs"))):
            path = ("spec", "listeners", n, "tls", "certificateRefs", m)
            named = _read_target(ref, namespace, kind="Secret")
            yield Reference(ReferenceKind.CERTIFICATE, path, named, is_optional=True)
