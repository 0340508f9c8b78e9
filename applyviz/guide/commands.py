"""Run a whole `kubectl apply` or `kubectl delete` on the small cluster of an example.

The cluster consists of the objects of a block: reads and lists find them, and every write succeeds. The result is the
output of kubectl, line by line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.kubectl import CommandResult, run_apply
from applyviz.engine.requests.members import read_labels
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.deletions import run_deletion

# Where a problem is: kubectl does not say.
_POSITION = re.compile(r"^set(?::(?P<line>\d+))?(?::\d+)?: ")
_NO_KIND = ": ensure CRDs are installed first"
_ABSENT = Answer(404, {"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404})


def _read_cluster(text: str) -> dict[str, JSONObject]:
    """Return the objects by their paths."""
    found: dict[str, JSONObject] = {}
    for document in parse_manifests(text.encode(), "cluster").documents:
        resource = bundled().find_resource(GroupVersionKind.from_object(document.obj))
        metadata = document.obj["metadata"]
        if resource is not None:
            path = resource.path(metadata.get("namespace", ""), metadata["name"])
            found[path] = {**document.obj, "metadata": {"uid": path, **metadata}}
    return found


def _answer(request: Request, cluster: Mapping[str, JSONObject]) -> Answer:
    if request.method == "POST":
        return Answer(201, request.body)
    if request.purpose == "list":
        selector = parse_selector(request.query.get("labelSelector", ""))
        below = (obj for path, obj in cluster.items() if path.rpartition("/")[0] == request.path)
        return Answer(200, {"items": [obj for obj in below if selector.matches(read_labels(obj))]})
    found = cluster.get(request.path)
    return Answer(200, found) if found is not None else _ABSENT


def _print_error(error: str, manifests: ParsedFile) -> Iterator[str]:
    """Yield the lines of kubectl for an error of a set: no position, but the object of an unknown kind."""
    found = _POSITION.match(error)
    reason = error[found.end() :] if found else error
    document = next((d for d in manifests.documents if found and str(d.position.line) == found["line"]), None)
    if document is None or not reason.endswith(_NO_KIND):
        yield f"error: {reason}"
        return
    named = f'name: "{document.ref.name}" namespace: "{document.ref.namespace}" from "set"'
    yield f"error: resource mapping not found for {named}: {reason.removesuffix(_NO_KIND)}"
    yield _NO_KIND.removeprefix(": ")


def run_command(command: str, manifests: str, cluster: str) -> Sequence[str]:
    """Return the lines that the command prints, and one for each error."""
    words = shlex.split(command)
    start = words.index("kubectl")
    if words[start + 1] == "delete":
        cluster_objects = _read_cluster(cluster)
        return run_deletion(words[start + 2 :], manifests, lambda request: _answer(request, cluster_objects))
    environment = dict(word.partition("=")[::2] for word in words[:start])
    parsed = parse_apply(words[start + 1 :], environment, namespace="shop")
    given = parse_manifests(manifests.encode(), "set")
    flow = run_apply([given], command=parsed, catalog=bundled())
    live = _read_cluster(cluster)
    try:
        request = next(flow)
        while True:
            request = flow.send(_answer(request, live))
    except StopIteration as stop:
        result: CommandResult = stop.value
        return (*result.lines, *(line for error in result.errors for line in _print_error(error, given)))
