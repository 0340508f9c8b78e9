"""The plan of a Delete review for an example, as lines of text: each request, and what else goes or stays.

The plan is the one of a Delete review, read from the small cluster of the example. kubectl sends the same deletions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyOptions, SetAction
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.given_sets import read_cascade
from applyviz.sandbox.api.estimates import with_estimates

_NOW = "2026-01-01T00:00:00Z"


def _read_options(words: Sequence[str]) -> ApplyOptions:
    return ApplyOptions(action=SetAction.DELETE, namespace="shop", propagation=read_cascade(words))


def _print_change(change: PlannedObject) -> Iterator[str]:
    name = f"{change.ref.gvk.kind}/{change.ref.name}"
    deletions = [request for request in change.requests if request.method == "DELETE"]
    for request in deletions:
        yield f"{name}: DELETE {request.path} with propagationPolicy {request.body['propagationPolicy']}"
    if not deletions:
        yield f"{name}: {change.certainty_reason}"
    yield from (f"{name}: {render_risk(risk)}" for risk in change.risks)


def run_deletion(words: Sequence[str], manifests: str, answer: Callable[[Request], Answer]) -> Sequence[str]:
    """Return the lines for `kubectl delete` with these words, on a cluster that answers."""
    documents = parse_manifests(manifests.encode(), "set").documents
    planner = SetPlanner(
        documents, options=_read_options(words), context=with_estimates(PlanningContext(bundled(), _NOW))
    )
    return [line for change in _plan(planner, answer) for line in _print_change(change)]


def _plan(planner: SetPlanner, answer: Callable[[Request], Answer]) -> tuple[PlannedObject, ...]:
    for _change in drive(planner, lambda requests: [answer(request) for request in requests]):
        pass
    return planner.plan().changes
