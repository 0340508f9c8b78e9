"""The stages of planning a kOps channel: the objects of the chosen addons, their deletions, their records.

Rule: `channels/pkg/channels` of kOps: each addon is applied, pruned by its own kinds, and then recorded in an
annotation of its namespace. While something of an addon is in error or left out, nothing of it is pruned and it is not
recorded; the other addons are not affected. An error is a problem of the plan; leaving out is a choice, and is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from applyviz.engine.channels.model import Addon, ChannelPlan
from applyviz.engine.channels.sentences import NEEDS_UPDATE
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import UNPLANNED, Operation, PlannedObject, PlanProblem
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.planner import plan_member
from applyviz.engine.planning.sets.addon_order import sort_addons
from applyviz.engine.planning.sets.addon_risks import find_rolling, find_skipped
from applyviz.engine.planning.sets.prune import plan_deletions
from applyviz.engine.planning.sets.stages import (
    Result,
    SetContext,
    Stages,
    list_changes,
    plan_document,
)
from applyviz.engine.requests.annotating import annotate
from applyviz.engine.requests.calls import RequestTarget, list_objects
from applyviz.engine.requests.flow import Flow, FlowOutcome, is_not_found, refusal
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.requests.prune import Prunable, read_items
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.reach import NAMESPACE_CHANGED
from applyviz.engine.risks.rules import sort_risks

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")
_NODE = GroupVersionKind("", "v1", "Node")
# Both are true of the annotation of every addon, and say nothing about the namespace itself.
_OF_NO_RECORD = (NO_LAST_APPLIED, NAMESPACE_CHANGED)


def _mark(flow: Flow[PlannedObject], addon: Addon | None, channel: ChannelPlan) -> Flow[Result]:
    """Return a flow whose change names the addon that it belongs to; None for a manifest of no addon."""
    change = yield from flow
    if addon is None:
        return change
    chosen = channel.find_choice(addon.name)
    risks = (*find_skipped(chosen, channel.kubernetes), *(find_rolling(chosen) if _records(change) else ()))
    return replace(change, addon=addon.name, risks=sort_risks((*change.risks, *risks)) if risks else change.risks)


def _records(change: PlannedObject) -> bool:
    """Return whether a change is the record of its addon, and no mark of a node."""
    return change.is_record and change.ref.gvk.kind == _NAMESPACE.kind


def _find_prunable(addon: Addon, around: SetContext, kept: Collection[str]) -> Flow[Result]:
    """Return the live objects that an addon prunes: of its kinds, selected, and not in the plan.

    - There is no object of a kind that the cluster does not serve.
    """
    found: dict[str, Prunable] = {}
    for kind in addon.prune:
        resource = around.context.catalog.find_preferred(kind.group, kind.kind)
        if resource is None:
            continue
        for namespace in kind.namespaces or ("",):
            request = list_objects(resource, namespace if resource.is_namespaced else "", kind.label_selector)
            if kind.field_selector:
                request = replace(request, query={**request.query, "fieldSelector": kind.field_selector})
            answer = yield request
            if is_not_found(answer):  # its definition comes with this plan
                continue
            if not answer.is_ok:
                raise refusal(request, answer)
            for obj in read_items(answer.body, resource):
                uid, where = get_at(obj, ("metadata", "uid"), ""), get_at(obj, ("metadata", "namespace"), "")
                if uid not in kept:
                    found[uid] = Prunable(resource, where, obj)
    return list(found.values())


def _catch_problems(flow: Flow[Result], addon: Addon, around: SetContext) -> Flow[Result]:
    """Return a flow that reports its failure as a problem of the addon, at its entry in the channel."""
    try:
        return (yield from flow)
    except ApplyVizError as error:
        detail = f"addon {addon.name} is not pruned and not recorded: {error}"
        around.problems.append(PlanProblem(detail, addon.position))
        return None


def _plan_deletions(
    addon: Addon, channel: ChannelPlan, found: Sequence[Prunable], live: int, around: SetContext
) -> Iterator[Flow[Result]]:
    members = live + len(found)
    for flow in plan_deletions(found, options=around.options, context=around.context, members=members):
        yield _mark(flow, addon, channel)


def _list_ready(addons: Iterable[Addon], changes: Sequence[PlannedObject], around: SetContext) -> list[Addon]:
    """Return the addons of which everything is planned; those with something in error are problems."""
    ready = []
    broken = {problem.position.file for problem in around.problems}
    left_out = {c.addon for c in changes if c.operation is Operation.LEFT_OUT}
    for addon in addons:
        wrong = [c for c in changes if c.addon == addon.name and c.operation in UNPLANNED]
        if wrong:
            reason = f"{wrong[0].ref} is in error"
        elif addon.file in broken:
            reason = f"a part of {addon.file} is in error"
        else:
            ready += [] if addon.name in left_out else [addon]
            continue
        detail = f"addon {addon.name} is not pruned and not recorded as installed: {reason}"
        around.problems.append(PlanProblem(detail, addon.position))
    return ready


def _list_written(
    addons: Sequence[Addon], changes: Sequence[PlannedObject], around: SetContext, how: str
) -> list[Addon]:
    """Return the addons of which every deletion, or every mark of a node, is planned; the others are problems."""
    refused = {c.addon: c.ref for c in changes if c.operation is Operation.ERROR}
    for addon in addons:
        if addon.name in refused:
            detail = f"addon {addon.name} is not recorded as installed: {refused[addon.name]} cannot be {how}"
            around.problems.append(PlanProblem(detail, addon.position))
    return [addon for addon in addons if addon.name not in refused]


def _count_live(changes: Iterable[PlannedObject], addon: Addon) -> int:
    return sum(c.addon == addon.name and c.versions.live is not None for c in changes)


def plan_record(
    addon: Addon,
    channel: ChannelPlan,
    *,
    options: ApplyOptions,
    context: PlanningContext,
    follows: PlannedObject | None = None,
) -> Flow[PlannedObject]:
    """Plan the annotation that records an addon as installed.

    - `follows`: the write of the same namespace before it in the same plan.
    """
    obj = _write_annotations(_NAMESPACE, addon.namespace, {addon.annotation: channel.write_record(addon)})
    return (yield from _plan_annotations(addon, obj, options=options, context=context, follows=follows))


def plan_mark(addon: Addon, node: str, *, options: ApplyOptions, context: PlanningContext) -> Flow[PlannedObject]:
    """Plan the annotation that marks a node for the rolling update that an addon needs."""
    obj = _write_annotations(_NODE, node, {NEEDS_UPDATE: ""})
    return (yield from _plan_annotations(addon, obj, options=options, context=context))


def name_node(name: str) -> tuple[str, str, str, str]:
    """Return the key of a node."""
    return (_NODE.group, _NODE.kind, "", name)


def _write_annotations(gvk: GroupVersionKind, name: str, annotations: Mapping[str, str]) -> JSONObject:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}


def _plan_annotations(
    addon: Addon,
    obj: JSONObject,
    *,
    options: ApplyOptions,
    context: PlanningContext,
    follows: PlannedObject | None = None,
) -> Flow[PlannedObject]:
    """Plan annotations that say something about an addon, on an object of which nothing else is written."""
    options = replace(options, mode=ApplyMode.CLIENT, channel=None, takes_from=(), is_replacing_on_error=False)
    member = place_member(obj, options=options, catalog=context.catalog)

    def start(member: Member, options: ApplyOptions, _context: PlanningContext) -> Flow[FlowOutcome]:
        target = RequestTarget(member.resource, "", member.ref.name, options)
        return annotate(target, dict(obj["metadata"]["annotations"]))

    change = yield from plan_member(member, options=options, context=context, follows=follows, start=start)
    risks = tuple(risk for risk in change.risks if risk.kind not in _OF_NO_RECORD)
    versions = replace(change.versions, last_applied=None)
    return replace(change, risks=risks, versions=versions, addon=addon.name, is_record=True, position=addon.position)


def _list_marks(addons: Iterable[Addon], channel: ChannelPlan, around: SetContext) -> Iterator[Flow[Result]]:
    """Yield a flow for each node that addons mark; a node is marked once."""
    seen: set[str] = set()
    for addon in addons:
        chosen = channel.find_choice(addon.name)
        for node in chosen.marked if chosen is not None else ():
            if node not in seen:
                seen.add(node)
                flow = plan_mark(addon, node, options=around.options, context=around.context)
                yield _mark(flow, addon, channel)


def _find_namespaces(changes: Iterable[PlannedObject]) -> Mapping[str, list[PlannedObject]]:
    found: dict[str, list[PlannedObject]] = {}
    for change in changes:
        if change.ref.key[:2] == NAMESPACE:
            found.setdefault(change.addon, []).append(change)
    return found


def _plan_records(
    addons: Sequence[Addon], channel: ChannelPlan, changes: Sequence[PlannedObject], around: SetContext
) -> Stages:
    """Yield one stage per record, in the order of application: several of one namespace build on each other."""
    namespaces = _find_namespaces(changes)
    last: dict[str, PlannedObject] = {}
    ready = {addon.name: addon for addon in addons}
    for name in sort_addons([addon.name for addon in channel.applied], changes):
        last.update((change.ref.name, change) for change in namespaces.get(name, ()))
        addon = ready.get(name)
        if addon is not None:
            follows = last.get(addon.namespace)
            flow = plan_record(addon, channel, options=around.options, context=around.context, follows=follows)
            last[addon.namespace] = list_changes((yield [_mark(flow, addon, channel)]))[-1]


def plan_channel(documents: Sequence[ManifestDocument], around: SetContext, channel: ChannelPlan) -> Stages:
    """Yield the stages of a channel; `documents` are those of the chosen addons, and manifests of no addon."""
    addon_of: dict[str, Addon] = {}
    for addon in channel.applied:
        addon_of.setdefault(addon.file, addon)
    flows: list[Flow[Result]] = [
        _mark(plan_document(d, around), addon_of.get(d.position.file), channel) for d in documents
    ]
    changes = list_changes((yield flows))
    ready = _list_ready(channel.applied, changes, around)
    kept = {get_at(c.versions.live, ("metadata", "uid"), "") for c in changes}
    searches = [_catch_problems(_find_prunable(addon, around, kept), addon, around) for addon in ready]
    found = (yield searches)[len(flows) :]
    pruned = {addon.name: one for addon, one in zip(ready, found, strict=True) if isinstance(one, list)}
    deletions: list[Flow[Result]] = []
    doomed: set[str] = set()
    for addon in ready:
        own = [one for one in pruned.get(addon.name, []) if _take(one, doomed)]
        deletions += _plan_deletions(addon, channel, own, _count_live(changes, addon), around)
    changes = list_changes((yield deletions))
    done = _list_written([addon for addon in ready if addon.name in pruned], changes, around, "deleted")
    changes = list_changes((yield list(_list_marks(done, channel, around))))
    done = _list_written(done, changes, around, "marked")
    yield from _plan_records(done, channel, changes, around)


def _take(found: Prunable, doomed: set[str]) -> bool:
    """Return whether no addon before deletes this object."""
    uid = get_at(found.obj, ("metadata", "uid"), "")
    is_new = uid not in doomed
    doomed.add(uid)
    return is_new
