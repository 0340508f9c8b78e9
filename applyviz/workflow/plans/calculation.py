"""The calculation that planning and running share: the same frozen bytes, options and rules, with live read again.

A run recomputes with the code that created the plan, so that equal effects mean equal calculations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from applyviz.clusters import discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject, PlanProblem
from applyviz.engine.planning.objects.context import PlanContext
from applyviz.engine.planning.sets import planner as sets
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import Prune
from applyviz.engine.risks.model import RelatedObjects
from applyviz.engine.risks.reference_reads import list_reference_reads, read_references
from applyviz.engine.risks.related_objects import find_related_requests, read_related
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from applyviz.records.models import Plan, SourceRevision
from applyviz.sandbox.api.estimates import EstimatingServer
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.collector import defer_full_gc
from applyviz.sources.sandboxed import read_bundle
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.plans.conflict_rules import rules_from_json
from applyviz.workflow.plans.resolutions import read_decisions

_RENDERED = {"kustomize": "kustomize", "helm": "Helm"}
# While a cluster is slow to answer, the lease is renewed every second.
_BEAT = 1.0


def _drive(planner: sets.SetPlanner, reader: ClusterReader, beat: Callable[[], object]) -> Iterator[PlannedObject]:
    """Answer a planner, each request as soon as its answer arrives: the cluster works while we calculate."""
    if reader.parallel < 2:

        def send_all(requests: Sequence[Request]) -> list[Answer]:
            beat()
            return reader.try_send_all(requests)

        yield from sets.drive(planner, send_all)
        return
    yield from planner.take_ready()
    with ThreadPoolExecutor(reader.parallel, thread_name_prefix="read") as pool:
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


@dataclass(frozen=True, slots=True)
class Calculation:
    """A prepared calculation: the reader, the known kinds, and the planner.

    - `catalog` includes the kinds that the source itself defines.
    """

    reader: ClusterReader
    catalog: Catalog
    documents: tuple[ManifestDocument, ...]
    context: PlanContext
    planner: sets.SetPlanner

    def run(self, beat: Callable[[], object] = lambda: None) -> Iterator[PlannedObject]:
        """Read the cluster and calculate; yield each finished change at once.

        - `beat()` is called repeatedly while the cluster has not answered; an exception from it ends the calculation.
        """
        with defer_full_gc():
            yield from _drive(self.planner, self.reader, beat)

    def recompute(self, ref: ObjectRef) -> PlannedObject | None:
        """Return one object as it would be planned now; None when the source does not name it."""
        same = [d for d in self.documents if (d.ref.gvk, d.ref.name) == (ref.gvk, ref.name)]
        chosen = [d for d in same if d.ref.namespace in ("", ref.namespace)]
        context = replace(self.context, catalog=self.catalog, now=_now())
        options = self.planner.options
        if chosen:
            chosen, options = chosen[:1], replace(options, prune=Prune())
        else:  # an object that the set prunes: only the whole set knows it
            chosen = list(self.documents)
        planner = sets.SetPlanner(chosen, options=options, context=context)
        found = sets.drive(planner, self.reader.try_send_all)
        return next((change for change in found if change.ref.key == ref.key), None)


def load_bundle(revision: SourceRevision) -> SourceBundle:
    """Return the frozen files of a source revision."""
    return SourceBundle(
        tuple(BundledFile(row.name, row.content.open_bytes(), row.provenance) for row in revision.files.all())
    )


def read_sources(revision: SourceRevision) -> dict[str, EditedText]:
    """Return the text of each frozen file, with the tool that rendered it; skip files that are not UTF-8."""
    found = {}
    for file in load_bundle(revision).files:
        with suppress(UnicodeDecodeError):
            found[file.name] = EditedText(file.data.decode(), _RENDERED.get(file.provenance.get("from", ""), ""))
    return found


def _is_crd(document: ManifestDocument) -> bool:
    obj = document.obj
    return obj.get("kind") == "CustomResourceDefinition" and str(obj.get("apiVersion")).startswith(
        "apiextensions.k8s.io/"
    )


def read_documents(revision: SourceRevision) -> tuple[tuple[ManifestDocument, ...], tuple[PlanProblem, ...]]:
    """Parse the frozen files in a child process with limits; keep every problem."""
    files = read_bundle(load_bundle(revision))
    documents = tuple(document for file in files for document in file.documents)
    return documents, tuple(PlanProblem(found.reason, found.position) for file in files for found in file.problems)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_related_objects(
    documents: tuple[ManifestDocument, ...], catalog: Catalog, namespace: str, reader: ClusterReader
) -> RelatedObjects:
    """Read the live objects that risks and the graph refer to; skip unreadable ones, or mark them as unread."""
    asked = find_related_requests([document.ref for document in documents], catalog, namespace=namespace)
    reads = list_reference_reads([document.obj for document in documents], catalog, namespace=namespace)
    answers = reader.try_send_all([*asked, *(read.request for read in reads)])
    neighbors, knowledge = read_references(reads, answers[len(asked) :])
    return replace(read_related(answers[: len(asked)]), neighbors=neighbors, knowledge=knowledge)


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


def prepare(
    plan: Plan,
    reader: ClusterReader,
    *,
    check: Callable[[frozenset[ScopeEntry]], None] = lambda _: None,
    has_notes: bool = True,
) -> Calculation:
    """Prepare the calculation of a plan: documents, catalog, related objects, planner; read nothing more from it.

    - `has_notes`: include reasons and risks, and read the objects that they need; effects are the same without.
    - `check` receives the scopes of the source objects before any of them is read, and may raise.
    """
    options = options_from_json(plan.options)
    documents, problems = read_documents(plan.revision)
    crds: list[JSONObject] = [document.obj for document in documents if _is_crd(document)]
    served = discovery.load_catalog(reader)
    catalog = SourceChain(CRDSource(crds, origin=SchemaOrigin.SOURCE_CRD), served) if crds else served
    check(_list_scopes(plan, documents, catalog, options.namespace))
    related = _read_related_objects(documents, catalog, options.namespace, reader) if has_notes else RelatedObjects()
    context = PlanContext(
        served,
        _now(),
        has_notes=has_notes,
        related=related,
        decisions=read_decisions(plan),
        rules=rules_from_json(plan.rules),
        sources=read_sources(plan.revision),
        server=EstimatingServer(),
    )
    planner = sets.SetPlanner(documents, options=options, context=context, problems=problems)
    return Calculation(reader, catalog, documents, context, planner)
