"""Permissions that a plan requires, checked by access reviews on the cluster under the identity of the plan.

Checked when a plan is created, so that a plan that the cluster would refuse is not approved, and again before the first
write, for the cluster's own credential and for impersonation. Rule:
https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access. A missing answer blocks
nothing, because the server authorizes each write again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from applyviz.clusters.identity import Identity
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.requests.calls import ABSENT_VERSION
from applyviz.sandbox.storage.routing import parse_path
from applyviz.workflow.foundation.blockers import AccessDenied

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class RequiredAccess(Struct, frozen=True, order=True):
    """One permission that must be granted; without a name it covers all objects of the resource."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{f' {self.name}' if self.name else ''}{where}"

    def ask(self) -> Request:
        """Return the access review as a request; the server does not store it."""
        resource, _, subresource = self.resource.partition("/")
        given = {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "namespace": self.namespace,
            "name": self.name,
        }
        spec = {"resourceAttributes": {name: value for name, value in given.items() if value}}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        return Request("POST", REVIEWS, {"dryRun": "All"}, "application/json", body, purpose="access")


def list_needs(requests: Iterable[Request]) -> tuple[RequiredAccess, ...]:
    """Return the permissions that the writes of a plan require, each once.

    - Applying an absent object requires `create` besides `patch`, as the API server checks it.
    """
    found: dict[RequiredAccess, None] = {}
    for request in requests:
        route = parse_path(request.path) if request.is_write else None
        if route is None:
            continue
        resource = f"{route.plural}/{route.subresource}" if route.subresource else route.plural
        need = RequiredAccess(_VERBS[request.method], route.group, resource, route.namespace, route.name)
        found[need] = None
        if request.content_type == APPLY_PATCH and _is_absent(request):
            found[replace(need, verb="create", name="")] = None
    return tuple(found)


def _is_absent(request: Request) -> bool:
    """Return whether a template applies an object that does not exist yet (its version says so)."""
    return bool(get_at(request.body, ("metadata", "resourceVersion"), "") == ABSENT_VERSION)


def is_allowed(answer: Answer) -> bool | None:
    """Return the answer of an access review; None without a usable one."""
    allowed = get_at(answer.body, ("status", "allowed")) if answer.is_ok else None
    return allowed if isinstance(allowed, bool) else None


def find_denied(reader: ClusterReader, needs: Sequence[RequiredAccess]) -> tuple[RequiredAccess, ...]:
    """Return the permissions that the identity of a reader lacks, in order.

    - Asks for all objects of a resource first, and by name where that is denied: a role may name objects.
    """
    whole = sorted({replace(need, name="") for need in needs})
    answers = dict(zip(whole, _ask(reader, whole), strict=True))
    doubtful = [need for need in needs if answers[replace(need, name="")] is False]
    named = [need for need in doubtful if need.name]
    by_name = dict(zip(named, _ask(reader, named), strict=True))
    return tuple(sorted(need for need in doubtful if by_name.get(need, False) is False))


def _ask(reader: ClusterReader, needs: Sequence[RequiredAccess]) -> list[bool | None]:
    return [is_allowed(answer) for answer in reader.try_send_all([need.ask() for need in needs])]


def describe_denied(denied: Iterable[RequiredAccess]) -> list[str]:
    """Return the denied permissions as a plan stores them: one text per verb, resource, namespace and name, if any."""
    groups: dict[RequiredAccess, list[RequiredAccess]] = {}
    for need in denied:
        groups.setdefault(replace(need, name=""), []).append(need)
    return [str(found[0] if len(found) == 1 else whole) for whole, found in groups.items()]


def list_denied(identity: Identity, denied: Sequence[str]) -> tuple[AccessDenied, ...]:
    """Return why a run must fail; empty when nothing is denied."""
    return (AccessDenied("" if identity.is_own else str(identity), tuple(denied)),) if denied else ()
