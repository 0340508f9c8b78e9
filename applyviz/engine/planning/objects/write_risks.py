"""Find the risks of how an object is written: replaced, or fields of others overwritten by force.

Rule: read from the requests and from the owners before and after, never from what a manifest claims. Rules over the
versions of an object are in `engine/risks`; deletions add their risks where they are planned (`prune`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from applyviz.engine.objects.owners import name_owner
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.ownership_risks import drop_intended, find_idle_moves, find_moves
from applyviz.engine.requests.options import ApplyOptions, Propagation
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.container_restarts import CONTAINER_RESTARTS
from applyviz.engine.risks.defaults import DEFAULTED_SIBLING
from applyviz.engine.risks.deletions import ADDRESS_LOST, REPLACED, TERMINATING, find_losses, find_terminating
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.engine.risks.ineffective import REMOVAL_WITHOUT_EFFECT
from applyviz.engine.risks.lists import ORDER_CHURN, SHARED_MERGE_KEY
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.engine.risks.replaced_pods import PODS_RENUMBERED, find_replaced, is_adopting
from applyviz.engine.risks.restarts import PODS_RESTART, TEMPLATE_WAITS
from applyviz.engine.risks.rules import sort_risks
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER, KOPS_ADDON
from applyviz.engine.risks.topology import TOPOLOGY_CHANGED

_OF_ROLLOUTS = (PODS_RESTART, TEMPLATE_WAITS, PODS_RENUMBERED)
_OF_UPDATES = frozenset(
    (
        *(*_OF_ROLLOUTS, ADDRESS_LOST, IMMUTABLE_FIELD, DEFAULTED_SIBLING, NO_LAST_APPLIED, SHARED_MERGE_KEY),
        *(REMOVAL_WILL_NOT_HAPPEN, REMOVAL_WITHOUT_EFFECT, ORDER_CHURN, TOPOLOGY_CHANGED, CONTAINER_RESTARTS),
        TERMINATING,
    )
)
"""Risks of updating the live object; they do not hold for an object that is deleted and created again."""


def name_object(ref: ObjectRef) -> dict[str, str]:
    """Return the facts of a risk that name an object."""
    return {"kind": ref.gvk.kind, "name": ref.name}


def _find_overwritten(change: PlannedObject, own: Collection[str]) -> set[str]:
    """Return the other field managers, with the subresource of their writes, that own fewer fields afterwards."""
    lost: set[str] = set()
    for reason in change.fields:
        before, kept = (
            {name_owner(one.manager, one.subresource) for one in owners if one.manager not in own}
            for owners in (reason.owners_before, reason.owners_after)
        )
        lost |= before - kept
    return lost


def is_forced(change: PlannedObject) -> bool:
    """Return whether a server-side apply is sent with force."""
    return any(r.is_write and r.query.get("force") == "true" for r in change.requests)


def _find_forced(change: PlannedObject, own: Collection[str]) -> Risk | None:
    if not is_forced(change):
        return None
    owners = _find_overwritten(change, own)
    level = RiskLevel.HIGH if owners else RiskLevel.INFO
    return FORCED.at(facts={"owners": ", ".join(sorted(owners))}, level=level)


def list_losses(ref: ObjectRef, live: JSONObject, manifest: JSONObject | None, options: ApplyOptions) -> list[Risk]:
    """Return what is lost with a live object that these options delete; `manifest`: of the one that follows."""
    is_foreground = options.propagation is Propagation.FOREGROUND
    return list(find_losses(ref, live, manifest, is_foreground=is_foreground, seconds=options.deletion_seconds))


def note_others(risks: Iterable[Risk], options: ApplyOptions, *, is_gone: bool) -> Iterator[Risk]:
    """Yield the risks of an object that is deleted; that another tool manages it is a high one.

    - `is_gone`: it is not created again. The addon manager of a kOps channel is no other tool for the addons that this
      plan applies.
    """
    for risk in risks:
        belongs = risk.kind is BELONGS_TO_OTHER
        if belongs and (options.channel is None or risk.facts["tool"] != KOPS_ADDON):
            facts = {**risk.facts, "deleted": "yes"} if is_gone else risk.facts
            yield replace(risk, level=RiskLevel.HIGH, facts=facts)
        elif not (belongs and is_gone):
            yield risk


def _is_of_update(risk: Risk, change: PlannedObject, options: ApplyOptions) -> bool:
    """Return whether a risk says what an update does to the live object, which a replaced one does not outlive."""
    live, result = change.versions.live or {}, change.versions.after or {}
    if risk.kind in _OF_ROLLOUTS and options.propagation is Propagation.ORPHAN:
        return not is_adopting(change.ref, live, result)
    return risk.kind in _OF_UPDATES


def _find_replaced(change: PlannedObject, options: ApplyOptions) -> Iterator[Risk]:
    """Yield that an object is deleted and created again, what is lost with it, and which pods stop."""
    live, manifest, result = change.versions.live or {}, change.versions.manifest, change.versions.after or {}
    facts = {"fields": ", ".join(change.refused_fields)} if change.refused_fields else {}
    is_run_again = change.ref.key[:2] == ("batch", "Job") and get_at(result, ("spec", "suspend")) is not True
    facts |= {"runs": "again"} if is_run_again else {}
    yield REPLACED.at(facts={**name_object(change.ref), **facts})
    yield from find_terminating(change.ref, live, "replacement")
    yield from list_losses(change.ref, live, manifest, options)
    if options.propagation is not Propagation.ORPHAN or change.ref.gvk.kind == "Pod":
        yield from find_replaced(change.ref, live, result)


def add_write_risks(change: PlannedObject, *, own: Collection[str], options: ApplyOptions) -> PlannedObject:
    """Return the change with the risks of how it is written; its fields and their owners must be set.

    - `own`: the field manager, and those whose fields it takes over without force.
    """
    found: list[Risk | None] = [_find_forced(change, own)]
    if change.operation is Operation.REPLACE:
        found = list(_find_replaced(change, options))
        left = (risk for risk in change.risks if not _is_of_update(risk, change, options))
        change = replace(change, risks=tuple(note_others(left, options, is_gone=False)))
    found += (*find_moves(change, options), *find_idle_moves(change, options))
    kept = drop_intended(change.risks, options.list_handovers(change.ref.key))
    risks = sort_risks((*kept, *(risk for risk in found if risk is not None)))
    return replace(change, risks=risks)
