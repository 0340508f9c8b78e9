"""Reports about the pods of a workload that does not roll out: their states, and warning events.

Rule: pods are found by the selector of the workload, events by the pod that they are about. What others wrote about a
pod is kept only where neither the object holds masked values nor the pod reads a Secret: it may repeat one.
Reading needs `list` on pods and events; without it the report says so, and the rollout goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.readiness.conditions import is_condition
from applyviz.engine.readiness.pods import PodProblem, find_pod_problems, write_selector

_MOST_PODS = 100
_MOST_EVENTS = 200
_KEPT = 5


class PodReport(Struct, frozen=True):
    """Why pods do not start; `unread` names what could not be listed, with the status of the answer."""

    problems: tuple[PodProblem, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)


def _list(reader: ClusterReader, namespace: str, plural: str, query: Mapping[str, str]) -> Answer:
    return reader.try_send(Request("GET", make_path("", "v1", plural, namespace=namespace), query, purpose="list"))


def read_items(answer: Answer) -> list[JSONObject]:
    """Return the objects of a list, none where the answer is no list."""
    items = get_at(answer.body, ("items",)) if answer.is_ok else None
    return [item for item in items or () if isinstance(item, Mapping)]


def _without_words(problem: PodProblem) -> PodProblem:
    return replace(problem, image="", message="")


def read_pod_report(reader: ClusterReader, workload: JSONObject, *, is_withholding: bool) -> PodReport:
    """Return why pods of a workload do not start; touches no database.

    - `is_withholding`: the workload holds masked values, so no words and no image of its pods are kept.
    """
    namespace, selector = str(get_at(workload, ("metadata", "namespace"), "")), write_selector(workload)
    if not namespace or not selector:
        return PodReport()
    answer = _list(reader, namespace, "pods", {"labelSelector": selector, "limit": str(_MOST_PODS)})
    if not answer.is_ok:
        return PodReport(unread={"pods": answer.status})
    pods = read_items(answer)
    if all(is_condition(pod, "Ready") for pod in pods):
        return PodReport()
    about = {"fieldSelector": "involvedObject.kind=Pod,type=Warning", "limit": str(_MOST_EVENTS)}
    events = _list(reader, namespace, "events", about)
    problems = find_pod_problems(pods, read_items(events))
    kept = tuple(map(_without_words, problems)) if is_withholding else problems
    return PodReport(kept[:_KEPT], {} if events.is_ok else {"events": events.status})
