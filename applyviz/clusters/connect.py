"""Connect to a cluster by its row; the only module that knows both kinds of clusters.

The client of live clusters is imported with the first connection to one: it takes half a second that commands, web
processes and sandboxes need not wait for. A worker that forks imports it before (`load_live_client`).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from applyviz.clusters.identity import Identity
from applyviz.clusters.kubeconfig import Credential
from applyviz.clusters.read_log import ReadLog
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.sandbox import SandboxTransport
from applyviz.clusters.transport import Transport
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import Cluster

if TYPE_CHECKING:
    from applyviz.clusters.live import LiveTransport

_OWN = Identity()
OWN_CONTEXT, SERVICE_ACCOUNT, UPLOADED = "own-context", "service-account", "uploaded"


def load_live_client() -> None:
    """Import the client of live clusters, so that forked processes share it and no task waits for it."""
    from applyviz.clusters import live  # noqa: F401, PLC0415  # slow import


def _open_live(credential: JSONObject) -> LiveTransport:
    from applyviz.clusters import live  # noqa: PLC0415  # slow import

    match credential.get("form"):
        case "own-context":
            return live.from_own_context(credential.get("context", ""), path=credential.get("path", ""))
        case "service-account":
            return live.from_service_account()
        case "uploaded":
            return live.from_credential(Credential(**credential["credential"]))
        case form:
            raise ClusterError(f"the credential has a form that is not known: {form!r}")


def open_transport(cluster: Cluster) -> Transport:
    """Connect to a cluster; only this function opens its credential."""
    if cluster.is_sandbox:
        return SandboxTransport(cluster)
    if cluster.credential is None:
        raise ClusterError(f"cluster {cluster.slug} has no credential")
    return _open_live(cluster.credential.open_json())


def reader_over(cluster: Cluster, transport: Transport, *, log: ReadLog | None = None) -> ClusterReader:
    """Return a reader over a connection; a sandbox answers one request at a time."""
    return ClusterReader(transport, parallel=1, log=log) if cluster.is_sandbox else ClusterReader(transport, log=log)


def act_as(transport: Transport, identity: Identity) -> Transport:
    """Return the same connection impersonating one identity; raises `ClusterError` for a forbidden identity."""
    return transport if identity.is_own else transport.acting_as(identity)


def open_reader(cluster: Cluster, identity: Identity = _OWN) -> ClusterReader:
    """Connect for reads and dry runs, impersonating one identity."""
    identity.list_headers()
    return reader_over(cluster, act_as(open_transport(cluster), identity))


def server_of(credential: JSONValue) -> str:
    """Return the address in a credential, without any request."""
    with closing(_open_live(as_mapping(credential))) as transport:
        return transport.server
