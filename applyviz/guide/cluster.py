"""The small cluster of an example: the objects of a block, which reads and lists find; every write succeeds."""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.members import read_labels
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.schema.builtin import bundled

_ABSENT = Answer(404, {"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404})


def read_cluster(text: str) -> dict[str, JSONObject]:
    """Return the objects by their paths."""
    found: dict[str, JSONObject] = {}
    for document in parse_manifests(text.encode(), "cluster").documents:
        resource = bundled().find_resource(GroupVersionKind.from_object(document.obj))
        metadata = document.obj["metadata"]
        if resource is not None:
            path = resource.path(metadata.get("namespace", ""), metadata["name"])
            found[path] = {**document.obj, "metadata": {"uid": path, **metadata}}
    return found


def answer_request(request: Request, cluster: Mapping[str, JSONObject]) -> Answer:
    """Return the answer of the cluster to one request."""
    if request.method == "POST":
        return Answer(201, request.body)
    if request.purpose == "list":
        selector = parse_selector(request.query.get("labelSelector", ""))
        below = (obj for path, obj in cluster.items() if path.rpartition("/")[0] == request.path)
        return Answer(200, {"items": [obj for obj in below if selector.matches(read_labels(obj))]})
    found = cluster.get(request.path)
    return Answer(200, found) if found is not None else _ABSENT
