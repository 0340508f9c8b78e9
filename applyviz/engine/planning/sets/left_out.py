"""Add to each change of a set the risk that it refers to an object that the plan leaves out.

Rule: an object refers to what it names, to its namespace and to the definition of its kind
(`planning/sets/dependencies.py`). Such an object is left out too, or the risk is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.write_risks import name_object
from applyviz.engine.planning.sets.dependencies import find_dependencies
from applyviz.engine.risks.model import Risk
from applyviz.engine.risks.planning.dangling import REFERS_TO_LEFT_OUT
from applyviz.engine.risks.rules import sort_risks

_STATES = {True: "yes", False: "no", None: ""}


def _defines(left: PlannedObject, change: PlannedObject) -> bool:
    """Return whether a left-out definition is that of the kind of another object."""
    gvk = left.ref.gvk
    if (gvk.group, gvk.kind) != CRD:
        return False
    spec = get_at(left.versions.manifest, ("spec",))
    return (get_at(spec, ("group",)), get_at(spec, ("names", "kind"))) == (change.ref.gvk.group, change.ref.gvk.kind)


def list_referred(change: PlannedObject, left: Sequence[PlannedObject]) -> tuple[PlannedObject, ...]:
    """Return the left-out objects that an object refers to."""
    manifest = change.versions.manifest
    if manifest is None:
        return ()
    named = find_dependencies(change.ref, manifest)
    return tuple(one for one in left if one.ref.key in named or _defines(one, change))


def _find_risks(change: PlannedObject, left: Sequence[PlannedObject]) -> Iterator[Risk]:
    for one in list_referred(change, left):
        exists = one.left_out.exists if one.left_out is not None else None
        facts = {**name_object(change.ref), "target": f"{one.ref.gvk.kind} {one.ref.name}", "exists": _STATES[exists]}
        yield REFERS_TO_LEFT_OUT.at(facts=facts)


def add_left_out(changes: Sequence[PlannedObject]) -> tuple[PlannedObject, ...]:
    """Return the changes; each one that is written and refers to a left-out object has a risk for it."""
    left = [change for change in changes if change.operation is Operation.LEFT_OUT]
    if not left:
        return tuple(changes)
    return tuple(
        replace(change, risks=sort_risks((*change.risks, *_find_risks(change, left)))) if change.has_effect else change
        for change in changes
    )
