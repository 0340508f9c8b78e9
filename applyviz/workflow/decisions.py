"""Decisions on conflicts: kept with who made them, carried by every later plan of the review.

A plan is immutable, so a decision makes the next one. It answers one field and one field manager; a
conflict that nobody saw is never forced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.decisions import Decision as EngineDecision
from applyviz.engine.planning.decisions import Way
from applyviz.engine.planning.plan import Operation
from applyviz.records.enums import AuditAction
from applyviz.records.models import Decision, Plan
from applyviz.workflow import access, audit, changes
from applyviz.workflow.access import Action, Person
from applyviz.workflow.errors import NotPossibleError


@dataclass(frozen=True, slots=True)
class Choice:
    """The way out of one conflict: which object, which field, who owns it now."""

    ref: ObjectRef
    path: FieldPath
    manager: str
    way: Way


def choose_everywhere(plan: Plan, way: Way, *, manager: str = "") -> list[Choice]:
    """The same way out for every open conflict of a plan, or for those with one field manager."""
    chosen = []
    for row in plan.changes.filter(operation=Operation.REFUSED.value):
        change = changes.read_masked(row)
        chosen += [
            Choice(change.ref, conflict.path, conflict.manager, way)
            for conflict in change.conflicts
            if manager in ("", conflict.manager)
        ]
    return chosen


def _check_open(plan: Plan, choices: Iterable[Choice]) -> None:
    found = {(c.ref.key, c.path, c.manager) for c in choose_everywhere(plan, Way.TAKE_OVER)}
    for choice in choices:
        if (choice.ref.key, choice.path, choice.manager) not in found:
            where = f"{choice.ref} {render_path(choice.path)}"
            raise NotPossibleError(f"{where} has no open conflict with {choice.manager}; look at the plan again")


def _to_json(choice: Choice) -> JSONObject:
    return {
        "object": list(choice.ref.key),
        "path": list(choice.path),
        "manager": choice.manager,
        "way": choice.way.value,
    }


def _record(plan: Plan, ref: ObjectRef, choices: list[Choice], *, by: Person, note: str) -> None:
    Decision.objects.bulk_create(
        Decision(
            review=plan.review,
            plan=plan,
            by=by,
            object_key="/".join(ref.key),
            path=render_path(choice.path),
            elements=list(choice.path),
            manager=choice.manager,
            choice=choice.way.value,
            note=note,
            created_at=timezone.now(),
        )
        for choice in choices
    )
    audit.record(
        AuditAction.DECISION_MADE,
        by=by,
        about=audit.Subject(cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, ref=ref),
        detail={"note": note, "fields": [[c.way.value, c.manager, render_path(c.path)] for c in choices]},
    )


def record_choices(plan: Plan, choices: Iterable[Choice], *, by: Person, note: str = "") -> list[JSONObject]:
    """Keep decisions on the open conflicts of a plan; gives all that the next plan carries out.

    - A later decision on a field takes the place of the one before.
    - Raises `NotPossibleError` for a conflict that the plan does not have, or no longer.
    """
    choices = list(choices)
    in_force = {(tuple(d["object"]), tuple(d["path"])): d for d in plan.decisions}
    if not choices:
        return list(in_force.values())
    access.require(by, Action.DECIDE, access.places_of(plan.review))
    _check_open(plan, choices)
    for ref in dict.fromkeys(choice.ref for choice in choices):
        _record(plan, ref, [choice for choice in choices if choice.ref == ref], by=by, note=note)
    for choice in choices:
        in_force[choice.ref.key, choice.path] = _to_json(choice)
    return list(in_force.values())


def undo_decision(plan: Plan, place: int, *, by: Person) -> list[JSONObject]:
    """What the next plan carries out without one decision of this plan; the decision itself stays on record.

    - Raises `NotPossibleError` when the plan carries out no such decision.
    """
    access.require(by, Action.DECIDE, access.places_of(plan.review))
    if not 0 <= place < len(plan.decisions):
        raise NotPossibleError(f"plan {plan.number} carries out no decision {place}")
    undone = plan.decisions[place]
    group, kind, namespace, name = undone["object"]
    ref = ObjectRef(GroupVersionKind(group, "", kind), namespace, name)
    audit.record(
        AuditAction.DECISION_MADE,
        by=by,
        about=audit.Subject(cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, ref=ref),
        detail={"undone": [[undone["way"], undone["manager"], render_path(tuple(undone["path"]))]]},
    )
    return [*plan.decisions[:place], *plan.decisions[place + 1 :]]


def read_decisions(plan: Plan) -> dict[tuple[str, str, str, str], tuple[EngineDecision, ...]]:
    """The decisions that a plan carries out, by object, as the engine takes them."""
    found: dict[tuple[str, str, str, str], tuple[EngineDecision, ...]] = {}
    for entry in plan.decisions:
        group, kind, namespace, name = entry["object"]
        decision = EngineDecision(tuple(entry["path"]), entry["manager"], Way(entry["way"]))
        found[group, kind, namespace, name] = (*found.get((group, kind, namespace, name), ()), decision)
    return found
