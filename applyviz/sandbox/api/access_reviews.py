"""Answer access reviews, which kubectl sends before it acts; a sandbox allows everything.

The callers of a sandbox decide who may reach it. Impersonation follows the rule of a server:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.kubernetes.parity.status import FieldError, bad_request, invalid, invalid_object, invalid_struct
from applyviz.sandbox.storage.routing import Route

_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
_REVIEWS = frozenset(
    {
        *((_AUTHORIZATION, f"{whose}subjectaccessreviews") for whose in ("", "self", "local")),
        *((_AUTHORIZATION, "selfsubjectrulesreviews"), (_AUTHENTICATION, "selfsubjectreviews")),
    }
)
_PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", *_PUBLIC[2:])
# The rules of a new cluster for its administrator, in the order in which a server lists them.
_RULES: JSONObject = {
    "resourceRules": [
        {
            "verbs": ["create"],
            "apiGroups": [_AUTHORIZATION],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["create"], "apiGroups": [_AUTHENTICATION], "resources": ["selfsubjectreviews"]},
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    ],
    "nonResourceRules": [
        {"verbs": ["get"], "nonResourceURLs": list(_PUBLIC)},
        {"verbs": ["get"], "nonResourceURLs": list(_DISCOVERY)},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ],
    "incomplete": False,
}


class RequestUser(Struct, frozen=True):
    """The user of a request: the impersonated user, or ("" for no name) the administrator of the sandbox."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def render(self) -> MutableObject:
        """Return the user as `kubectl auth whoami` prints it."""
        if not self.user:
            return {"username": "sandbox", "groups": ["system:masters", "system:authenticated"]}
        added = "system:unauthenticated" if self.user == "system:anonymous" else "system:authenticated"
        groups = self.groups if added in self.groups else (*self.groups, added)
        shown: MutableObject = {"username": self.user, "groups": list(groups)}
        if self.uid:
            shown["uid"] = self.uid
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


def is_review(route: Route) -> bool:
    """Return whether objects of a path are questions about access, which are answered and not stored."""
    return (route.group, route.plural) in _REVIEWS


def answer_review(route: Route, sent: JSONObject, caller: RequestUser, now: str) -> Answer:
    """Return the answer to an access review at a time.

    - `sent`: the review, as the server reads it.
    - Raises `StatusError` for a review without a subject, and for one without exactly one kind of attributes.
    """
    body: MutableObject = {"kind": sent["kind"], "apiVersion": sent["apiVersion"], "metadata": {}}
    spec: JSONObject = sent.get("spec") or {}
    if route.plural == "selfsubjectreviews":
        return Answer(201, {**body, "metadata": {"creationTimestamp": now}, "status": {"userInfo": caller.render()}})
    if route.plural == "selfsubjectrulesreviews":
        if not spec.get("namespace"):
            raise bad_request("no namespace on request")
        return Answer(201, {**body, "spec": {}, "status": clone(_RULES)})
    problems = list(_find_problems(spec, names_user=not route.plural.startswith("self")))
    if route.namespace:
        problems += _find_local_problems(spec, route.namespace)
    if problems:
        raise invalid_object(route.group, "", "", problems)
    metadata = {"namespace": route.namespace} if route.namespace else {}
    return Answer(201, {**body, "metadata": metadata, "spec": spec, "status": {"allowed": True}})


def _find_problems(spec: JSONObject, *, names_user: bool) -> Iterator[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        yield invalid_struct("spec.nonResourceAttributes", _print_path(path), detail)
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid("spec.resourceAttributes", None, detail)
    if names_user and not spec.get("user") and not spec.get("groups"):
        yield invalid("spec.user", "", "at least one of user or group must be specified")


def _find_local_problems(spec: JSONObject, namespace: str) -> Iterator[FieldError]:
    """Yield what a review may not ask in a namespace: about another one, or about a path of the server."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    asked = resource.get("namespace", "") if resource is not None else namespace
    if asked != namespace:
        yield invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")
    if path is not None:
        yield invalid_struct("spec.nonResourceAttributes", _print_path(path), "disallowed on this kind of request")


def _print_path(path: JSONObject) -> JSONObject:
    """Return the attributes of a path as the server prints their struct."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
