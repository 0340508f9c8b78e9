"""The calculation that planning and running share: the same frozen bytes, options and rules, with live read again.

A run recomputes with the code that created the plan, so that equal effects mean equal calculations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from applyviz import clock
from applyviz.clusters import discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.channels.model import ChannelPlan
from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject, PlanProblem
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets import planner as sets
from applyviz.engine.planning.sets.channels import name_node, plan_mark, plan_record
from applyviz.engine.planning.sets.stages import label_member
from applyviz.engine.requests.applyset import find_parent
from applyviz.engine.requests.flow import Catalog, run_flow
from applyviz.engine.requests.leaving_out import find_unknown, list_kept
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.model import RelatedObjects
from applyviz.engine.risks.quota_reads import list_quota_reads, read_quotas
from applyviz.engine.risks.reference_reads import list_reference_reads, read_references
from applyviz.engine.risks.related_objects import find_related_requests, read_related
from applyviz.engine.schema.crds import CRDSource, defines_kind
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from applyviz.records.models import Plan, SourceRevision
from applyviz.sandbox.api.estimates import with_estimates
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.collector import defer_full_gc
from applyviz.workflow import policies
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.plans import channels
from applyviz.workflow.plans.conflict_rules import rules_of
from applyviz.workflow.plans.prune_history import find_earlier_run
from applyviz.workflow.plans.resolutions import read_decisions
from applyviz.workflow.plans.source_runs import parsed_sources

_RENDERED = {"kustomize": "kustomize", "helm": "Helm"}
_Name: TypeAlias = tuple[GroupVersionKind, str]
# While a cluster is slow to answer, we look whether the calculation must end.
_BEAT = 0.5


def _drive(planner: sets.SetPlanner, reader: ClusterReader, beat: Callable[[], object]) -> Iterator[PlannedObject]:
    """Answer a planner, each request as soon as its answer arrives: the cluster works while we calculate."""
    if reader.parallel < 2:

        def send_all(requests: Sequence[Request]) -> list[Answer]:
            beat()
            return reader.try_send_all(requests)

        yield from sets.drive(planner, send_all)
        return
    yield from planner.take_ready()
    pool = ThreadPoolExecutor(reader.parallel, thread_name_prefix="read")
    try:
        asked: dict[Future[Answer], int] = {}
        while not planner.is_done:
            if len(asked) <= reader.parallel:
                keys = set(asked.values())
                new = islice((ask for ask in planner.asks() if ask.key not in keys), 2 * reader.parallel - len(asked))
                asked.update({pool.submit(reader.try_send, ask.request): ask.key for ask in new})
            done, _ = wait(asked, timeout=_BEAT, return_when=FIRST_COMPLETED)
            beat()
            for future in done:
                planner.answer(asked.pop(future), future.result())
            yield from planner.take_ready()
    finally:  # a calculation that ends early waits for no answer
        pool.shutdown(wait=False, cancel_futures=True)


class Calculation(Struct, frozen=True):
    """A prepared calculation: the reader, the known kinds, and the planner.

    - `catalog` includes the kinds that the source itself defines.
    - `named`: the documents by kind and name, so that no recalculation of an object searches all of them.
    """

    reader: ClusterReader
    catalog: Catalog
    documents: tuple[ManifestDocument, ...]
    named: Mapping[_Name, Sequence[ManifestDocument]]
    context: PlanningContext
    planner: sets.SetPlanner

    def run(self, beat: Callable[[], object] = lambda: None) -> Iterator[PlannedObject]:
        """Read the cluster and calculate; yield each finished change at once.

        - `beat()` is called repeatedly while the cluster has not answered; an exception from it ends the calculation.
        """
        with defer_full_gc():
            yield from _drive(self.planner, self.reader, beat)

    def forget(self) -> None:
        """Drop the changes that were calculated; single objects can still be recomputed."""
        self.planner.forget()

    def recompute(self, ref: ObjectRef, *, is_last: bool = False, record: str = "") -> PlannedObject | None:
        """Return one object as it would be planned now; None when the source does not name it.

        - `is_last`: the last of several writes of the object, as the parent of an ApplySet has them.
        - `record`: the addon whose record this write is.
        """
        if record:
            return self._recompute_record(record, ref)
        chosen = [d for d in self.named.get((ref.gvk, ref.name), ()) if d.ref.namespace in ("", ref.namespace)]
        context = replace(self.context, catalog=self.catalog, now=_now())
        options = self.planner.options
        if chosen:
            chosen, context = self._as_members(chosen[:1], context)
            options = replace(options, prune=Prune(), channel=None)
        else:  # an object that the set prunes: only the whole set knows it
            chosen = list(self.documents)
        planner = sets.SetPlanner(chosen, options=options, context=context)
        found = sets.drive(planner, self.reader.try_send_all)
        same_object = [change for change in found if change.ref.key == ref.key]
        return next(iter(same_object[-1:] if is_last else same_object), None)

    def _recompute_record(self, name: str, ref: ObjectRef) -> PlannedObject | None:
        """Return the record of one addon, planned on the current namespace, or the mark of a node for it."""
        channel = self.planner.options.channel
        addon = channel.find(name) if channel is not None else None
        if channel is None or addon is None:
            return None
        context = replace(self.context, catalog=self.catalog, now=_now())
        options = self.planner.options
        if ref.key == name_node(ref.name):
            return run_flow(plan_mark(addon, ref.name, options=options, context=context), self.reader.try_send)
        return run_flow(plan_record(addon, channel, options=options, context=context), self.reader.try_send)

    def _as_members(
        self, chosen: list[ManifestDocument], context: PlanningContext
    ) -> tuple[list[ManifestDocument], PlanningContext]:
        """Return documents as the set applies them: those of an ApplySet carry its label."""
        options = self.planner.options
        if options.prune.mode is not PruneMode.APPLYSET:
            return chosen, context
        parent = find_parent(options.prune.applyset, namespace=options.namespace, catalog=self.catalog)
        return [label_member(document, parent) for document in chosen], replace(context, applyset=parent.id)


def load_bundle(revision: SourceRevision) -> SourceBundle:
    """Return the frozen files of a source revision."""
    return SourceBundle(
        tuple(BundledFile(row.name, row.content.open_bytes(), row.provenance) for row in revision.files.all())
    )


def read_sources(bundle: SourceBundle) -> dict[str, EditedText]:
    """Return the text of each file, with the tool that rendered it; skip files that are not UTF-8."""
    found = {}
    for file in bundle.files:
        with suppress(UnicodeDecodeError):
            found[file.name] = EditedText(file.data.decode(), _RENDERED.get(file.provenance.get("from", ""), ""))
    return found


def _is_crd(document: ManifestDocument) -> bool:
    obj = document.obj
    return (
        document.patch is None
        and obj.get("kind") == "CustomResourceDefinition"
        and str(obj.get("apiVersion")).startswith("apiextensions.k8s.io/")
    )


class FrozenSource(Struct, frozen=True):
    """The frozen files of a plan, parsed; `channel` is set for a kOps channel."""

    bundle: SourceBundle
    files: tuple[ParsedFile, ...]
    channel: channels.ReadChannel | None

    @property
    def problems(self) -> tuple[PlanProblem, ...]:
        """The problems of reading; a channel has none here, because they depend on the chosen addons."""
        files = self.files if self.channel is None else ()
        return tuple(PlanProblem(one.explanation, one.position) for file in files for one in file.problems)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in the files: no object, no channel, and nothing that could not be read."""
        return self.channel is None and not any(file.documents or file.problems for file in self.files)

    def list_content(self, chosen: ChannelPlan | None) -> tuple[tuple[ManifestDocument, ...], tuple[PlanProblem, ...]]:
        """Return the documents to apply and every problem; of a channel, without those of skipped addons."""
        if self.channel is not None and chosen is not None:
            found = channels.list_problems(self.channel, chosen, self.files)
            return channels.list_documents(self.channel, chosen, self.files), tuple(found)
        return tuple(document for file in self.files for document in file.documents), self.problems


