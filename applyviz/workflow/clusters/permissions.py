"""May the identity of a plan do what the plan would write? Asked of the cluster itself, as that identity.

Asked when a plan is made, so that nobody approves what would be refused, and again before the first write, of the
cluster's own credential as of an impersonated identity. Rule:
https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access. An answer that does not
come decides nothing, because the server asks itself once more at each write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from applyviz.clusters.identity import Identity
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.values import get_at
from applyviz.engine.requests.calls import ABSENT_VERSION
from applyviz.sandbox.storage.routing import parse_path

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, order=True)
class RequiredAccess:
    """One thing that must be allowed; without a name it is asked of all objects of the resource."""

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
        """The access review; it is answered and not stored."""
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
    """What must be allowed so that writes go through, each named once.

    - Applying an object that is not there needs `create` besides `patch`, as the server asks it.
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
    """Whether a template applies an object that is not there yet (its version says so)."""
    return bool(get_at(request.body, ("metadata", "resourceVersion"), "") == ABSENT_VERSION)


def is_allowed(answer: Answer) -> bool | None:
    """What an access review answers; None when nothing usable came."""
    allowed = get_at(answer.body, ("status", "allowed")) if answer.is_ok else None
    return allowed if isinstance(allowed, bool) else None


def find_denied(reader: ClusterReader, needs: Sequence[RequiredAccess]) -> tuple[RequiredAccess, ...]:
    """Those that the identity of a reader may not do, in order.

    - First asked of all objects of a resource, and by name where that is denied: a role may name objects.
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
    """What is denied, for a plan to keep: one text per verb, resource and namespace, with the name where it is one."""
    groups: dict[RequiredAccess, list[RequiredAccess]] = {}
    for need in denied:
        groups.setdefault(replace(need, name=""), []).append(need)
    return [str(found[0] if len(found) == 1 else whole) for whole, found in groups.items()]


def name_denied(identity: Identity, denied: Sequence[str]) -> tuple[str, ...]:
    """Why a run must fail, in one sentence for people; nothing when nothing is denied."""
    if not denied:
        return ()
    more = _(", and %(n)d more") % {"n": len(denied) - 3} if len(denied) > 3 else ""
    who = _("the cluster credential") if identity.is_own else str(identity)
    facts = {"who": who, "acts": ", ".join(denied[:3]), "more": more}
    return (
        _("%(who)s is not allowed to %(acts)s%(more)s. Grant this permission to its account, then re-plan") % facts,
    )
