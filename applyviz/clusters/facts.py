"""Read the identity of a cluster, and of our account there, before any other request.

The identity of a cluster is the uid of its namespace kube-system, regardless of its address and of the credential. A
problem is one sentence (what happened, where, why, what to do next); the server's message is kept separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError, ForbiddenError, UnreachableError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONValue, get_at

KUBE_SYSTEM_PATH = "/api/v1/namespaces/kube-system"
_KUBE_SYSTEM = Request("GET", KUBE_SYSTEM_PATH, purpose="read")
VERSION = Request("GET", "/version", purpose="read")
_WHO_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_WHO_BODY = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
_WHO = Request("POST", _WHO_PATH, {"dryRun": "All"}, "application/json", _WHO_BODY, purpose="access")

_UNAUTHORIZED = (
    "The server {server} does not accept the credential (401): its token or client certificate is wrong, was revoked, "
    "or has expired. Replace the credential of the cluster."
)
_NO_VERSION = (
    "The credential may not read /version of {server} (403). Bind the role system:public-info-viewer to its account, "
    "or replace the credential."
)
_NO_UID = (
    "The credential may not read namespace kube-system of {server} (403), whose uid is the identity of the cluster. "
    "Allow its account to get this namespace, or replace the credential."
)
_NO_KUBERNETES = (
    "The server at {server} is not a Kubernetes API server: it reports neither its version nor namespace "
    "kube-system. Correct the address in the credential."
)
_REDIRECTS = (
    "The server {server} redirects to another address, and applyviz sends the credential to no other address. Enter "
    "the address of the API server itself."
)
_FAILING = "The server {server} answered {status}. Check that the API server is healthy, then try again."


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The identity of a cluster (uid of kube-system) and its version, "" if unknown; `problem` says why."""

    uid: str
    version: str
    problem: ClusterError | None = field(default=None, compare=False)


def read_facts(reader: ClusterReader, server: str = "") -> ClusterFacts:
    """Read identity and version; unreadable ones are empty, and `problem` says why.

    - `server` is the address in messages.
    """
    namespace, version = reader.try_send_all([_KUBE_SYSTEM, VERSION])
    found = ClusterFacts(
        uid=str(get_at(namespace.body, ("metadata", "uid"), "")) if namespace.is_ok else "",
        version=str(get_at(version.body, ("gitVersion",), "")) if version.is_ok else "",
    )
    if found.version and found.uid:
        return found
    problem = explain(namespace if found.version else version, server, _NO_UID if found.version else _NO_VERSION)
    return ClusterFacts(found.uid, found.version, problem)


def require_answer(reader: ClusterReader, server: str = "") -> None:
    """Raise `ClusterError` with one sentence if a cluster does not answer at all; a 403 is an answer."""
    version = reader.try_send(VERSION)
    if not version.is_ok and version.status != HTTPStatus.FORBIDDEN:
        raise explain(version, server, _NO_VERSION)


def explain(answer: Answer, server: str = "", forbidden: str = _NO_VERSION) -> ClusterError:
    """Return the error for an answer outside 2xx; `forbidden` is the sentence for a 403."""
    facts = {"server": server or "the cluster"}
    detail = str(get_at(answer.body, ("detail",), "") or answer.message)[:1000]
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return ForbiddenError(_UNAUTHORIZED.format(**facts), 401, detail=detail)
    if answer.status == HTTPStatus.FORBIDDEN:
        return ForbiddenError(forbidden.format(**facts), 403, detail=detail)
    if answer.status == 0 and answer.message[:1].isupper():  # the sentence of a failed connection
        return UnreachableError(answer.message, detail=str(get_at(answer.body, ("detail",), "")))
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= 500:
        text = _FAILING.format(**facts, status=_name_status(answer.status))
        return UnreachableError(text, answer.status, detail=detail)
    sentence = _REDIRECTS if 300 <= answer.status < 400 else _NO_KUBERNETES
    return ClusterError(sentence.format(**facts), answer.status, detail=detail)


def _name_status(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else str(status)


def read_account(reader: ClusterReader) -> dict[str, JSONValue]:
    """Return the account of the requests: {user, groups}; {} if the cluster does not report it."""
    answer = reader.try_send(_WHO)
    info = get_at(answer.body, ("status", "userInfo"), {}) if answer.is_ok else {}
    if not isinstance(info, Mapping) or not isinstance(info.get("username"), str):
        return {}
    groups = info.get("groups")
    return {"user": info["username"], "groups": sorted(str(group) for group in groups or ())}


def require_same(reader: ClusterReader, *, uid: str, server: str, name: str) -> ClusterFacts:
    """Return the facts of a cluster that must have this uid ("": any).

    - Raises `ClusterError` with one sentence if it does not answer, or has another uid.
    """
    found = read_facts(reader, server)
    if found.problem is not None:
        raise found.problem
    if uid and found.uid != uid:
        raise ClusterError(
            f"The server {server or name} is now a different cluster: its identity is {found.uid}, and that of {name} "
            f"is {uid}. "
            f"No request was sent to it. Correct the credential of {name}, or add the other cluster under its own name."
        )
    return found
