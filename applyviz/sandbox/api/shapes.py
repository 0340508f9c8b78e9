"""Refuse the paths and methods that a resource does not have, in the words of the handler that serves it.

Rule: the routes of k8s.io/apiserver for built-in resources; for custom ones the handler of
k8s.io/apiextensions-apiserver, which reads the path itself.
"""

from __future__ import annotations

from applyviz.engine.objects.exchange import Request
from applyviz.kubernetes.parity.status import (
    StatusError,
    bad_request,
    method_not_allowed,
    method_not_supported,
    no_such_page,
    no_such_path,
    not_found,
)
from applyviz.sandbox.storage.resources import ResourceTarget, builtin_resources
from applyviz.sandbox.storage.routing import Route

_READ_AND_CHANGE = ("GET", "PUT", "PATCH")
_OF_SUBRESOURCES = {
    "finalize": ("PUT",), "eviction": ("POST",), "token": ("POST",), "binding": ("POST",), "log": ("GET",),
}  # fmt: skip
_OF_OBJECTS, _OF_COLLECTIONS = ("GET", "PUT", "PATCH", "DELETE"), ("GET", "POST", "DELETE")


def find_absence(path: str) -> StatusError:
    """Return the 404 of a path that no resource serves: a `Status` within the built-in groups, else a page."""
    parts = path.strip("/").split("/")
    groups = {resource.gvk.group for resource in builtin_resources().values()}
    is_known = parts[0] == "api" or (len(parts) > 1 and parts[0] == "apis" and parts[1] in groups)
    return no_such_path() if is_known else no_such_page()


def check_shape(request: Request, route: Route, target: ResourceTarget) -> None:
    """Raise `StatusError` for a namespace, a subresource or a method that the resource does not have."""
    if target.struct is None:
        _check_custom(request, route, target)
    else:
        _check_builtin(request, route, target)


def _check_builtin(request: Request, route: Route, target: ResourceTarget) -> None:
    resource, method = target.resource, request.method
    if route.subresource and route.subresource not in resource.subresources:
        raise no_such_path()
    if route.namespace and not resource.is_namespaced:
        raise no_such_path()
    is_unbound = resource.is_namespaced and not route.namespace
    if route.name and (is_unbound or ("get" not in resource.verbs and not route.subresource)):
        raise no_such_path()
    known: tuple[str, ...]
    if route.subresource:
        known = _OF_SUBRESOURCES.get(route.subresource, _READ_AND_CHANGE)
    elif route.name:
        known = _OF_OBJECTS
    else:
        known = ("GET",) if is_unbound else _OF_COLLECTIONS
    is_missing = not route.subresource and _find_verb(method, route) not in resource.verbs
    if method not in known or is_missing or ("get" not in resource.verbs and not route.subresource):
        raise method_not_allowed()


def _check_custom(request: Request, route: Route, target: ResourceTarget) -> None:
    is_namespaced, method = target.resource.is_namespaced, request.method
    if route.namespace and not is_namespaced:
        raise no_such_page()
    if is_namespaced and not route.namespace and (method != "GET" or route.name):
        raise no_such_page()
    if route.subresource and route.subresource not in target.resource.subresources:
        raise not_found(target.group, target.plural, route.name)
    verb = _find_verb(method, route)
    if not verb or (route.subresource and method not in _READ_AND_CHANGE):
        raise method_not_supported(target.group, target.plural, verb)
    if not route.name and verb in ("update", "patch"):
        raise bad_request("name must be provided")


def _find_verb(method: str, route: Route) -> str:
    """Return the verb of a request, empty text for a method that has none."""
    named = {"GET": "get", "DELETE": "delete"} if route.name else {"GET": "list", "DELETE": "deletecollection"}
    return {**named, "POST": "create", "PUT": "update", "PATCH": "patch"}.get(method, "")
