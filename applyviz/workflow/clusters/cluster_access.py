"""Cluster status and permissions: readiness, and one access review per kind and verb for the mapped identity.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access. The API server answers
an access review and does not store it; the reader sends it as a dry run.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from applyviz.clusters import connect, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.structs import replace
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
    ("", "pods"),
    ("", "events"),
    ("", "resourcequotas"),
    ("", "limitranges"),
    ("apps", "deployments"),
    ("networking.k8s.io", "ingresses"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
)


class ClusterReadiness(StrEnum):
    """Readiness according to the API server."""

    READY = "ready"
    NOT_READY = "not-ready"
    UNKNOWN = "unknown"


class KindPermissions(Struct, frozen=True):
    """The permissions on one kind: for each of `VERBS`, whether it is allowed; None without an answer."""

    group: str
    plural: str
    allowed: tuple[bool | None, ...]


class ClusterState(Struct, frozen=True):
    """Version, readiness, identity and permissions of a cluster; `problem` says why it did not answer.

    - `server_message`: the original text of the server or the network.
    - `is_impersonated`: whether a mapped identity was used instead of the cluster's own credential.
    """

    health: ClusterReadiness = ClusterReadiness.UNKNOWN
    version: str = ""
    identity: str = ""
    rights: tuple[KindPermissions, ...] = ()
    problem: str = ""
    server_message: str = ""
    is_impersonated: bool = False


def _read_permissions(reader: ClusterReader, namespace: str) -> tuple[KindPermissions, ...]:
    asked = [RequiredAccess(verb, group, plural, namespace).ask() for group, plural in KINDS for verb in VERBS]
    answers = [is_allowed(answer) for answer in reader.try_send_all(asked)]
    width = len(VERBS)
    rows = (tuple(answers[start : start + width]) for start in range(0, len(answers), width))
    return tuple(KindPermissions(*kind, allowed) for kind, allowed in zip(KINDS, rows, strict=True))


def _read_health(reader: ClusterReader) -> ClusterReadiness:
    """Read `/readyz`, which answers in plain text; a reader raises for that because it expects JSON."""
    try:
        status = reader.send(Request("GET", "/readyz", purpose="read")).status
    except ClusterError as error:
        status = error.status
    if 200 <= status < 300:
        return ClusterReadiness.READY
    return ClusterReadiness.NOT_READY if status >= 500 else ClusterReadiness.UNKNOWN


def _read_state(reader: ClusterReader, cluster: Cluster, namespace: str) -> ClusterState:
    found = facts.read_facts(reader, cluster.server)
    if found.problem is not None and not found.version:
        return ClusterState(problem=found.problem.reason, server_message=found.problem.detail)
    # A sandbox has no readiness endpoint: when it answers, it is ready.
    health = ClusterReadiness.READY if cluster.is_sandbox else _read_health(reader)
    return ClusterState(
        health=health,
        version=found.version,
        identity=str(facts.read_account(reader).get("user", "")),
        rights=_read_permissions(reader, namespace),
    )


def read_state(cluster: Cluster, *, for_user: Visitor, namespace: str = "") -> ClusterState:
    """Read the state of a cluster and a person's permissions there, in one namespace or ("") in all of them."""
    person = access.require(for_user, Action.VIEW)
    try:
        identity = impersonation.find_identity(person, cluster)
        with connect.open_reader(cluster, identity) as reader:
            return replace(_read_state(reader, cluster, namespace), is_impersonated=not identity.is_own)
    except (ClusterError, NotPossibleError) as error:
        return ClusterState(problem=str(error))
