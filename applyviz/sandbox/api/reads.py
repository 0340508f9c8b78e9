"""Read objects: one object, lists with selectors and pages.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (collections, `limit` and `continue`). A continue
token names the last object returned and the revision of the first page. The next page shows the current state under
that revision, so that a watch from it misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.api.list_options import find_revision_problem, read_list_options, write_token
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import Place, read_place


def read_object(cluster: SandboxCluster, request: Request, route: Route, target: ResourceTarget) -> Answer:
    """GET of one object or of its status."""
    if problem := find_revision_problem(request.query):
        raise StatusError(500, "", problem)
    return Answer(200, cluster.get(target, route.namespace, route.name))


def select_items(
    cluster: SandboxCluster, target: ResourceTarget, namespace: str, query: Mapping[str, str]
) -> list[MutableObject]:
    """Return all objects that the selectors of a query match."""
    is_chosen = read_list_options(target, query).is_chosen
    stored = cluster.store.list(target.group, target.plural, namespace or None)
    return [o for o in (cluster.read(target, obj) for obj in stored) if is_chosen(o)]


def select_at_revision(
    cluster: SandboxCluster,
    target: ResourceTarget,
    namespace: str,
    is_chosen: Callable[[MutableObject], bool],
    after: Place | None = None,
) -> tuple[list[MutableObject], int]:
    """Return the matching objects and their revision: a watch from there misses no change and repeats none.

    - `after`: the namespace and name of the object after which the list begins; None for all.
    """
    found, revision = cluster.store.list_at_revision(target.group, target.plural, namespace or None, after)
    return [o for o in (cluster.read_own(target, obj) for obj in found) if is_chosen(o)], revision


def list_objects(cluster: SandboxCluster, request: Request, route: Route, target: ResourceTarget) -> Answer:
    """GET of a collection."""
    options = read_list_options(target, request.query)
    start = options.start
    after = (start.namespace, start.name) if start is not None else None
    items, revision = select_at_revision(cluster, target, route.namespace, options.is_chosen, after)
    if start is not None:
        revision = start.revision
    metadata: MutableObject = {"resourceVersion": str(revision)}
    if target.struct is None:
        metadata["continue"] = ""
    if options.limit and len(items) > options.limit:
        metadata["continue"] = write_token(*read_place(items[options.limit - 1]), revision)
        metadata["remainingItemCount"] = len(items) - options.limit
        items = items[: options.limit]
    if target.struct is not None:
        items = [{k: v for k, v in o.items() if k not in ("apiVersion", "kind")} for o in items]
    body = {
        "kind": target.gvk.kind + "List",
        "apiVersion": target.gvk.api_version,
        "metadata": metadata,
        "items": items,
    }
    return Answer(200, body)
