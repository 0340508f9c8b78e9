"""Find the risks of how an object is written: replaced, or fields of others overwritten by force.

Rule: read from the requests and from the owners before and after, never from what a manifest claims. Rules over the
versions of an object are in `engine/risks`; deletions add their risks where they are planned (`prune`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.rules import sort_risks


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
    return Risk(RiskKind.FORCED, level, facts={"owners": ", ".join(sorted(owners))})


def add_write_risks(change: PlannedObject, *, own: Collection[str]) -> PlannedObject:
    """Return the change with the risks of how it is written; its fields and their owners must be set.

    - `own`: the field manager, and those whose fields it takes over without force.
    """
    found = [_find_forced(change, own)]
    if change.operation is Operation.REPLACE:
        found.append(Risk(RiskKind.REPLACED, RiskLevel.HIGH, facts=name_object(change.ref)))
    risks = sort_risks((*change.risks, *(risk for risk in found if risk is not None)))
    return replace(change, risks=risks)
