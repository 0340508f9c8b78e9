"""How a cluster is, and what this product's identity may do there: readiness, and one access review per kind and verb.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access. An access review is
answered and not stored; it is sent as a dry run, so that the reader carries it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from applyviz.clusters import connect, discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import get_at
from applyviz.records.models import Cluster
from applyviz.workflow import access
from applyviz.workflow.access import Action, Visitor

VERBS = ("list", "create", "patch", "delete")
KINDS = (
    ("", "namespaces"),
    ("", "configmaps"),
    ("", "secrets"),
    ("", "services"),
    ("apps", "deployments"),
    ("networking.k8s.io", "ingresses"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
)
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Health(StrEnum):
    """Whether the API server says that it is ready."""

    READY = "ready"
    NOT_READY = "not ready"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class KindRights:
    """One kind of objects: for each of `VERBS`, whether it is allowed; None when the server did not say."""

    group: str
    plural: str
    allowed: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What a cluster says of itself and of whom it takes us for; `problem` says why it did not answer."""

    health: Health = Health.UNKNOWN
    version: str = ""
    identity: str = ""
    rights: tuple[KindRights, ...] = ()
    problem: str = ""


def _ask(group: str, plural: str, verb: str, namespace: str) -> Request:
    attributes = {"group": group, "resource": plural, "verb": verb, "namespace": namespace}
    spec = {"resourceAttributes": {name: value for name, value in attributes.items() if value}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    return Request("POST", _REVIEWS, {"dryRun": "All"}, "application/json", body, purpose="access")


def _is_allowed(answer: Answer) -> bool | None:
    allowed = get_at(answer.body, ("status", "allowed")) if answer.is_ok else None
    return allowed if isinstance(allowed, bool) else None


def _read_rights(reader: ClusterReader, namespace: str) -> tuple[KindRights, ...]:
    asked = [_ask(group, plural, verb, namespace) for group, plural in KINDS for verb in VERBS]
    answers = [_is_allowed(answer) for answer in reader.try_send_all(asked)]
    width = len(VERBS)
    rows = (tuple(answers[start : start + width]) for start in range(0, len(answers), width))
    return tuple(KindRights(*kind, allowed) for kind, allowed in zip(KINDS, rows, strict=True))


def _read_health(answer: Answer) -> Health:
    if answer.is_ok:
        return Health.READY
    return Health.NOT_READY if answer.status >= 500 else Health.UNKNOWN


def _read_state(reader: ClusterReader, cluster: Cluster, namespace: str) -> ClusterState:
    facts = discovery.read_facts(reader)
    who = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    ready, told = reader.try_send_all(
        [
            Request("GET", "/readyz", purpose="read"),
            Request("POST", _WHO, {"dryRun": "All"}, "application/json", who, purpose="access"),
        ]
    )
    # A sandbox has no readiness of its own: when it answers, it is ready.
    health = Health.READY if cluster.is_sandbox and facts.version else _read_health(ready)
    return ClusterState(
        health=health,
        version=facts.version,
        identity=str(get_at(told.body, ("status", "userInfo", "username"), "")) if told.is_ok else "",
        rights=_read_rights(reader, namespace),
        problem="" if facts.version else "the cluster did not answer GET /version",
    )


def read_state(cluster: Cluster, *, for_user: Visitor, namespace: str = "") -> ClusterState:
    """How the cluster is and what may be done there, in one namespace or ("") in all of them."""
    access.require(for_user, Action.LOOK)
    try:
        with connect.open_reader(cluster) as reader:
            return _read_state(reader, cluster, namespace)
    except ClusterError as error:
        return ClusterState(problem=str(error))
