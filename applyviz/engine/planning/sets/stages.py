"""The stages of planning a set: its documents, its deletions, and the parent of its ApplySet.

Rule: deletions are searched for when every document is planned, and not at all while one is in error, as in kubectl. A
stage is a list of flows that may run in parallel; the next stage is built from the results.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject, PlanProblem
from applyviz.engine.planning.objects.context import PlanContext
from applyviz.engine.planning.objects.planner import plan_object
from applyviz.engine.planning.sets.applyset_parents import plan_parent
from applyviz.engine.planning.sets.prune import (
    find_by_allowlist,
    find_by_applyset,
    find_named,
    plan_deletion,
    plan_deletions,
)
from applyviz.engine.requests import applyset
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.members import place_member
from applyviz.engine.requests.options import ApplyOptions, PruneMode
from applyviz.engine.requests.prune import Prunable
from applyviz.engine.schema.model import Resource

Result: TypeAlias = PlannedObject | list[Prunable] | applyset.Content | None
Stages: TypeAlias = Generator[Sequence[Flow[Result]], list[Result], None]
_BAD = (Operation.ERROR, Operation.BLOCKED)


@dataclass
class SetContext:
    """The state that all stages share; problems found on the way are added."""

    options: ApplyOptions
    context: PlanContext
    problems: list[PlanProblem]


def _caught(flow: Flow[Result], around: SetContext) -> Flow[Result]:
    """Return a flow that reports its failure as a problem of the set."""
    try:
        return (yield from flow)
    except ApplyVizError as error:
        around.problems.append(PlanProblem(str(error)))
        return None


def _changes(results: Sequence[Result]) -> list[PlannedObject]:
    return [r for r in results if isinstance(r, PlannedObject)]


def _visited(changes: Sequence[PlannedObject]) -> set[str]:
    return {get_at(c.versions.live, ("metadata", "uid"), "") for c in changes} - {""}


def _may_prune(changes: Sequence[PlannedObject], around: SetContext) -> bool:
    bad = [c for c in changes if c.operation in _BAD]
    if bad or around.problems:
        first = str(bad[0].ref) if bad else around.problems[0].reason
        around.problems.append(PlanProblem(f"nothing is pruned while something of the set is in error: {first}"))
        return False
    return True


def _plan_documents(documents: Sequence[ManifestDocument], around: SetContext) -> list[Flow[Result]]:
    return [plan_object(d, options=around.options, context=around.context) for d in documents]


def _list_members(documents: Sequence[ManifestDocument], around: SetContext) -> Iterator[tuple[Resource, str]]:
    for document in documents:
        try:
            member = place_member(document.obj, options=around.options, catalog=around.context.catalog)
        except ApplyVizError:
            continue
        yield member.resource, member.namespace


def _prune(found: Result, around: SetContext, members: int) -> list[Flow[Result]]:
    doomed = found if isinstance(found, list) else []
    return list(plan_deletions(doomed, options=around.options, context=around.context, members=members))


def _plan_with_allowlist(documents: Sequence[ManifestDocument], around: SetContext) -> Stages:
    changes = _changes((yield _plan_documents(documents, around)))
    if not _may_prune(changes, around):
        return
    namespaces = {namespace for resource, namespace in _list_members(documents, around) if resource.is_namespaced}
    search = find_by_allowlist(around.options, around.context, namespaces, _visited(changes))
    found = (yield [_caught(search, around)])[-1]
    live = sum(c.versions.live is not None for c in changes)
    yield _prune(found, around, live + (len(found) if isinstance(found, list) else 0))


def _label(
    documents: Sequence[ManifestDocument], parent: applyset.Parent, around: SetContext
) -> Iterator[ManifestDocument]:
    for document in documents:
        try:
            yield replace(document, obj=applyset.add_label(document.obj, parent))
        except applyset.ApplySetError as error:
            around.problems.append(PlanProblem(str(error), document.position))


def _plan_with_applyset(documents: Sequence[ManifestDocument], around: SetContext, parent: applyset.Parent) -> Stages:
    context = around.context = replace(around.context, applyset=parent.id)
    labelled = list(_label(documents, parent, around))
    before = (yield [_caught(applyset.fetch_content(parent, context.catalog), around)])[-1]
    if not isinstance(before, applyset.Content):
        return
    after = applyset.collect_content(_list_members(labelled, around))
    first_write = plan_parent(parent, before | after, options=around.options, context=context)
    changes = _changes((yield [first_write, *_plan_documents(labelled, around)]))
    if not _may_prune(changes, around):
        return
    found = (yield [_caught(find_by_applyset(parent, before, _visited(changes)), around)])[-1]
    live = sum(c.versions.live is not None for c in changes[1:])
    flows = _prune(found, around, live + (len(found) if isinstance(found, list) else 0))
    if applyset.render_parent(parent, after) != applyset.render_parent(parent, before | after):
        follows = changes[0]
        flows.append(plan_parent(parent, after, options=around.options, context=context, follows=follows))
    yield flows


def _plan_with_names(documents: Sequence[ManifestDocument], around: SetContext) -> Stages:
    changes = _changes((yield _plan_documents(documents, around)))
    if not _may_prune(changes, around):
        return

    def search() -> Flow[Result]:
        found, left = yield from find_named(around.options, around.context)
        around.problems.extend(PlanProblem(reason) for reason in left)
        return found

    found = (yield [_caught(search(), around)])[-1]
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
