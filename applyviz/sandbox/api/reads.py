"""Read objects: one object, lists with selectors and pages.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (collections, `limit` and `continue`). A continue
token names the last object returned and the revision of the first page. The next page shows the current state under
that revision, so that a watch from it misses nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.golang import is_digits
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.kubernetes.parity.status import bad_request
from applyviz.sandbox.api.selectors import read_field_selector, read_label_selector
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route


def read_object(cluster: SandboxCluster, route: Route, target: ResourceTarget) -> Answer:
    """GET of one object or of its status."""
    return Answer(200, cluster.get(target, route.namespace, route.name))


def read_selection(target: ResourceTarget, query: Mapping[str, str]) -> Callable[[MutableObject], bool]:
    """Return the predicate of the selectors of a query, for objects at the version of the target.

    - Raises `StatusError` (400) for invalid selectors.
    """
    fits = read_label_selector(query.get("labelSelector", ""))
    passes = read_field_selector(query["fieldSelector"], target) if query.get("fieldSelector") else None
    return lambda obj: fits(obj["metadata"].get("labels") or {}) and (passes is None or passes(obj))


def _select(
    cluster: SandboxCluster, target: ResourceTarget, query: Mapping[str, str], stored: Iterable[JSONObject]
) -> list[MutableObject]:
    is_chosen = read_selection(target, query)
    return [o for o in (cluster.read(target, obj) for obj in stored) if is_chosen(o)]


def select_items(
    cluster: SandboxCluster, target: ResourceTarget, namespace: str, query: Mapping[str, str]
) -> list[MutableObject]:
    """Return all objects that the selectors of a query match."""
    return _select(cluster, target, query, cluster.store.list(target.group, target.plural, namespace or None))


def select_at_revision(
    cluster: SandboxCluster, target: ResourceTarget, namespace: str, query: Mapping[str, str]
) -> tuple[list[MutableObject], int]:
    """Return the matching objects and their revision: a watch from there misses no change and repeats none."""
    stored, revision = cluster.store.list_at_revision(target.group, target.plural, namespace or None)
    return _select(cluster, target, query, stored), revision


def _read_token(token: str) -> tuple[tuple[str, str], int]:
    try:
        namespace, name, revision = json.loads(base64.urlsafe_b64decode(token.encode()))
        return (str(namespace), str(name)), int(revision)
    except (ValueError, binascii.Error, TypeError) as error:
        raise bad_request("continue key is not valid: the token cannot be read") from error


def _place(item: MutableObject) -> tuple[str, str]:
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _read_limit(text: str) -> int:
    """Return a limit, 0 for none; longer numbers than any list are none."""
    return int(text) if is_digits(text) and len(text) < 20 else 0


def list_objects(cluster: SandboxCluster, request: Request, route: Route, target: ResourceTarget) -> Answer:
    """GET of a collection."""
    query = request.query
    items, revision = select_at_revision(cluster, target, route.namespace, query)
    if query.get("continue"):
        after, revision = _read_token(query["continue"])
        items = [o for o in items if _place(o) > after]
    metadata: MutableObject = {"resourceVersion": str(revision)}
    if target.struct is None:
        metadata["continue"] = ""
    limit = _read_limit(query.get("limit", ""))
    if limit and len(items) > limit:
        token = json.dumps([*_place(items[limit - 1]), revision])
        metadata["continue"] = base64.urlsafe_b64encode(token.encode()).decode()
        metadata["remainingItemCount"] = len(items) - limit
        items = items[:limit]
    if target.struct is not None:
        items = [{k: v for k, v in o.items() if k not in ("apiVersion", "kind")} for o in items]
    body = {
        "kind": target.gvk.kind + "List",
        "apiVersion": target.gvk.api_version,
        "metadata": metadata,
        "items": items,
    }
    return Answer(200, body)
