"""How a cluster is, and as whom a person may do what there: readiness, and one access review per kind and verb.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access. An access review is
answered and not stored; it is sent as a dry run, so that the reader carries it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from applyviz.clusters import connect, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Request
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.clusters.permissions import RequiredAccess, is_allowed
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError

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
    """What a cluster says of itself and of whom it takes us for; `problem` says why it did not answer.

    - `server_message`: what the server or the network said then, in its own words.
    - `is_impersonated`: whether that is a mapped identity, and not the cluster's own credential.
    """

    health: Health = Health.UNKNOWN
    version: str = ""
    identity: str = ""
    rights: tuple[KindRights, ...] = ()
    problem: str = ""
    server_message: str = ""
    is_impersonated: bool = False


def _read_rights(reader: ClusterReader, namespace: str) -> tuple[KindRights, ...]:
    asked = [RequiredAccess(verb, group, plural, namespace).ask() for group, plural in KINDS for verb in VERBS]
    answers = [is_allowed(answer) for answer in reader.try_send_all(asked)]
    width = len(VERBS)
    rows = (tuple(answers[start : start + width]) for start in range(0, len(answers), width))
    return tuple(KindRights(*kind, allowed) for kind, allowed in zip(KINDS, rows, strict=True))


def _read_health(reader: ClusterReader) -> Health:
    """What `/readyz` says; it answers with plain text, which a reader takes for no answer of an API."""
    try:
        status = reader.send(Request("GET", "/readyz", purpose="read")).status
    except ClusterError as error:
        status = error.status
    if 200 <= status < 300:
        return Health.READY
    return Health.NOT_READY if status >= 500 else Health.UNKNOWN


def _read_state(reader: ClusterReader, cluster: Cluster, namespace: str) -> ClusterState:
    found = facts.read_facts(reader, cluster.server)
    if found.problem is not None and not found.version:
        return ClusterState(problem=found.problem.reason, server_message=found.problem.detail)
    # A sandbox has no readiness of its own: when it answers, it is ready.
    health = Health.READY if cluster.is_sandbox else _read_health(reader)
    return ClusterState(
        health=health,
        version=found.version,
        identity=str(facts.read_account(reader).get("user", "")),
        rights=_read_rights(reader, namespace),
    )


def read_state(cluster: Cluster, *, for_user: Visitor, namespace: str = "") -> ClusterState:
    """How the cluster is and what a person may do there as whom they are mapped to, in one namespace or ("") in all."""
    person = access.require(for_user, Action.VIEW)
    try:
        identity = impersonation.find_identity(person, cluster)
        with connect.open_reader(cluster, identity) as reader:
            return replace(_read_state(reader, cluster, namespace), is_impersonated=not identity.is_own)
    except (ClusterError, NotPossibleError) as error:
        return ClusterState(problem=str(error))
