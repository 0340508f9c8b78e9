"""External access to sandboxes: kubectl over HTTP with a token, and the kubeconfig for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from applyviz.clusters import sandbox
from applyviz.records.enums import ClusterKind
from applyviz.records.models import Cluster
from applyviz.sandbox.api.http import Response, read_token, render_status
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.foundation.scopes import EVERY_NAMESPACE, ScopeEntry


def find_sandbox(slug: str) -> Cluster | None:
    """Return the sandbox of that name or None; its token decides who may use it."""
    return Cluster.objects.filter(slug=slug, kind=ClusterKind.SANDBOX, archived_at=None).first()


def find_news(slug: str, *, path: str, headers: Mapping[str, str], revision: int) -> tuple[bool, int]:
    """Return whether a watch may have something to send after a revision, and up to which revision that is known.

    - Reads no encrypted content, so that a web process may call it often.
    - Returns True also when the sandbox is gone or the token changed: the next part then ends the watch.
    """
    cluster = find_sandbox(slug)
    if cluster is None or refuse_stranger(cluster, headers) is not None:
        return True, revision
    return sandbox.find_news(cluster, path, revision)


STRANGER: Final = render_status(401, "Unauthorized", "Unauthorized")
"""The answer to a wrong token, and to any for a sandbox that does not exist: it does not reveal which ones exist."""
NO_WORKER: Final = render_status(504, "Timeout", "no worker answered in time; is one running?")
"""The answer to a client when no worker answered."""


def refuse_stranger(cluster: Cluster, headers: Mapping[str, str]) -> Response | None:
    """Return the refusal of a request without the sandbox's token; None when it may pass to the worker's own check."""
    if not cluster.token_hash:  # a worker has not stored the hash yet and checks the token itself
        return None
    token = read_token(next((text for name, text in headers.items() if name.lower() == "authorization"), ""))
    is_known = bool(token) and sandbox.is_token_of(cluster, token)
    return None if is_known else STRANGER


def _list_scopes(cluster: Cluster) -> list[ScopeEntry]:
    return [ScopeEntry(cluster.slug), ScopeEntry(cluster.slug, EVERY_NAMESPACE)]


def may_take_kubeconfig(cluster: Cluster, visitor: Visitor) -> bool:
    """Return whether a person may have the token of this sandbox."""
    return cluster.is_sandbox and access.can(visitor, Action.APPLY, _list_scopes(cluster))


def require_kubeconfig(cluster: Cluster, *, for_user: Visitor) -> None:
    """Raise unless a person may have the token of this sandbox: it writes everywhere in it, without a review."""
    if not cluster.is_sandbox:
        raise NotVisibleError(f"{cluster.slug} is not a sandbox")
    access.require(for_user, Action.APPLY, _list_scopes(cluster))


def make_kubeconfig(cluster: Cluster, *, address: str, for_user: Visitor) -> str:
    """Return a kubeconfig for kubectl; `address` is the URL of this installation without a final slash.

    - kubectl sends a bearer token over https only, so the URL contains the token, which works over http as well.
    - Requires the right to apply: the token may write to the sandbox.
    """
    require_kubeconfig(cluster, for_user=for_user)
    return render_kubeconfig(cluster, address=address)


def render_kubeconfig(cluster: Cluster, *, address: str) -> str:
    """Return a kubeconfig for the operator of this machine, who holds the keys; pages use `make_kubeconfig`."""
    if not cluster.is_sandbox or cluster.credential is None:
        raise NotVisibleError(f"{cluster.slug} is not a sandbox")
    token = cluster.credential.open_bytes().decode()
    scheme, _, host = address.partition("://")
    server = f"{scheme}://{host}/sandboxes/{cluster.slug}"
    if scheme == "http":
        server = f"http://token:{token}@{host}/sandboxes/{cluster.slug}"
    name = f"applyviz-{cluster.slug}"
    return (
        "apiVersion: v1\nkind: Config\n"
        f"current-context: {name}\n"
        f"contexts:\n- name: {name}\n  context: {{cluster: {name}, user: {name}, namespace: default}}\n"
        f"clusters:\n- name: {name}\n  cluster: {{server: '{server}'}}\n"
        f"users:\n- name: {name}\n  user: {{token: '{token}'}}\n"
    )
