"""Add to each deletion of a set the risk that a policy counts its kind as critical.

Deleting, pruning and replacing all delete an object. Which kinds are critical where is the policy's choice; the caller
of the planner knows it (`PlanningContext.find_critical`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from applyviz.engine.objects.kinds import DEFINITIONS, SPACES
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.engine.planning.objects.write_risks import name_object
from applyviz.engine.risks.deletions import list_going_kinds
from applyviz.engine.risks.pruning import CRITICAL_KIND
from applyviz.engine.risks.rules import sort_risks


def _add(change: PlannedObject, policy: str) -> PlannedObject:
    reach = "yes" if change.ref.key[:2] in (*SPACES, *DEFINITIONS) else ""
    facts = {**name_object(change.ref), "policy": policy, "operation": change.operation.value, "reach": reach}
    risk = CRITICAL_KIND.at(facts=facts)
    return replace(change, risks=sort_risks((*change.risks, risk)))


def _list_going(change: PlannedObject) -> Iterator[ObjectRef]:
    """Yield what is deleted with an object, itself first; of what belongs to it only the kinds."""
    yield change.ref
    for group, kind in (one for risk in change.risks for one in list_going_kinds(risk)):
        yield ObjectRef(GroupVersionKind(group, "", kind), change.ref.namespace, "")


def add_critical(
    changes: Iterable[PlannedObject], find_critical: Callable[[ObjectRef], str] | None
) -> tuple[PlannedObject, ...]:
    """Return the changes; each deletion of a critical kind has a risk that names the policy.

    - `find_critical` returns the policy that counts the kind of an object as critical, "" for none. The
      dependents that are deleted with the object count too.
    """
    if find_critical is None:
        return tuple(changes)
    deleting = (*DELETIONS, Operation.REPLACE)
    found = []
    for change in changes:
        going = _list_going(change) if change.operation in deleting else ()
        policy = next(filter(None, map(find_critical, going)), "")
        found.append(_add(change, policy) if policy else change)
    return tuple(found)
