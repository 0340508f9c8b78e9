"""Plan the deletions of a set: live objects that were applied before and left the set.

Rule: `requests/prune.py` (allowlist) and `requests/applyset.py` (ApplySets) define what is searched for; here each
result becomes a separate deletion, bound to the object as it was read, and dry-run. While any object of the set is in
error nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.objects.change_builder import REJECTED
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.write_risks import list_losses, name_object, note_others
from applyviz.engine.planning.simulation.dry_run_result import DryRunVerdict, read_dry_run
from applyviz.engine.requests import applyset
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.options import ApplyOptions, PruneMode
from applyviz.engine.requests.prune import Prunable, find_prunable, list_searches, read_allowlist
from applyviz.engine.requests.replacement import read_deletion
from applyviz.engine.requests.takeover import read_last_applied
from applyviz.engine.risks.deletions import DELETED
from applyviz.engine.risks.model import Risk, RiskLevel, RiskSubject
from applyviz.engine.risks.pruning import find_changed_choices, find_narrowed, find_prune_risks
from applyviz.engine.risks.rules import find_risks, sort_risks
from applyviz.engine.schema.model import SchemaOrigin

_REFUSALS = (DryRunVerdict.REFUSED, DryRunVerdict.CONFLICTS)


def find_by_allowlist(
    options: ApplyOptions, context: PlanningContext, namespaces: Iterable[str], visited: Collection[str]
) -> Flow[list[Prunable]]:
    """Return the objects that match the allowlist in the namespaces of the set; only applied ones are pruned.

    - Raises `PlanError` for an entry of the allowlist without a kind.
    """
    resources, wrong = read_allowlist(options.prune.allowlist, context.catalog)
    if wrong:
        raise PlanError("; ".join(wrong))
    found: list[Prunable] = []
    for resource, namespace in list_searches(resources, namespaces):
        found += yield from find_prunable(resource, namespace, options.selector, visited)
    return found


def find_by_applyset(
    parent: applyset.Parent, content: applyset.Content, visited: Collection[str]
) -> Flow[list[Prunable]]:
    """Return the former members of the ApplySet that left the set."""
    return (yield from applyset.find_members(parent, content, visited))


def find_named(options: ApplyOptions, context: PlanningContext) -> Flow[tuple[list[Prunable], list[str]]]:
    """Return the objects that the options name one by one, and the reasons why some of them are not deleted.

    - An object that is gone, or was created again under the same name, is not deleted.
    """
    found: list[Prunable] = []
    left: list[str] = []
    for entry in options.prune.allowlist:
        group, version, kind, namespace, name, uid = entry.split("/")
        gvk = GroupVersionKind("" if group == "core" else group, version, kind)
        ref = ObjectRef(gvk, namespace, name)
        resource = context.catalog.find_resource(gvk)
        if resource is None:
            left.append(f"{ref} is not deleted: the cluster no longer serves its kind")
            continue
        answer = yield RequestTarget(resource, namespace, name, options).read()
        if not answer.is_ok:
            why = "it no longer exists" if answer.status == 404 else f"it could not be read ({answer.status})"
            left.append(f"{ref} is not deleted: {why}")
        elif get_at(answer.body, ("metadata", "uid"), "") != uid:
            left.append(f"{ref} is not deleted: it was created again since")
        else:
            found.append(Prunable(resource, namespace, dict(answer.body)))
    return found, left


def describe_choices(options: ApplyOptions) -> dict[str, str]:
    """Return each choice that decides what is pruned, by its name; those that mean the same are the same."""
    chosen = options.prune
    if chosen.mode is PruneMode.NONE:
        return {"The prune method": "none"}
    excepted = {"The list of kinds that are never pruned": ", ".join(sorted(set(chosen.excepted))) or "empty"}
    if chosen.mode is PruneMode.APPLYSET:
        named = chosen.applyset if "/" in chosen.applyset else f"secrets/{chosen.applyset}"
        parent = f"{named} in {options.namespace}"
        return {"The prune method": "ApplySet", "The ApplySet parent": parent, **excepted}
    return {
        "The prune method": "allowlist",
        "The selector": options.selector or "empty (--all)",
        "The allowlist": ", ".join(sorted(set(chosen.allowlist))) or "kubectl's",
        "The default namespace": options.namespace,
        **excepted,
    }


def _find_choice_risks(options: ApplyOptions, context: PlanningContext) -> tuple[Risk, ...]:
    earlier = context.earlier
    if earlier is None:
        return ()
    compared = earlier.pruned or earlier
    before, now = describe_choices(compared.options), describe_choices(options)
    changed = find_changed_choices(compared.run, before, now)
    return (*changed, *find_narrowed(earlier.run, files_before=earlier.files, files=tuple(context.sources)))


def _name_reason(options: ApplyOptions) -> Mapping[str, str]:
    """Return the facts that say why an object is deleted; none for a deletion that was named."""
    if options.prune.mode is PruneMode.APPLYSET:
        return {"applyset": options.prune.applyset}
    if options.prune.mode is PruneMode.ALLOWLIST:
        return {"selector": options.selector or "--all"}
    return {}


def _note_dry_run(change: PlannedObject, answer: Answer) -> PlannedObject:
    """Return a planned deletion with the result of its dry run."""
    dry_run = read_dry_run(answer)
    if dry_run.verdict is DryRunVerdict.CONFIRMED:
        return replace(change, certainty=Certainty.CONFIRMED, certainty_reason="", warnings=answer.warnings)
    if dry_run.verdict in _REFUSALS:
        refusal = Refusal(answer.status, answer.reason)
        refused = replace(change, operation=Operation.ERROR, requests=(), error=dry_run.reason, refusal=refusal)
        return replace(refused, certainty=Certainty.NONE, certainty_reason=REJECTED)
    return replace(change, certainty_reason=dry_run.reason)


def plan_deletion(
    found: Prunable, *, options: ApplyOptions, context: PlanningContext, risks: Iterable[Risk] = ()
) -> Flow[PlannedObject]:
    """Plan the deletion of one object."""
    ref = found.ref
    target = RequestTarget(found.resource, found.namespace, ref.name, options)
    request = target.delete(context.deletion or read_deletion(options), found.obj, names_kind=True)
    kind = context.catalog.find_kind(found.resource.gvk)
    subject = RiskSubject(
        ref,
        live=found.obj,
        field_manager=options.field_manager,
        is_namespaced=found.resource.is_namespaced,
        kind=kind,
        related=context.related,
        applyset=context.applyset,
    )
    # Who reviews a deletion expects it; an object that its set lost is a surprise.
    level = RiskLevel.MEDIUM if options.is_deleting else RiskLevel.HIGH
    others = note_others(find_risks(subject), options, is_gone=True)
    deleted = DELETED.at(facts={**name_object(ref), **_name_reason(options)}, level=level)
    change = PlannedObject(
        ref=ref,
        operation=Operation.PRUNE,
        versions=Versions(last_applied=read_last_applied(found.obj), live=found.obj),
        requests=(request,),
        risks=sort_risks((deleted, *risks, *list_losses(ref, found.obj, None, options), *others)),
        certainty_reason=context.dry_run_reason or "no dry run was asked for",
        schema_origin=kind.origin if kind is not None else SchemaOrigin.NONE,
        method="delete",
    )
    return _note_dry_run(change, (yield request.as_dry_run())) if context.can_dry_run else change


def plan_deletions(
    found: Iterable[Prunable], *, options: ApplyOptions, context: PlanningContext, members: int
) -> list[Flow[PlannedObject]]:
    """Return a flow for each deletion; the first one carries the risks of the whole."""
    found = list(found)
    risks = (*find_prune_risks([f.ref for f in found], members), *_find_choice_risks(options, context))
    flows = []
    for index, one in enumerate(found):
        own = [h for h in risks if h.facts.get("what", "") == str(one.ref)]
        share = [h for h in risks if "what" not in h.facts] if index == 0 else []
        flows.append(plan_deletion(one, options=options, context=context, risks=(*share, *own)))
    return flows
