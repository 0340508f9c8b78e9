"""Answer access reviews, which kubectl sends before it acts; a sandbox allows everything.

The callers of a sandbox decide who may reach it. Impersonation follows the rule of a server:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
"""

from __future__ import annotations

from dataclasses import dataclass

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.sandbox.storage.routing import Route

_ALLOWED = frozenset({"selfsubjectaccessreviews", "subjectaccessreviews", "localsubjectaccessreviews"})


@dataclass(frozen=True, slots=True)
class RequestUser:
    """The user of a request: the impersonated user, or ("" for no name) the administrator of the sandbox."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def render(self) -> MutableObject:
        """Return the user as `kubectl auth whoami` prints it."""
        if not self.user:
            return {"username": "sandbox", "groups": ["system:masters"]}
        added = "system:unauthenticated" if self.user == "system:anonymous" else "system:authenticated"
        groups = self.groups if added in self.groups else (*self.groups, added)
        shown: MutableObject = {"username": self.user, "groups": list(groups)}
        if self.uid:
            shown["uid"] = self.uid
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


def answer_review(request: Request, route: Route, caller: RequestUser) -> Answer | None:
    """Return the answer to an access review, None if the request is not one."""
    if request.method != "POST" or not isinstance(request.body, dict):
        return None
    status: MutableObject
    if route.group == "authorization.k8s.io" and route.plural in _ALLOWED:
        status = {"allowed": True, "reason": "a sandbox cluster allows everything"}
    elif route.group == "authorization.k8s.io" and route.plural == "selfsubjectrulesreviews":
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        paths = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        status = {"resourceRules": rules, "nonResourceRules": paths, "incomplete": False}
    elif route.group == "authentication.k8s.io" and route.plural == "selfsubjectreviews":
        status = {"userInfo": caller.render()}
    else:
        return None
    return Answer(201, {**request.body, "status": status})
