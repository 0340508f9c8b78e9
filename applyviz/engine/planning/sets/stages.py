"""The stages of planning a set: its documents, its deletions, and the parent of its ApplySet.

Rule: deletions are searched for when every document is planned, and not at all while one is in error, as in kubectl, or
left out. A stage is a list of flows that may run in parallel; the next stage is built from the results.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import UNPLANNED, Operation, PlannedObject, PlanProblem, Staying
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.left_out import plan_left_out
from applyviz.engine.planning.objects.planner import plan_object
from applyviz.engine.planning.sets.applyset_parents import plan_parent
from applyviz.engine.planning.sets.dependents import list_searches
from applyviz.engine.planning.sets.patched import A_PATCH, plan_patch, refuse
from applyviz.engine.planning.sets.prune import (
    find_by_allowlist,
    find_by_applyset,
    find_named,
    plan_deletion,
    plan_deletions,
)
from applyviz.engine.planning.sets.records import plan_record
from applyviz.engine.planning.sets.removals import plan_removal
from applyviz.engine.planning.sets.staying import (
    Searched,
    describe_search,
    find_lost,
    is_excepted,
    list_excepted,
    list_unmarked,
)
from applyviz.engine.requests import applyset
from applyviz.engine.requests.dependents import DependentList
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.leaving_out import is_left_out
from applyviz.engine.requests.members import place_member
from applyviz.engine.requests.options import ApplyOptions, PruneMode
from applyviz.engine.requests.prune import Prunable
from applyviz.engine.schema.model import Resource

Result: TypeAlias = PlannedObject | DependentList | list[Prunable] | applyset.Content | None
Stages: TypeAlias = Generator[Sequence[Flow[Result]], list[Result], None]


@dataclass
class SetContext:
    """The state that all stages share; problems and objects that stay are added on the way.

    - `source`: every document, also those that a selector leaves out.
    """

    options: ApplyOptions
    context: PlanningContext
    problems: list[PlanProblem]
    source: Sequence[ManifestDocument] = ()
    staying: list[Staying] = field(default_factory=list)


def catch_problems(flow: Flow[Result], around: SetContext) -> Flow[Result]:
    """Return a flow that reports its failure as a problem of the set."""
    try:
        return (yield from flow)
    except ApplyVizError as error:
        around.problems.append(PlanProblem(str(error)))
        return None


def list_changes(results: Sequence[Result]) -> list[PlannedObject]:
    """Return the changes among the results of flows."""
    return [r for r in results if isinstance(r, PlannedObject)]


def _visited(changes: Sequence[PlannedObject]) -> set[str]:
    return {get_at(c.versions.live, ("metadata", "uid"), "") for c in changes} - {""}


def _may_prune(changes: Sequence[PlannedObject], around: SetContext) -> bool:
    if any(c.operation is Operation.LEFT_OUT for c in changes):
        return False
    bad = [c for c in changes if c.operation in UNPLANNED]
    if bad or around.problems:
        first = str(bad[0].ref) if bad else around.problems[0].reason
        around.problems.append(PlanProblem(f"nothing is pruned while something of the set is in error: {first}"))
        return False
    return True


def _has_objects(documents: Sequence[ManifestDocument], around: SetContext) -> bool:
    """Return whether there is anything to apply; without, kubectl refuses, and everything would be pruned."""
    if not documents:
        around.problems.append(PlanProblem("no objects passed to apply: nothing is pruned"))
    return bool(documents)


def plan_document(document: ManifestDocument, around: SetContext) -> Flow[PlannedObject]:
    """Plan one document of a set, or leave it out."""
    options = around.options
    if document.patch is not None and not options.is_patching:
        return refuse(document, A_PATCH)
    plan = plan_removal if options.is_deleting else plan_patch if options.is_patching else plan_object
    plan = plan_record if options.is_recording else plan
    plan = plan_left_out if is_left_out(document.ref, options) else plan
    return plan(document, options=options, context=around.context)


def _plan_documents(documents: Sequence[ManifestDocument], around: SetContext) -> list[Flow[Result]]:
    return [plan_document(d, around) for d in documents]


def _list_members(documents: Sequence[ManifestDocument], around: SetContext) -> Iterator[tuple[Resource, str]]:
    for document in documents:
        try:
            member = place_member(document.obj, options=around.options, catalog=around.context.catalog)
        except ApplyVizError:
            continue
        yield member.resource, member.namespace


def _prune(found: Result, around: SetContext, live: int) -> list[Flow[Result]]:
    """Return the deletions of what prune found; `live`: how many objects of the set exist."""
    applied = [one for one in found if one.is_applied] if isinstance(found, list) else []
    doomed = [one for one in applied if not is_excepted(one, around.options)]
    flows = plan_deletions(doomed, options=around.options, context=around.context, members=live + len(applied))
    return list(flows)


def _find_staying(found: Result, searched: Searched, around: SetContext, known: Sequence[ObjectRef]) -> Flow[Result]:
    """Add the objects that prune does not delete, for people who read the plan."""
    if around.context.has_notes and isinstance(found, list):
        refs = (*known, *(one.ref for one in found))
        lost = yield from find_lost(around.source, searched, around.context, refs)
        around.staying += [*list_unmarked(found), *list_excepted(found, around.options), *lost]
    return None


def _plan_with_allowlist(documents: Sequence[ManifestDocument], around: SetContext) -> Stages:
    if not _has_objects(documents, around):
        return
    changes = list_changes((yield _plan_documents(documents, around)))
    if not _may_prune(changes, around):
        return
    namespaces = {namespace for resource, namespace in _list_members(documents, around) if resource.is_namespaced}
    search = find_by_allowlist(around.options, around.context, namespaces, _visited(changes))
    found = (yield [catch_problems(search, around)])[-1]
    live = sum(c.versions.live is not None for c in changes)
    searched = describe_search(around.options, around.context, namespaces)
    yield [*_prune(found, around, live), _find_staying(found, searched, around, ())]


def label_member(document: ManifestDocument, parent: applyset.Parent) -> ManifestDocument:
    """Return the document as a member of an ApplySet.

    - Raises `ApplySetError` if its manifest already names a set.
    """
    return replace(document, obj=applyset.add_label(document.obj, parent))


def _label(
    documents: Sequence[ManifestDocument], parent: applyset.Parent, around: SetContext
) -> Iterator[ManifestDocument]:
    for document in documents:
        try:
            yield label_member(document, parent)
        except applyset.ApplySetError as error:
            around.problems.append(PlanProblem(str(error), document.position))


def _open_parent(parent: applyset.Parent, context: PlanningContext) -> Flow[Result]:
    yield from applyset.check_parent_kind(parent)
    return (yield from applyset.fetch_content(parent, context.catalog))


def _collect_excepted(found: Result, around: SetContext) -> applyset.Content:
    """Return the kinds and namespaces of the members that left the set and are not pruned."""
    members = found if isinstance(found, list) else []
    kept = [(one.resource, one.namespace) for one in members if is_excepted(one, around.options)]
    return applyset.collect_content(kept)


def _plan_with_applyset(documents: Sequence[ManifestDocument], around: SetContext, parent: applyset.Parent) -> Stages:
    if not _has_objects(documents, around):
        return
    context = around.context = replace(around.context, applyset=parent.id)
    labelled = list(_label(documents, parent, around))
    before = (yield [catch_problems(_open_parent(parent, context), around)])[-1]
    if not isinstance(before, applyset.Content):
        return
    after = applyset.collect_content(_list_members(labelled, around))
    first_write = plan_parent(parent, before | after, options=around.options, context=context)
    changes = list_changes((yield [first_write, *_plan_documents(labelled, around)]))
    if not _may_prune(changes, around):
        return
    found = (yield [catch_problems(find_by_applyset(parent, before, _visited(changes)), around)])[-1]
    live = sum(c.versions.live is not None for c in changes[1:])
    searched = Searched(around.options)
    flows = [*_prune(found, around, live), _find_staying(found, searched, around, (parent.ref,))]
    after |= _collect_excepted(found, around)
    if applyset.render_parent(parent, after) != applyset.render_parent(parent, before | after):
        follows = changes[0]
        flows.append(plan_parent(parent, after, options=around.options, context=context, follows=follows))
    yield flows


def _plan_with_names(documents: Sequence[ManifestDocument], around: SetContext) -> Stages:
    changes = list_changes((yield _plan_documents(documents, around)))
    if not _may_prune(changes, around):
        return

    def search() -> Flow[Result]:
        found, left = yield from find_named(around.options, around.context)
        around.problems.extend(PlanProblem(reason) for reason in left)
        return found

    found = (yield [catch_problems(search(), around)])[-1]
    doomed = found if isinstance(found, list) else []
    yield [plan_deletion(one, options=around.options, context=around.context) for one in doomed]


def plan_stages(documents: Sequence[ManifestDocument], around: SetContext, parent: applyset.Parent | None) -> Stages:
    """Yield all stages of a set; each `send` passes the results of every flow so far."""
    match around.options.prune.mode:
        case PruneMode.ALLOWLIST:
            yield from _plan_with_allowlist(documents, around)
        case PruneMode.NAMED:
            yield from _plan_with_names(documents, around)
        case PruneMode.APPLYSET if parent is not None:
            yield from _plan_with_applyset(documents, around, parent)
        case _:
            yield _plan_documents(documents, around)


def plan_all(stages: Stages, around: SetContext) -> Stages:
    """Yield all stages of a set, and last the search for what goes with its deletions."""
    results = list[Result]()
    with suppress(StopIteration):
        flows = next(stages)
        while True:
            results = yield flows
            flows = stages.send(results)
    yield list(list_searches(list_changes(results), around.context))
