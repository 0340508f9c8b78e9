"""Plan a set: every document separately, in parallel, with knowledge of the rest of the set.

Rule: one bad object does not stop the others; a duplicated object is a problem, because only one version can be meant.
Kinds and namespaces of the set count as available soon. The planner hands out requests and takes answers, so its caller
can answer for many objects at once and show each change when it is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.graph.graph import relate
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet, PlanProblem, Staying
from applyviz.engine.planning.model.quotas import check_quotas
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.addon_order import order_addons
from applyviz.engine.planning.sets.channels import plan_channel
from applyviz.engine.planning.sets.critical import add_critical
from applyviz.engine.planning.sets.dependents import add_dependents, add_referring
from applyviz.engine.planning.sets.left_out import add_left_out
from applyviz.engine.planning.sets.order import order_steps
from applyviz.engine.planning.sets.stages import Result, SetContext, Stages, plan_all, plan_stages
from applyviz.engine.requests.applyset import ApplySetError, Parent, find_parent
from applyviz.engine.requests.dependents import DependentList
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.leaving_out import list_kept
from applyviz.engine.requests.members import read_labels
from applyviz.engine.requests.options import ApplyOptions, PruneMode
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.schema.crds import CRDSource, defines_kind
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain

_BATCH = 16


class PendingRequest(Struct, frozen=True):
    """One request that a change waits for; `key` identifies the waiting change for `answer`."""

    key: int
    request: Request


def _find_definitions(objects: Iterable[JSONObject]) -> list[JSONObject]:
    """Return the definitions that define a kind: one that only has a name is an object like any other."""
    return [o for o in objects if GroupVersionKind.from_object(o)[::2] == CRD and defines_kind(o)]


def _know_definitions(context: PlanningContext, documents: Sequence[ManifestDocument]) -> PlanningContext:
    """Return the context of deletions: the kinds that the set itself defines are known, also when they are gone."""
    definitions = _find_definitions(document.obj for document in documents)
    if not definitions:
        return context
    source = CRDSource(definitions, origin=SchemaOrigin.SOURCE_CRD)
    return replace(context, catalog=SourceChain(source, context.catalog))


def _extend_context(context: PlanningContext, documents: Sequence[ManifestDocument]) -> PlanningContext:
    """Return the context with everything that the set itself creates: definitions, kinds and namespaces."""
    objects = tuple(d.obj for d in documents)
    definitions = _find_definitions(objects)
    namespaces = {get_at(o, ("metadata", "name")) for o in objects if GroupVersionKind.from_object(o)[::2] == NAMESPACE}
    extended = replace(
        context,
        namespaces_created=context.namespaces_created | namespaces,
        related=replace(context.related, manifests=(*context.related.manifests, *objects)),
    )
    if not definitions:
        return extended
    source = CRDSource(definitions, origin=SchemaOrigin.SOURCE_CRD)
    defined = source.list_resources()
    unserved = {(r.gvk.group, r.gvk.kind) for r in defined if context.catalog.find_resource(r.gvk) is None}
    return replace(
        extended,
        catalog=SourceChain(source, context.catalog),
        kinds_created=context.kinds_created | unserved,
        kinds_changed=context.kinds_changed | ({(r.gvk.group, r.gvk.kind) for r in defined} - unserved),
    )


def _know_set(
    context: PlanningContext, documents: Sequence[ManifestDocument], options: ApplyOptions
) -> PlanningContext:
    """Return the context with what the documents create; patches create nothing."""
    if options.is_patching:
        return context
    extend = _know_definitions if options.is_deleting else _extend_context
    return extend(context, [document for document in documents if document.patch is None])


class SetPlanner:
    """Plans all documents of a set: hands out requests, and each change when it is ready.

    - Documents come first, in parallel; prune starts when all of them are ready.
    """

    def __init__(
        self,
        documents: Sequence[ManifestDocument],
        *,
        options: ApplyOptions,
        context: PlanningContext,
        problems: Iterable[PlanProblem] = (),
    ) -> None:
        self.options = options
        self.problems = list(problems)
        self._flows: dict[int, Flow[Result]] = {}
        self._asks: dict[int, PendingRequest] = {}
        self._results: dict[int, Result] = {}
        self._ready: list[PlannedObject] = []
        self._staying: list[Staying] = []
        selector = parse_selector(options.selector)
        chosen = [d for d in documents if selector.matches(read_labels(d.obj))]
        known = _know_set(context, list_kept(chosen, options), options)
        around = SetContext(options, known, self.problems, documents, self._staying)
        self._related = around.context.related if context.has_notes else None
        self._find_critical = context.find_critical
        self._parent = self._find_parent(around)
        has_parent = self._parent is not None or options.prune.mode is not PruneMode.APPLYSET
        self._stages = plan_all(self._list_stages(self._deduplicate(chosen) if has_parent else [], around), around)
        self._is_started = False
        self._go_on()

    def _find_parent(self, around: SetContext) -> Parent | None:
        """Return the parent of the ApplySet; without it nothing of the set is planned."""
        options = self.options
        if options.prune.mode is not PruneMode.APPLYSET:
            return None
        try:
            return find_parent(options.prune.applyset, namespace=options.namespace, catalog=around.context.catalog)
        except ApplySetError as error:
            self.problems.append(PlanProblem(str(error)))
            return None

    def _list_stages(self, documents: Sequence[ManifestDocument], around: SetContext) -> Stages:
        if self.options.channel is not None:
            return plan_channel(documents, around, self.options.channel)
        return plan_stages(documents, around, self._parent)

    def _deduplicate(self, documents: Iterable[ManifestDocument]) -> list[ManifestDocument]:
        first: dict[tuple[str, str, str, str], ManifestDocument] = {}
        for document in documents:
            ref = document.ref
            key = (ref.gvk.group, ref.gvk.kind, ref.namespace or self.options.namespace, ref.name)
            if key in first:
                reason = f"{ref} is named twice in this set, first at {first[key].position}: this one is left out"
                self.problems.append(PlanProblem(reason, document.position))
            else:
                first[key] = document
        return list(first.values())

    def _go_on(self) -> None:
        """Start stage after stage until one has an unanswered request."""
        while not self._asks:
            try:
                flows = self._stages.send(self._list_results()) if self._is_started else next(self._stages)
            except StopIteration:
                return
            self._is_started = True
            for flow in flows:
                key = len(self._flows)
                self._flows[key] = flow
                self._advance(key, None)

    def _advance(self, key: int, answer: Answer | None) -> None:
        flow = self._flows[key]
        try:
            request = next(flow) if answer is None else flow.send(answer)
        except StopIteration as stop:
            self._asks.pop(key, None)
            self._results[key] = stop.value
            if isinstance(stop.value, PlannedObject):
                self._ready.append(stop.value)
        else:
            self._asks[key] = PendingRequest(key, request)

    def _list_results(self) -> list[Result]:
        return [self._results[key] for key in sorted(self._results)]

    @property
    def is_done(self) -> bool:
        """Whether every change is ready."""
        return not self._asks

    def asks(self) -> Iterator[PendingRequest]:
        """Yield the requests that wait for an answer, in the order of their documents, until one is answered.

        - A caller takes as many as it can send: listing all of them for each answer would be quadratic.
        """
        return iter(self._asks.values())  # a change keeps its place when it asks again

    def answer(self, key: int, answer: Answer) -> None:
        """Pass on the answer to the request of `key`."""
        if key not in self._asks:
            raise PlanError(f"nothing was asked under {key}")
        self._advance(key, answer)
        self._go_on()

    def take_ready(self) -> list[PlannedObject]:
        """Return the changes that became ready since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def forget(self) -> None:
        """Drop every result, when nobody asks for the whole plan any more."""
        self._stages.close()
        self._flows.clear()
        self._results.clear()
        self._ready = []

    def plan(self) -> PlannedSet:
        """Return the whole plan, in steps, with what its objects say of each other where notes are wanted.

        - Raises `PlanError` while a request is unanswered.
        """
        if not self.is_done:
            raise PlanError(f"{len(self._asks)} objects are not planned yet")
        changes = [r for r in self._list_results() if isinstance(r, PlannedObject)]
        if self.options.channel is not None:
            addons = tuple(addon.name for addon in self.options.channel.applied)
            ordered = order_addons(changes, self.options.order, addons)
        else:
            ordered = order_steps(changes, self.options.order, parent=self._parent.ref if self._parent else None)
        if self._related is None:
            return PlannedSet(self.options, ordered, tuple(self.problems))
        lists = [r for r in self._list_results() if isinstance(r, DependentList)]
        around = add_referring(ordered, lists, self._related)
        noted = add_critical(add_left_out(add_dependents(ordered, lists)), self._find_critical)
        related, graph = relate(noted, around)
        quotas = check_quotas(related, around.quotas)
        return PlannedSet(self.options, related, tuple(self.problems), graph, quotas, tuple(self._staying))


def drive(
    planner: SetPlanner, send_all: Callable[[Sequence[Request]], Iterable[Answer]], *, batch: int = _BATCH
) -> Iterator[PlannedObject]:
    """Answer a planner until it is done, and yield each change when it is ready.

    - `send_all` returns the answers in the order of the requests, at most `batch` at once; a thread pool's `map` will
      do.
    """
    yield from planner.take_ready()
    while not planner.is_done:
        asks = list(islice(planner.asks(), batch))
        for ask, answer in zip(asks, send_all([a.request for a in asks]), strict=True):
            planner.answer(ask.key, answer)
            yield from planner.take_ready()
