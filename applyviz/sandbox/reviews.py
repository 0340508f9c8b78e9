"""Access reviews: questions that kubectl asks before it acts; in a sandbox everything is allowed.

Who may reach a sandbox at all is decided by its callers.
"""

from __future__ import annotations

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.sandbox.routing import Route

_ALLOWED = frozenset({"selfsubjectaccessreviews", "subjectaccessreviews", "localsubjectaccessreviews"})


def answer_review(request: Request, route: Route) -> Answer | None:
    """The answer to an access review, None when the request is none."""
    if request.method != "POST" or not isinstance(request.body, dict):
        return None
    status: MutableObject
    if route.group == "authorization.k8s.io" and route.plural in _ALLOWED:
        status = {"allowed": True, "reason": "a sandbox cluster allows everything"}
    elif route.group == "authorization.k8s.io" and route.plural == "selfsubjectrulesreviews":
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        status = {"resourceRules": rules, "nonResourceRules": [], "incomplete": False}
    elif route.group == "authentication.k8s.io" and route.plural == "selfsubjectreviews":
        status = {"userInfo": {"username": "sandbox", "groups": ["system:masters"]}}
    else:
        return None
    return Answer(201, {**request.body, "status": status})
