"""Reading: one object, lists with selectors and pages.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (collections, `limit` and `continue`).
A continue token names the last object given; the next page shows the present, not the past.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.sandbox.cluster import Cluster
from applyviz.sandbox.routing import Route
from applyviz.sandbox.selectors import read_field_selector, read_label_selector
from applyviz.sandbox.status import bad_request
from applyviz.sandbox.targets import Target


def read_object(cluster: Cluster, route: Route, target: Target) -> Answer:
    """GET of one object or of its status."""
    return Answer(200, cluster.get(target, route.namespace, route.name))


def select_items(cluster: Cluster, target: Target, namespace: str, query: Mapping[str, str]) -> list[MutableObject]:
    """All objects that the selectors of a query choose."""
    chosen = cluster.store.list(target.group, target.plural, namespace or None)
    if query.get("labelSelector"):
        fits = read_label_selector(query["labelSelector"])
        chosen = [o for o in chosen if fits(o["metadata"].get("labels") or {})]
    items = [cluster.read(target, o) for o in chosen]
    if query.get("fieldSelector"):
        passes = read_field_selector(query["fieldSelector"], target)
        items = [o for o in items if passes(o)]
    return items


def _read_token(token: str) -> tuple[str, str]:
    try:
        namespace, name = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error, TypeError) as error:
        raise bad_request("continue key is not valid: the token cannot be read") from error
    return str(namespace), str(name)


def _place(item: MutableObject) -> tuple[str, str]:
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]


def list_objects(cluster: Cluster, request: Request, route: Route, target: Target) -> Answer:
    """GET of a collection."""
    query = request.query
    items = select_items(cluster, target, route.namespace, query)
    metadata: MutableObject = {"resourceVersion": str(cluster.store.revision())}
    if target.struct is None:
        metadata["continue"] = ""
    if query.get("continue"):
        after = _read_token(query["continue"])
        items = [o for o in items if _place(o) > after]
    limit = int(query["limit"]) if query.get("limit", "").isdigit() else 0
    if limit and len(items) > limit:
        token = json.dumps(_place(items[limit - 1]))
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
