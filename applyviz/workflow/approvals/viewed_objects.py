"""Viewed marks of a person: one per object of a plan, stored with the digest.

A re-plan with the same digest keeps the marks; a plan with a different effect starts without any. Marks are private
and not part of the audit trail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from applyviz import clock, moments
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.models import ObjectChange, Plan, ViewedObject
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import plan_rows
from applyviz.workflow.foundation.access import Action, Person, Visitor, require, scopes_of
from applyviz.workflow.plans.changes import ref_of
from applyviz.workflow.plans.live_values import hidden_positions


def name_object(row: ObjectChange) -> str:
    """Return the key of an object in viewed marks, comments and resolutions."""
    return "/".join(ref_of(row).key)


def _can_be_viewed(row: ObjectChange, hidden: Collection[int]) -> bool:
    return row.operation != Operation.UNCHANGED or row.position in hidden


def record_viewed(row: ObjectChange, plan: Plan, *, by: Person) -> bool:
    """Mark an object as viewed; return True the first time.

    - Records nothing while the plan has no digest, and nothing for an object that the reader sees as unchanged.
    - Records an object whose state is hidden from the reader in every case: a missing mark would reveal "unchanged".
    - Two concurrent requests leave one mark.
    """
    require(by, Action.VIEW, scopes_of(plan.review))
    if not plan.digest or not _can_be_viewed(row, hidden_positions(plan)):
        return False
    key = name_object(row)
    if ViewedObject.objects.filter(digest=plan.digest, by=by, object_key=key).exists():
        return False
    tick = ViewedObject(digest=plan.digest, by=by, object_key=key, at=clock.host_now())
    ViewedObject.objects.bulk_create([tick], ignore_conflicts=True)
    return True


def record_all_viewed(rows: Iterable[ObjectChange], plan: Plan, *, by: Person) -> None:
    """Tick objects off together, as `record_viewed` does for one."""
    require(by, Action.VIEW, scopes_of(plan.review))
    if not plan.digest:
        return
    now, hidden = clock.host_now(), hidden_positions(plan)
    ticks = [
        ViewedObject(digest=plan.digest, by=by, object_key=name_object(row), at=now)
        for row in rows
        if _can_be_viewed(row, hidden)
    ]
    ViewedObject.objects.bulk_create(ticks, ignore_conflicts=True)


def forget_viewed(rows: Iterable[ObjectChange], plan: Plan, *, by: Person) -> None:
    """Take the ticks of objects away; what the person has to open before approving is open again."""
    require(by, Action.VIEW, scopes_of(plan.review))
    keys = [name_object(row) for row in rows]
    ViewedObject.objects.filter(digest=plan.digest, by=by, object_key__in=keys).delete()


_BY_PERSON = "objects viewed of plan"
_VIEWED = WrittenQuery(
    lambda digest, by: ViewedObject.objects.filter(digest=digest, by=by).values_list("object_key", flat=True)
)


def list_viewed(plan: Plan, *, by: Visitor) -> frozenset[str]:
    """Return the objects that a person has viewed, as keys of `name_object`."""
    if not plan.digest or by.pk is None:
        return frozenset()
    key = (plan.digest, by.pk)
    return moments.read_on_page((_BY_PERSON, key), lambda: frozenset(_VIEWED.ask(*key)))


def read_together(plans: Iterable[Plan], *, by: Person) -> None:
    """Read what a person has viewed of many plans with one statement, for what the page asks about each of them."""

    def read(missing: list[tuple[str, int]]) -> dict[tuple[str, int], frozenset[str]]:
        viewed: dict[tuple[str, int], set[str]] = {key: set() for key in missing}
        rows = ViewedObject.objects.filter(digest__in=[digest for digest, _ in missing], by=by)
        for digest, name in rows.values_list("digest", "object_key"):
            viewed[digest, by.pk].add(name)
        return {key: frozenset(names) for key, names in viewed.items()}

    moments.read_together(_BY_PERSON, ((plan.digest, by.pk) for plan in plans if plan.digest), read)


def must_be_viewed(row: ObjectChange) -> bool:
    """Return whether an approver must view this object: it has a high risk, and nothing blocks it."""
    return row.highest_risk == RiskLevel.HIGH and row.has_effect and row.operation != Operation.BLOCKED


def _list_high(plan: Plan) -> list[ObjectChange]:
    kept = plan_rows.find_kept(plan)
    if kept is not None:
        return [row for row in kept if must_be_viewed(row)]
    rows = plan.changes.filter(highest_risk=RiskLevel.HIGH.value, has_effect=True).defer(
        "document", "found_risks", "sealed"
    )
    return list(rows.exclude(operation=Operation.BLOCKED.value))


def find_unopened(plan: Plan, *, by: Visitor) -> tuple[ObjectChange, ...]:
    """Return the high-risk objects that a person has not viewed; an approver must view each of them."""
    found = _list_high(plan)
    seen = list_viewed(plan, by=by) if found else frozenset()
    return tuple(row for row in found if name_object(row) not in seen)
