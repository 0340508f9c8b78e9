"""Plan the deletions of a set: live objects that were applied before and left the set.

Rule: `requests/prune.py` (allowlist) and `requests/applyset.py` (ApplySets) define what is searched for; here each
result becomes a separate deletion, bound to the object as it was read, and dry-run. While any object of the set is in
error nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError, PlanError
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.objects.change_builder import REJECTED
from applyviz.engine.planning.objects.context import PlanContext
from applyviz.engine.planning.objects.write_risks import name_object
from applyviz.engine.planning.simulation.dry_run_result import DryRunVerdict, read_dry_run
from applyviz.engine.requests import applyset
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.prune import Prunable, find_prunable, list_searches, read_allowlist
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.pruning import find_prune_risks
from applyviz.engine.risks.rules import find_risks, sort_risks
from applyviz.engine.schema.model import SchemaOrigin

_REFUSALS = (DryRunVerdict.REFUSED, DryRunVerdict.CONFLICTS)


def find_by_allowlist(
    options: ApplyOptions, context: PlanContext, namespaces: Iterable[str], visited: Collection[str]
) -> Flow[list[Prunable]]:
    """Return the objects that the allowlist prunes in the namespaces of the set.

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


def find_named(options: ApplyOptions, context: PlanContext) -> Flow[tuple[list[Prunable], list[str]]]:
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
            left.append(f"{ref} is not deleted: the cluster does not serve its kind any more")
            continue
        answer = yield RequestTarget(resource, namespace, name, options).read()
        if not answer.is_ok:
            why = "it is not there any more" if answer.status == 404 else f"it could not be read ({answer.status})"
            left.append(f"{ref} is not deleted: {why}")
        elif get_at(answer.body, ("metadata", "uid"), "") != uid:
            left.append(f"{ref} is not deleted: it was created again since")
        else:
            found.append(Prunable(resource, namespace, dict(answer.body)))
    return found, left


def _read_last_applied(obj: JSONObject) -> JSONObject | None:
    try:
        return last_applied.find(obj)
    except MergeError:
        return None


def _ref(found: Prunable) -> ObjectRef:
    return ObjectRef(found.resource.gvk, found.namespace, get_at(found.obj, ("metadata", "name"), ""))


def plan_deletion(
    found: Prunable, *, options: ApplyOptions, context: PlanContext, risks: Iterable[Risk] = ()
) -> Flow[PlannedObject]:
    """Plan the deletion of one object."""
    ref = _ref(found)
    target = RequestTarget(found.resource, found.namespace, ref.name, options)
    request = target.delete(context.deletion, found.obj, names_kind=True)
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
    deleted = Risk(RiskKind.DELETED, RiskLevel.HIGH, facts=name_object(ref))
    change = PlannedObject(
        ref=ref,
        operation=Operation.PRUNE,
        versions=Versions(last_applied=_read_last_applied(found.obj), live=found.obj),
        requests=(request,),
        risks=sort_risks((deleted, *risks, *find_risks(subject))),
        certainty_reason=context.dry_run_reason or "no dry run was asked for",
        schema_origin=kind.origin if kind is not None else SchemaOrigin.NONE,
        method="delete",
    )
    if not context.can_dry_run:
        return change
    answer = yield request.as_dry_run()
    dry_run = read_dry_run(answer)
    if dry_run.verdict is DryRunVerdict.CONFIRMED:
        return replace(change, certainty=Certainty.CONFIRMED, certainty_reason="", warnings=answer.warnings)
    if dry_run.verdict in _REFUSALS:
        refusal = Refusal(answer.status, answer.reason)
        refused = replace(change, operation=Operation.ERROR, requests=(), error=dry_run.reason, refusal=refusal)
        return replace(refused, certainty=Certainty.NONE, certainty_reason=REJECTED)
    return replace(change, certainty_reason=dry_run.reason)


def plan_deletions(
    found: Iterable[Prunable], *, options: ApplyOptions, context: PlanContext, members: int
) -> list[Flow[PlannedObject]]:
    """Return a flow for each deletion; the first one carries the risk of a large share."""
    found = list(found)
    risks = find_prune_risks([_ref(f) for f in found], members)
    flows = []
    for index, one in enumerate(found):
        own = [h for h in risks if h.facts.get("what", "") == str(_ref(one))]
        share = [h for h in risks if "what" not in h.facts] if index == 0 else []
        flows.append(plan_deletion(one, options=options, context=context, risks=(*share, *own)))
    return flows
