"""Run a whole `kubectl apply` or `kubectl delete` on the small cluster of an example, as lines of text.

The cluster has the objects of a block, which reads and lists find; every write succeeds. An apply gives the output of
kubectl. A deletion gives each request of the plan of a Delete review, and what else goes or stays; kubectl sends the
same deletions.
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
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.kubectl import CommandResult, run_apply
from applyviz.engine.requests.members import read_labels
from applyviz.engine.requests.options import ApplyOptions, SetAction
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.given_sets import read_cascade
from applyviz.sandbox.api.estimates import with_estimates

_NOW = "2026-01-01T00:00:00Z"
_ABSENT = Answer(404, {"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404})
# Where a problem is: kubectl does not say.
_POSITION = re.compile(r"^set(?::(?P<line>[0-9]+))?(?::[0-9]+)?: ")
_NO_KIND = ": ensure CRDs are installed first"


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


def _answer_request(request: Request, cluster: Mapping[str, JSONObject]) -> Answer:
    """Return the answer of the cluster to one request."""
    if request.method == "POST":
        return Answer(201, request.body)
    if request.purpose == "list":
        selector = parse_selector(request.query.get("labelSelector", ""))
        below = (obj for path, obj in cluster.items() if path.rpartition("/")[0] == request.path)
        return Answer(200, {"items": [obj for obj in below if selector.matches(read_labels(obj))]})
    found = cluster.get(request.path)
    return Answer(200, found) if found is not None else _ABSENT


def _print_change(change: PlannedObject) -> Iterator[str]:
    name = f"{change.ref.gvk.kind}/{change.ref.name}"
    deletions = [request for request in change.requests if request.method == "DELETE"]
    for request in deletions:
        yield f"{name}: DELETE {request.path} with propagationPolicy {request.body['propagationPolicy']}"
    if not deletions:
        yield f"{name}: {change.certainty_reason}"
    yield from (f"{name}: {render_risk(risk)}" for risk in change.risks)


def _run_deletion(words: Sequence[str], manifests: str, cluster: Mapping[str, JSONObject]) -> Sequence[str]:
    options = ApplyOptions(action=SetAction.DELETE, namespace="shop", propagation=read_cascade(words))
    documents = parse_manifests(manifests.encode(), "set").documents
    planner = SetPlanner(documents, options=options, context=with_estimates(PlanningContext(bundled(), _NOW)))
    for _change in drive(planner, lambda requests: [_answer_request(request, cluster) for request in requests]):
        pass
    return [line for change in planner.plan().changes for line in _print_change(change)]


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
    live = _read_cluster(cluster)
    if words[start + 1] == "delete":
        return _run_deletion(words[start + 2 :], manifests, live)
    environment = dict(word.partition("=")[::2] for word in words[:start])
    parsed = parse_apply(words[start + 1 :], environment, namespace="shop")
    given = parse_manifests(manifests.encode(), "set")
    flow = run_apply([given], command=parsed, catalog=bundled())
    try:
        request = next(flow)
        while True:
            request = flow.send(_answer_request(request, live))
    except StopIteration as stop:
        result: CommandResult = stop.value
        return (*result.lines, *(line for error in result.errors for line in _print_error(error, given)))