def read_source(revision: SourceRevision) -> FrozenSource:
    """Parse the frozen files, or read how they were parsed before; keep every problem."""
    bundle = load_bundle(revision)
    files = parsed_sources.parse_source(revision, bundle)
    return FrozenSource(bundle, files, channels.read_channel(files, bundle))


def _choose_addons(plan: Plan, source: FrozenSource, reader: ClusterReader, served: Catalog) -> ChannelPlan | None:
    """Return what a plan does with each addon of its channel; None without a channel.

    - Raises `PlanError` if addons are chosen, and there is no channel.
    """
    options = options_from_json(plan.options)
    if source.channel is not None:
        return channels.choose_addons(source.channel, source.bundle, reader, options, served)
    if options.addons_anyway or options.marking_addons:
        raise PlanError("addons are chosen, but these manifests are no kOps channel")
    return None


def _now() -> str:
    return clock.host_now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_related_objects(
    documents: tuple[ManifestDocument, ...], catalog: Catalog, namespace: str, reader: ClusterReader
) -> RelatedObjects:
    """Read the live objects that risks and the graph refer to; skip unreadable ones, or mark them as unread."""
    asked = find_related_requests([document.ref for document in documents], catalog, namespace=namespace)
    reads = list_reference_reads([document.obj for document in documents], catalog, namespace=namespace)
    limits = list_quota_reads([document.ref for document in documents], catalog, namespace=namespace)
    answers = reader.try_send_all([*asked, *(read.request for read in reads), *(read.request for read in limits)])
    related, rest = read_related(answers[: len(asked)]), answers[len(asked) :]
    neighbors, knowledge = read_references(reads, rest[: len(reads)])
    quotas = read_quotas(limits, rest[len(reads) :])
    return replace(related, neighbors=neighbors, knowledge=knowledge, quotas=quotas)


