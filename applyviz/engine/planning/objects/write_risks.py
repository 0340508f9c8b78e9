"""Find the risks of how an object is written: replaced, or fields of others overwritten by force.

Rule: read from the requests and from the owners before and after, never from what a manifest claims. Rules over the
versions of an object are in `engine/risks`; deletions add their risks where they are planned (`prune`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.ownership_risks import drop_intended, find_idle_moves, find_moves
from applyviz.engine.requests.options import ApplyOptions, Propagation
from applyviz.engine.risks.deletions import REPLACED, find_losses
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.rules import sort_risks
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER, KOPS_ADDON


def name_object(ref: ObjectRef) -> dict[str, str]:
    """Return the facts of a risk that name an object."""
    return {"kind": ref.gvk.kind, "name": ref.name}


def _find_overwritten(change: PlannedObject, own: Collection[str]) -> set[str]:
    """Return the other field managers that own fewer fields afterwards."""
    lost: set[str] = set()
    for reason in change.fields:
        kept = {owner.manager for owner in reason.owners_after}
        lost |= {owner.manager for owner in reason.owners_before} - kept - set(own)
    return lost


def _find_forced(change: PlannedObject, own: Collection[str]) -> Risk | None:
    if not any(r.is_write and r.query.get("force") == "true" for r in change.requests):
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


def add_write_risks(change: PlannedObject, *, own: Collection[str], options: ApplyOptions) -> PlannedObject:
    """Return the change with the risks of how it is written; its fields and their owners must be set.

    - `own`: the field manager, and those whose fields it takes over without force.
    """
    found = [_find_forced(change, own)]
    if change.operation is Operation.REPLACE:
        facts = {"fields": ", ".join(change.refused_fields)} if change.refused_fields else {}
        found.append(REPLACED.at(facts={**name_object(change.ref), **facts}))
        found += list_losses(change.ref, change.versions.live or {}, change.versions.manifest, options)
        left = (risk for risk in change.risks if risk.kind is not IMMUTABLE_FIELD)
        change = replace(change, risks=tuple(note_others(left, options, is_gone=False)))
    found += (*find_moves(change, options), *find_idle_moves(change, options))
    kept = drop_intended(change.risks, options.list_handovers(change.ref.key))
    risks = sort_risks((*kept, *(risk for risk in found if risk is not None)))
    return replace(change, risks=risks)
