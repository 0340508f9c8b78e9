"""Sandbox clusters in the database: as a transport for plans and runs, and over plain HTTP for kubectl."""

from __future__ import annotations

from datetime import datetime

from applyviz import clock
from applyviz.clusters.identity import Identity
from applyviz.clusters.request_guard import check_request
from applyviz.clusters.storage import DatabaseStore
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.records import keyed_hashes
from applyviz.records.models import Cluster
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.api.http import HttpFace
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.lifecycle.grace_periods import has_ended
from applyviz.sandbox.storage.routing import parse_path
from applyviz.sandbox.workloads.moments import TIMERS, has_due_work

USER = "applyviz"


def _now() -> datetime:
    return clock.host_now()


def open_sandbox(cluster: Cluster) -> Sandbox:
    """Return the sandbox of a cluster over the database; it accepts writes from any caller."""
    return Sandbox(DatabaseStore(cluster.pk), _now, simulates_workloads=cluster.simulates_workloads)


def restart_simulation(cluster: Cluster) -> None:
    """Let the simulation of a sandbox look at every workload again with the next request; opens nothing sealed."""
    store = DatabaseStore(cluster.pk)
    with store.transaction():
        store.put_meta(TIMERS, None)


class SandboxTransport:
    """Carries requests to a sandbox in this process, one after the other."""

    def __init__(self, cluster: Cluster, *, user: str = USER, identity: Identity | None = None) -> None:
        self._cluster = cluster
        self._sandbox = open_sandbox(cluster)
        self._user = user
        self._identity = identity or Identity()

    def send(self, request: Request) -> Answer:
        """Return the sandbox's answer, with discovery in the aggregated form.

        - Raises `NotSentError` for a path that applyviz did not build.
        """
        check_request(request)
        if request.method == "GET" and request.path in ("/api", "/apis"):
            return Answer(200, self._sandbox.discover(request.path), at=_now())
        identity = self._identity
        answer = self._sandbox.handle(request, user=self._user, caller=RequestUser(identity.user, identity.groups))
        return replace(answer, at=_now())

    def acting_as(self, identity: Identity) -> SandboxTransport:
        """Return the same sandbox with an impersonated identity, which it reports and never restricts."""
        identity.list_headers()
        return SandboxTransport(self._cluster, user=self._user, identity=identity)

    def close(self) -> None:
        """Do nothing: a sandbox has no connection."""


def hash_token(slug: str, token: str) -> str:
    """Return the stored form of the token of one sandbox."""
    return keyed_hashes.hash_token(token, purpose="tokens of sandboxes", of=slug)


def is_token_of(cluster: Cluster, token: str) -> bool:
    """Return whether a token opens this sandbox over HTTP; the comparison takes constant time."""
    if not cluster.token_hash or not token:
        return False
    return keyed_hashes.is_same(hash_token(cluster.slug, token), cluster.token_hash)


def find_news(cluster: Cluster, path: str, revision: int) -> tuple[bool, int]:
    """Return whether a watch may have events after a revision, and the revision checked; opens nothing sealed."""
    route = parse_path(path)
    if route is None:
        return True, revision
    store = DatabaseStore(cluster.pk)
    if route.plural == "pods" and has_ended(store, _now()):
        return True, revision  # the next part of the watch ends the grace period
    if cluster.simulates_workloads and has_due_work(store, _now()):
        return True, revision  # the next part of the watch does the work
    return store.find_news(revision, route.group, route.plural, route.namespace or None)


def open_face(cluster: Cluster) -> HttpFace:
    """Return the API server of a sandbox over plain HTTP, usually for `kubectl`."""

    def _find_user(token: str) -> str | None:
        return "kubectl" if is_token_of(cluster, token) else None

    return HttpFace(open_sandbox(cluster), _find_user, _now)