def _list_scopes(
    plan: Plan, documents: tuple[ManifestDocument, ...], catalog: Catalog, namespace: str
) -> frozenset[ScopeEntry]:
    """Return the scopes of the objects of the source, using the cluster's information about their kinds."""
    slug = plan.target.cluster.slug
    found = set()
    for document in documents:
        resource = catalog.find_resource(document.ref.gvk)
        is_namespaced = resource is None or resource.is_namespaced
        found.add(ScopeEntry(slug, (document.ref.namespace or namespace) if is_namespaced else ""))
    return frozenset(found)


def _record_scopes(plan: Plan) -> frozenset[ScopeEntry]:
    """Return the scope of the namespaces whose annotations record installed addons."""
    return frozenset({ScopeEntry(plan.target.cluster.slug, "")})


def _name_documents(documents: Iterable[ManifestDocument]) -> dict[_Name, list[ManifestDocument]]:
    found: dict[_Name, list[ManifestDocument]] = {}
    for document in documents:
        ref = document.ref
        found.setdefault((ref.gvk, ref.name), []).append(document)
    return found


def _add_definitions(served: Catalog, documents: Sequence[ManifestDocument]) -> Catalog:
    """Return the catalog of a cluster with the kinds that the documents define; these come first."""
    crds: list[JSONObject] = [one.obj for one in documents if _is_crd(one) and defines_kind(one.obj)]
    return SourceChain(CRDSource(crds, origin=SchemaOrigin.SOURCE_CRD), served) if crds else served


def _name_unknown(documents: Sequence[ManifestDocument], options: ApplyOptions) -> tuple[PlanProblem, ...]:
    """Return a problem for each object that is to be left out and is not there."""
    return tuple(
        PlanProblem(f"{name} is to be left out, but is not in this set") for name in find_unknown(documents, options)
    )


def prepare(
    plan: Plan,
    reader: ClusterReader,
    *,
    source: FrozenSource | None = None,
    check: Callable[[frozenset[ScopeEntry]], None] = lambda _: None,
    choose: Callable[[ChannelPlan | None], None] | None = None,
    has_notes: bool = True,
) -> Calculation:
    """Prepare the calculation of a plan: documents, catalog, related objects, planner; read nothing more from it.

    - `source`: the manifests, if they were read before.
    - `has_notes`: include reasons and risks, and read the objects that they need; effects are the same without.
    - `check` receives the scopes of the source objects before any of them is read, and may raise.
    - `choose` stores the choice for the addons of a channel; without it, the stored one counts.
    """
    source = source or read_source(plan.revision)
    if source.channel is not None:
        check(_record_scopes(plan))
    served = discovery.load_catalog(reader)
    if choose is not None:
        choose(_choose_addons(plan, source, reader, served))
    options = options_from_json(plan.options)
    documents, problems = source.list_content(options.channel)
    kept = list_kept(documents, options)
    problems += _name_unknown(documents, options)
    catalog = _add_definitions(served, kept)
    check(
        _list_scopes(plan, documents, catalog, options.namespace) | (_record_scopes(plan) if options.channel else set())
    )
    options = options_from_json(plan.options)  # policies of these scopes may have chosen objects to replace
    related = _read_related_objects(kept, catalog, options.namespace, reader) if has_notes else RelatedObjects()
    given = PlanningContext(
        served,
        _now(),
        has_notes=has_notes,
        related=related,
        decisions=read_decisions(plan),
        rules=rules_of(plan),
        sources=read_sources(source.bundle),
        earlier=find_earlier_run(plan, documents) if has_notes else None,
        find_critical=policies.find_critical_kinds(plan) if has_notes else None,
    )
    context = with_estimates(given)
    planner = sets.SetPlanner(documents, options=options, context=context, problems=problems)
    return Calculation(reader, catalog, documents, _name_documents(documents), context, planner)
