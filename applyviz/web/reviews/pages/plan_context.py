"""The data of one plan that all tabs share, for one person: rows, approvals, run, risks and actions, each read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from applyviz import moments
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import PlanState
from applyviz.records.models import ApplyRun, ObjectChange, Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.approval_state import ApprovalState, find_approval_state
from applyviz.web.reviews.pages.available_actions import NextActs, present_next_acts
from applyviz.web.runs.pages.scheduled_starts import present_waiting
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.approvals.plan_facts import find_plan_facts
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation import plan_rows
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans.live_values import list_rows, show_rows
from applyviz.workflow.policies.risks import PlanRisk, gather_risks

_ANY = 4_711_000_000


class PlanContext(Struct, frozen=True):
    """One plan for one person.

    - `changes`: the rows without their documents, as visible to this person.
    - `risks`: the one list of risks; empty until the plan is complete.
    - `viewed`: the objects that this person viewed, as keys of `viewed_objects.name_object`.
    """

    plan: Plan
    person: Person
    options: ApplyOptions
    changes: Sequence[ObjectChange]
    found: Quorum
    run: ApplyRun | None
    acts: NextActs
    state: ApprovalState
    risks: tuple[PlanRisk, ...]
    viewed: frozenset[str]

    @property
    def is_complete(self) -> bool:
        """Return whether the plan is finished and can be read as a whole."""
        return self.plan.state == PlanState.COMPLETE

    @property
    def address(self) -> tuple[int, int]:
        """Return the arguments of every address of the plan."""
        return self.plan.review.number, self.plan.number


def link_objects(plan: Plan) -> Callable[[int], str]:
    """Return `link_change` of a plan; it resolves the pattern once, because plans are long."""
    parts = link_change(plan, _ANY).split(str(_ANY))
    return lambda position: str(position).join(parts)


def list_changes(plan: Plan) -> Sequence[ObjectChange]:
    """Return the rows of a plan without their documents; those of a complete one are cached."""
    if plan.state == PlanState.COMPLETE and plan.digest:
        return list(show_rows(plan, plan_rows.read_rows(plan)))
    return list_rows(plan)


def _find_run(plan: Plan) -> ApplyRun | None:
    if moments.is_within():
        return getattr(plan, "run", None)
    return ApplyRun.objects.filter(plan=plan).first()


def _gather_risks(plan: Plan, changes: Sequence[ObjectChange], found: Quorum) -> tuple[PlanRisk, ...]:
    unknown = commit_people.find_unknown(plan)
    return gather_risks(changes, many=found.policy.many_objects, unknown=unknown)


def read_context(plan: Plan, *, for_user: Person) -> PlanContext:
    """Read everything that the frame and the tabs share."""
    changes = list_changes(plan)
    run, facts = _find_run(plan), find_plan_facts([plan], for_user)[plan.pk]
    found = facts.quorum
    is_complete = plan.state == PlanState.COMPLETE
    waiting = present_waiting(plan, for_user=for_user) if is_complete and run is None else None
    acts = present_next_acts(plan, found, run, for_user=for_user, is_scheduled=waiting is not None)
    acts = acts.without_plans(plan, facts.stops)
    return PlanContext(
        plan=plan,
        person=for_user,
        options=options_from_json(plan.options),
        changes=changes,
        found=found,
        run=run,
        acts=acts,
        state=replace(find_approval_state(plan, for_user, facts, acts, run), waiting=waiting),
        risks=_gather_risks(plan, changes, found) if is_complete else (),
        viewed=viewed_objects.list_viewed(plan, by=for_user),
    )
