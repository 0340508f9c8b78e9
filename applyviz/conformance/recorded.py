"""Reconstruct the objects of a recorded cluster at any point of its story, from the answers.

Only kubectl wrote to these clusters, so an object stays as in its last answer. A Scale does not show its object: the
count is the recorded one, its owner is calculated. Other objects that an answer does not show (protobuf) are taken from
the next answer that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from applyviz.conformance.invocations import SeenDefinitions
from applyviz.conformance.stories import NOW, Invocation, Story, StoryExchange, StoryStep
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers, status_answer
from applyviz.engine.requests.argv import is_apply
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema
from applyviz.sandbox.storage.routing import Route, parse_path

_NO_OBJECTS = frozenset({"Status", "Table", "Scale"})


class RecordedKey(NamedTuple):
    """One object, whatever the version of its path."""

    group: str
    plural: str
    namespace: str
    name: str


def key_of(route: Route, name: str = "") -> RecordedKey:
    """Return the key of the object that a path is about."""
    return RecordedKey(route.group, route.plural, route.namespace, name or route.name)


def _is_object(body: JSONValue) -> bool:
    return (
        isinstance(body, Mapping) and body.get("kind") not in _NO_OBJECTS and bool(get_at(body, ("metadata", "name")))
    )


def list_shown(exchange: StoryExchange) -> Iterator[tuple[RecordedKey, JSONObject]]:
    """Yield every object that an answer contains in full, with its key."""
    route, body = parse_path(exchange.path), exchange.answer.body
    if route is None or not exchange.answer.is_ok or not isinstance(body, Mapping) or route.subresource == "scale":
        return
    if _is_object(body):
        yield key_of(route, body["metadata"]["name"]), body
    of_list = {"apiVersion": body.get("apiVersion"), "kind": str(body.get("kind")).removesuffix("List")}
    for item in body.get("items") or () if body.get("kind") != "Table" else ():
        metadata = item["metadata"]
        namespace = route.namespace or metadata.get("namespace", "")
        yield RecordedKey(route.group, route.plural, namespace, metadata["name"]), {**of_list, **item}


def is_stored(exchange: StoryExchange) -> bool:
    """Return whether an exchange was a write that changed something."""
    is_dry = exchange.query.get("dryRun") or get_at(exchange.body, ("dryRun",))
    return exchange.is_write and exchange.answer.is_ok and not is_dry


@dataclass
class RecordedCluster:
    """The objects that a story has shown so far; `ahead` are later exchanges, for objects not shown yet."""

    ahead: Sequence[StoryExchange]
    at: int = 0
    objects: dict[RecordedKey, JSONObject] = field(default_factory=dict)
    hidden: set[RecordedKey] = field(default_factory=set)
    absent: set[RecordedKey] = field(default_factory=set)

    @classmethod
    def of(cls, story: Story) -> RecordedCluster:
        """Return the cluster before the first step."""
        return cls([e for step in story.steps for e in step.exchanges if not e.is_watch])

    def follow_until(self, moment: int) -> None:
        """Apply all answers before the exchange of this number."""
        for exchange in self.ahead[self.at : moment]:
            self._follow(exchange)
        self.at = max(self.at, moment)

    def _follow(self, exchange: StoryExchange) -> None:
        route = parse_path(exchange.path)
        if route is None or (exchange.is_write and not is_stored(exchange)):
            return
        if exchange.answer.status == 404 and route.name and not exchange.is_write:
            self._forget(key_of(route))
        elif exchange.method == "DELETE" and not _is_terminating(exchange.answer.body):
            self._delete(route)
        elif route.subresource == "scale" and self._follow_scale(exchange, route):
            return
        elif exchange.is_write and not any(list_shown(exchange)):
            self.objects.pop(key_of(route), None)
            self.hidden.add(key_of(route))
        for key, obj in list_shown(exchange) if exchange.method != "DELETE" or route.name else ():
            if exchange.method == "DELETE" and not _is_terminating(obj):
                continue
            if _is_gone(obj):
                self._forget(key)
                continue
            self.objects[key] = obj
            self.hidden.discard(key)
            self.absent.discard(key)

    def _follow_scale(self, exchange: StoryExchange, route: Route) -> bool:
        """Calculate what a write of a Scale makes of a known object, which no answer shows; return whether it could."""
        live, count = self.objects.get(key_of(route)), get_at(exchange.answer.body, ("spec", "replicas"), 0)
        kind = self._find_kind(GroupVersionKind.from_object(live)) if live is not None else None
        if live is None or kind is None or exchange.content_type == APPLY_PATCH:
            return False
        estimated = EstimatedAnswers(kind, NOW, dict(live), "scale")
        query = {"fieldManager": "kubectl", **exchange.query}
        body = {"spec": {"replicas": count}}
        if not estimated.answer(Request("PATCH", exchange.path, query, MERGE_PATCH, body)).is_ok:
            return False
        version = get_at(exchange.answer.body, ("metadata", "resourceVersion"))
        scaled = estimated.live or {}
        self.objects[key_of(route)] = {**scaled, "metadata": {**scaled["metadata"], "resourceVersion": version}}
        return True

    def _find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        definitions = [obj for key, obj in self.objects.items() if key.plural == "customresourcedefinitions"]
        return bundled().find_kind(gvk) or CRDSource(definitions).find_kind(gvk)

    def _forget(self, key: RecordedKey) -> None:
        self.objects.pop(key, None)
        self.hidden.discard(key)
        self.absent.add(key)

    def _delete(self, route: Route) -> None:
        for key in [k for k in self.objects if _is_below(k, route)]:
            self._forget(key)
        if route.name:
            self._forget(key_of(route))

    def find(self, route: Route) -> JSONObject | None:
        """Return the current object of a path, at the version of the path."""
        key = key_of(route)
        obj = self.objects.get(key)
        if obj is None and key not in self.absent:
            obj = self._look_ahead(key)
        return None if obj is None else _at_version(obj, route)

    def _look_ahead(self, key: RecordedKey) -> JSONObject | None:
        """Return the object in the next answer that contains it, if it is not written before that."""
        for exchange in self.ahead[self.at :]:
            for found, obj in list_shown(exchange) if not exchange.is_write else ():
                if found == key:
                    return obj
            route = parse_path(exchange.path)
            if route is None:
                continue
            is_it = key == key_of(route, get_at(exchange.body, ("metadata", "name"), ""))
            if is_it and (is_stored(exchange) or exchange.answer.status == 404):
                return None
        return None

    def has_namespace(self, name: str) -> bool:
        """Return whether a namespace exists; one that the story never mentions does."""
        key = RecordedKey("", "namespaces", "", name)
        if key in self.absent or key in self.objects:
            return key in self.objects
        mentions = (_shows_namespace(e, key) for e in self.ahead[self.at :])
        return next((found for found in mentions if found is not None), True)

    def answer(self, request: Request) -> Answer:
        """Answer a read."""
        route = parse_path(request.path)
        if route is None:
            return status_answer(404, "NotFound", "the server could not find the requested resource")
        if not route.name:
            return Answer(200, {"kind": "List", "items": list(self._list(route, request))})
        found = self.find(route)
        if found is None and (route.group, route.plural) == ("", "namespaces") and self.has_namespace(route.name):
            found = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": route.name}}
        if found is None:
            plural = ".".join(p for p in (route.plural, route.group) if p)
            return status_answer(404, "NotFound", f'{plural} "{route.name}" not found')
        return Answer(200, found)

    def _list(self, route: Route, request: Request) -> Iterator[JSONObject]:
        selector = parse_selector(request.query.get("labelSelector", ""))
        for key, obj in self.objects.items():
            if (key.group, key.plural) != (route.group, route.plural) or route.namespace not in ("", key.namespace):
                continue
            if selector.matches(get_at(obj, ("metadata", "labels")) or {}):
                yield _at_version(obj, route)


def _is_terminating(body: JSONValue) -> bool:
    return _is_object(body) and bool(get_at(body, ("metadata", "deletionTimestamp")))


def _is_gone(obj: JSONObject) -> bool:
    """Return whether a write took the last finalizer of an object that was being deleted: its answer is the last."""
    metadata = get_at(obj, ("metadata",)) or {}
    return bool(metadata.get("deletionTimestamp")) and not (
        metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or get_at(obj, ("spec", "finalizers"))
    )


def _is_below(key: RecordedKey, route: Route) -> bool:
    return (
        (key.group, key.plural) == (route.group, route.plural)
        and route.namespace in ("", key.namespace)
        and (route.name in ("", key.name))
    )


def _shows_namespace(exchange: StoryExchange, key: RecordedKey) -> bool | None:
    """Return whether an exchange shows that a namespace existed before it; None if it does not."""
    route, answer = parse_path(exchange.path), exchange.answer
    if answer.message == f'namespaces "{key.name}" not found':
        return False
    named = get_at(exchange.body, ("metadata", "name"), "")
    if route is None or key != key_of(route, named if isinstance(named, str) else ""):
        return None
    return not (answer.status == 201 or (answer.status == 404 and not exchange.is_write))


def _at_version(obj: JSONObject, route: Route) -> JSONObject:
    """Return the object at the version of a path; custom kinds are converted by strategy None."""
    version = str(obj.get("apiVersion")).rpartition("/")[2]
    if version == route.version:
        return obj
    if route.plural == "horizontalpodautoscalers":
        return convert_autoscaler(dict(obj), route.version)
    return {**obj, "apiVersion": "/".join(p for p in (route.group, route.version) if p)}


def _find_moment(exchanges: Sequence[StoryExchange], mine: Iterable[StoryExchange]) -> int | None:
    """Return the index of the first exchange of an invocation in the whole story, None if it has none."""
    first = next(iter(mine), None)
    return None if first is None else next(n for n, e in enumerate(exchanges) if e is first)


def follow_applies(story: Story) -> Iterator[tuple[StoryStep, Invocation, RecordedCluster, SeenDefinitions]]:
    """Yield each `kubectl apply` of a story with the objects and the custom kinds that the cluster had then.

    - The cluster and the kinds are the same two objects each time, and follow the story.
    """
    cluster, definitions = RecordedCluster.of(story), SeenDefinitions()
    for step in story.steps:
        for invocation in step.invocations:
            moment = _find_moment(cluster.ahead, invocation.exchanges)
            if moment is not None:
                cluster.follow_until(moment)
            definitions.forget_gone()
            if is_apply(invocation.argv):
                yield step, invocation, cluster, definitions
            definitions.follow(invocation.exchanges)
        definitions.follow([e for e in step.exchanges if e.invocation is None])
