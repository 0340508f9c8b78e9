"""The live objects of a run, read while a person looks: how far each is, its pods that are not ready, its last events.

Rule: the identity of the reader asks the cluster, and nothing is stored. Secrets are never read. Words about an object
are left out where its change holds masked values, and words about a pod where it reads a Secret: they may repeat one.
Cost: one read for each object and one list of pods for each workload, both limited, and one list of events for each
namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct, field

from applyviz import clock
from applyviz.clusters import connect, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.server_clock import convert_text
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.objects.withheld_messages import holds_masked
from applyviz.engine.readiness.conditions import is_condition
from applyviz.engine.readiness.pods import (
    PodCounts,
    count_pods,
    find_pod_problems,
    name_reason,
    reads_secrets,
    write_selector,
)
from applyviz.engine.readiness.status import State, read_status
from applyviz.engine.readiness.workloads import ROLLED_OUT
from applyviz.records.models import ApplyRun, JournalEntry, ObjectChange, ObjectResult
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import changes
from applyviz.workflow.runs.live_objects import find_object_path, withhold_texts
from applyviz.workflow.runs.pod_reports import read_items

MOST_OBJECTS = 60
_MOST_PODS, _PODS_KEPT = 100, 20
_MOST_EVENTS, _PAGES, _EVENTS_KEPT = 500, 4, 8
_LONGEST = 300
_OF_REPLICA_SET = re.compile(r"-[a-z0-9]{5,10}")


class LiveEvent(Struct, frozen=True):
    """One event about an object or one of its pods, dated by our clock; its message is "" if it may repeat a Secret."""

    at: str
    is_warning: bool
    reason: str
    about: str
    message: str
    count: int


class LivePod(Struct, frozen=True):
    """A pod that is not ready; `reason` is "" while nothing says why, `ended` why its last container ended."""

    name: str
    phase: str
    restarts: int
    reason: str = ""
    container: str = ""
    message: str = ""
    ended: str = ""


class ObjectHealth(Struct, frozen=True):
    """One live object of a run.

    - `pods` are the first pods that are not ready, of `not_ready` in all; `ready` counts the others.
    - `unread` names what could not be read, with the status of the answer: `object`, `pods`, `events`.
    """

    position: int
    state: State
    message: str = ""
    counts: PodCounts | None = None
    pods: tuple[LivePod, ...] = ()
    ready: int = 0
    not_ready: int = 0
    events: tuple[LiveEvent, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)


class RunHealth(Struct, frozen=True):
    """The live objects of a run; `problem` says why nothing was read, `left` counts the objects that were not read."""

    objects: tuple[ObjectHealth, ...] = ()
    left: int = 0
    problem: str = ""


class _Touched(Struct, frozen=True):
    """An object that the run wrote: where it is read, and whether words about it may repeat a masked value."""

    result: ObjectResult
    path: str
    is_withholding: bool


def _list_touched(run: ApplyRun) -> tuple[list[_Touched], int]:
    """Return the objects that the run wrote and did not delete, workloads first, and how many more there are."""
    written = JournalEntry.objects.filter(result__run=run).exclude(method="DELETE").order_by("result_id", "id")
    paths = {pk: (method, path) for pk, method, path in written.values_list("result_id", "method", "path")}
    rows = run.results.filter(pk__in=paths).exclude(change__group="", change__kind="Secret")
    found = list(rows.select_related("change").defer("change__document", "change__found_risks", "change__sealed"))
    found = [one for one in found if one.change.operation not in ("prune", "delete")]
    found.sort(key=lambda one: (not _is_workload(one.change), one.position))
    chosen = found[:MOST_OBJECTS]
    whole = {row.pk: row for row in run.plan.changes.filter(pk__in=[one.change_id for one in chosen]).defer("sealed")}
    touched = [
        _Touched(
            result,
            find_object_path(changes.ref_of(result.change), *paths[result.pk]),
            holds_masked(changes.read_masked_core(whole[result.change_id])),
        )
        for result in chosen
    ]
    return touched, len(found) - len(chosen)


def _is_workload(change: ObjectChange) -> bool:
    return change.kind in ROLLED_OUT and change.group in ("", "apps", "batch")


def _cut(text: object) -> str:
    return str(text or "")[:_LONGEST]


def _find_end(status: JSONObject) -> str:
    ended = get_at(status, ("lastState", "terminated")) or {}
    return name_reason(ended.get("reason"))


def _read_pod(pod: JSONObject, warnings: Sequence[JSONObject], *, is_withholding: bool) -> LivePod:
    statuses = [
        status
        for name in ("initContainerStatuses", "containerStatuses")
        for status in get_at(pod, ("status", name)) or ()
        if isinstance(status, Mapping)
    ]
    counts = (status.get("restartCount") for status in statuses)
    shown = LivePod(
        name=_cut(get_at(pod, ("metadata", "name"))),
        phase=name_reason(get_at(pod, ("status", "phase"))),
        restarts=sum(count for count in counts if isinstance(count, int)),
        ended=next(filter(None, map(_find_end, statuses)), ""),
    )
    found = find_pod_problems([pod], warnings)
    if not found:
        return shown
    (problem,) = found
    message = "" if is_withholding else problem.message
    return replace(shown, reason=problem.reason, container=_cut(problem.container), message=message)


def _is_settled(pod: JSONObject) -> bool:
    """Return whether a pod is ready, succeeded, or is being deleted."""
    is_leaving = bool(get_at(pod, ("metadata", "deletionTimestamp")))
    return is_condition(pod, "Ready") or is_leaving or get_at(pod, ("status", "phase")) == "Succeeded"


def _names_object(event: JSONObject, kind: str, name: str, pods: Mapping[str, JSONObject]) -> bool:
    about = str(get_at(event, ("involvedObject", "kind"), "")), str(get_at(event, ("involvedObject", "name"), ""))
    if about == (kind, name) or (about[0] == "Pod" and about[1] in pods):
        return True
    is_of_set = about[0] == "ReplicaSet" and kind == "Deployment" and about[1].startswith(name)
    return is_of_set and _OF_REPLICA_SET.fullmatch(about[1][len(name) :]) is not None


def _find_moment(event: JSONObject) -> str:
    names = (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    return next((_cut(found) for name in names if (found := get_at(event, name))), "")


def _read_event(event: JSONObject, ahead: timedelta | None, *, is_withholding: bool) -> LiveEvent:
    count = get_at(event, ("series", "count")) or event.get("count")
    kind, name = (_cut(get_at(event, ("involvedObject", part))) for part in ("kind", "name"))
    return LiveEvent(
        at=convert_text(_find_moment(event), ahead),
        is_warning=event.get("type") == "Warning",
        reason=name_reason(event.get("reason")),
        about=f"{kind}/{name}",
        message="" if is_withholding else _cut(event.get("message")),
        count=count if isinstance(count, int) else 1,
    )


def _list_events(reader: ClusterReader, namespace: str) -> tuple[list[JSONObject], int]:
    """Return the events of a namespace and the status of a failed list (0 for none); at most some pages."""
    query, found = {"limit": str(_MOST_EVENTS)}, list[JSONObject]()
    for _page in range(_PAGES):
        path = make_path("", "v1", "events", namespace=namespace)
        answer = reader.try_send(Request("GET", path, query, purpose="list"))
        if not answer.is_ok:
            return found, answer.status or -1
        found += read_items(answer)
        rest = get_at(answer.body, ("metadata", "continue"), "")
        if not rest:
            break
        query = {"limit": str(_MOST_EVENTS), "continue": str(rest)}
    return found, 0


class _Look:
    """One look at the objects of a run; touches no database."""

    def __init__(self, reader: ClusterReader, touched: Sequence[_Touched]) -> None:
        self._reader, self._touched = reader, touched
        answers = reader.try_send_all([Request("GET", one.path, purpose="read") for one in touched])
        self._answers = dict(zip((one.result.pk for one in touched), answers, strict=True))
        self._pods = self._list_pods()
        spaces = {one.result.change.namespace for one in touched if one.result.change.namespace}
        self._events = {space: _list_events(reader, space) for space in sorted(spaces)}
        self._ahead = reader.measure_ahead(clock.now())

    def _list_pods(self) -> dict[int, Answer]:
        asked: dict[int, Request] = {}
        for one in self._touched:
            live = self._answers[one.result.pk].body
            selector = (
                write_selector(live) if _is_workload(one.result.change) and self._answers[one.result.pk].is_ok else ""
            )
            if selector:
                path = make_path("", "v1", "pods", namespace=one.result.change.namespace)
                query = {"labelSelector": selector, "limit": str(_MOST_PODS)}
                asked[one.result.pk] = Request("GET", path, query, purpose="list")
        return dict(zip(asked, self._reader.try_send_all(list(asked.values())), strict=True))

    def read_objects(self) -> Iterator[ObjectHealth]:
        """Yield each object; its state is unknown if its status does not have the form of its kind."""
        for one in self._touched:
            try:
                yield self._read_object(one)
            except (TypeError, AttributeError, KeyError, ValueError):  # a custom resource may hold anything there
                yield ObjectHealth(one.result.position, State.UNKNOWN, "its status has an unexpected form")

    def _read_object(self, one: _Touched) -> ObjectHealth:
        answer, position = self._answers[one.result.pk], one.result.position
        if not answer.is_ok and not (answer.status == 404 and answer.reason == "NotFound"):
            return ObjectHealth(position, State.UNKNOWN, unread={"object": answer.status or -1})
        live: JSONObject | None = answer.body if answer.is_ok else None
        status = read_status(withhold_texts(live) if one.is_withholding else live)
        found = ObjectHealth(position, status.state, _cut(status.message))
        return found if live is None else self._add_pods(found, one, live)

    def _add_pods(self, found: ObjectHealth, one: _Touched, live: JSONObject) -> ObjectHealth:
        listed = self._pods.get(one.result.pk)
        pods = read_items(listed) if listed is not None else []
        if _is_workload(one.result.change) and one.result.change.kind == "Pod":
            pods = [live]
        by_name = {str(get_at(pod, ("metadata", "name"), "")): pod for pod in pods}
        events, status = self._events.get(one.result.change.namespace, ([], 0))
        change = one.result.change
        about = [event for event in events if _names_object(event, change.kind, change.name, by_name)]
        waiting = [pod for pod in pods if not _is_settled(pod)]
        unread = {"pods": listed.status or -1} if listed is not None and not listed.is_ok else {}
        return replace(
            found,
            counts=count_pods(live),
            pods=tuple(_read_pod(pod, about, is_withholding=one.is_withholding) for pod in waiting[:_PODS_KEPT]),
            ready=sum(is_condition(pod, "Ready") for pod in pods),
            not_ready=len(waiting),
            events=tuple(self._choose_events(about, by_name, is_withholding=one.is_withholding or reads_secrets(live))),
            unread={**unread, **({"events": status} if status else {})},
        )

    def _choose_events(
        self, events: Iterable[JSONObject], pods: Mapping[str, JSONObject], *, is_withholding: bool
    ) -> Iterator[LiveEvent]:
        """Yield the last events, the newest first."""
        newest = sorted(events, key=_find_moment, reverse=True)[:_EVENTS_KEPT]
        for event in newest:
            pod = pods.get(str(get_at(event, ("involvedObject", "name"), "")))
            is_secret = is_withholding or (pod is not None and reads_secrets(pod))
            yield _read_event(event, self._ahead, is_withholding=is_secret)


def read_health(run: ApplyRun, *, for_user: Person) -> RunHealth:
    """Read the live objects that a run wrote; without an answer, return the problem.

    - The caller has authorized the person for the run, thus for every namespace of it.
    """
    cluster = run.plan.target.cluster
    touched, left = _list_touched(run)
    if not touched:
        return RunHealth()
    try:
        with connect.open_reader(cluster) as own:
            facts.require_same(own, uid=run.plan.cluster_uid, server=cluster.server, name=cluster.name)
        with impersonation.open_reader(cluster, for_user=for_user) as reader:
            return RunHealth(tuple(_Look(reader, touched).read_objects()), left)
    except (ClusterError, NotPossibleError) as error:
        return RunHealth(problem=str(error))
