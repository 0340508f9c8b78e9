"""The approval page: what exactly is approved, by which digest, and every risk of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.engine.risks.model import RiskKind, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.sentences import title
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, ObjectChange, Plan, Resolution
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_change
from applyviz.web.components.plan_counts import count_effects
from applyviz.web.reviews.pages.acknowledgments import present_all_acts
from applyviz.web.reviews.pages.approval_state import link_blocker
from applyviz.web.reviews.pages.live_bar import LiveBar, present_live_bar
from applyviz.web.reviews.pages.object_groups import ObjectItem, present_item
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.web.reviews.pages.plan_names import (
    can_wait,
    name_identity,
    name_manager,
    name_mode,
    name_target,
)
from applyviz.web.reviews.pages.plan_summary import present_impact, present_sentence
from applyviz.web.reviews.pages.review_parts import Blocker
from applyviz.web.reviews.pages.risks import HighRisk, LinkedObject, list_high_risks
from applyviz.web.runs.pages.approval_summary import ApprovalForPage, present_approval
from applyviz.web.runs.pages.scheduled_starts import present_waiting
from applyviz.workflow import policies
from applyviz.workflow.approvals import plan_blockers, quorum, viewed_objects
from applyviz.workflow.approvals.plan_blockers import list_change_requests
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.people import commit_people, humans
from applyviz.workflow.plans.changes import read_masked, ref_of
from applyviz.workflow.plans.live_values import hidden_positions, list_rows
from applyviz.workflow.plans.resolutions import list_made
from applyviz.workflow.policies.risks import gather_risks

LISTED = (
    Operation.REPLACE,
    *DELETIONS,
    Operation.CREATE,
    Operation.UPDATE,
    Operation.WITHHELD,
    Operation.NOT_FOUND,
)


class OperationList(Struct, frozen=True):
    """The objects of one operation."""

    style: Appearance
    items: tuple[ObjectItem, ...]


class ForcedField(Struct, frozen=True):
    """One field that is taken from another manager, and who chose so."""

    name: str
    path: str
    manager: str
    by: str


class AcknowledgedRisk(Struct, frozen=True):
    """One high risk, its objects, who acknowledged it, and its address in the list of risks.

    - `is_open`: an acknowledgment is missing for some object.
    """

    title: str
    objects: tuple[LinkedObject, ...]
    by: tuple[str, ...]
    is_open: bool
    url: str


class Confirmation(Struct, frozen=True):
    """The approval page; `starter` scheduled a run that this approval starts.

    - `has_unplanned`: some objects have errors; their risks are not listed.
    """

    plan: Plan
    target: str
    mode: str | Promise
    manager: str
    identity: str
    count: int
    sentence: str
    impact: tuple[str, ...]
    high_risks: tuple[HighRisk, ...]
    lists: tuple[OperationList, ...]
    blockers: tuple[Blocker, ...]
    revert_note: str
    approval: ApprovalForPage
    can_apply_now: bool
    can_schedule: bool
    starter: str
    can_wait: bool
    must_wait: bool
    can_object: bool
    has_approved: bool
    back_url: str
    form_url: str
    can_comment: bool
    viewed: int
    to_view: int
    forced: tuple[ForcedField, ...]
    acknowledged: tuple[AcknowledgedRisk, ...]
    is_deleting: bool
    closed: tuple[Blocker, ...]
    is_stopped: bool
    opens_at: datetime | None
    live: LiveBar | None
    has_unplanned: bool

    @property
    def can_approve(self) -> bool:
        """Whether this person may approve now."""
        return not self.blockers and not self.has_approved

    @property
    def other_risks(self) -> tuple[HighRisk, ...]:
        """The risks that are not listed with their acknowledgments."""
        listed = {one.title for one in self.acknowledged}
        return tuple(risk for risk in self.high_risks if not (risk.is_high and str(risk.title) in listed))

    @property
    def not_viewed(self) -> int:
        """The number of objects that this person did not view."""
        return self.to_view - self.viewed

    @property
    def can_act(self) -> bool:
        """Whether this person can approve, request changes or comment."""
        return self.can_approve or self.can_object or self.can_comment

    @property
    def first_act(self) -> str:
        """The act that the form proposes: approval where it is possible, else a comment."""
        return "wait" if self.can_approve else "comment" if self.can_comment else ""

    @property
    def may_approve_later(self) -> bool:
        """Whether a refused approval can be tried again: this person has not approved, and the plan has no run."""
        return not self.has_approved and not self.approval.is_spent


def _key_of(row: ObjectChange) -> str:
    return "/".join(ref_of(row).key)


def _is_taken(made: Resolution, fields: Iterable[FieldReason]) -> bool:
    """Whether the manager loses the field; a masked path reads the same in no other plan and counts with its object."""
    path = tuple(made.elements)
    inside = (one for one in fields if one.path[: len(path)] == path or path[: len(one.path)] == one.path)
    return is_masked(made.elements) or any(
        made.manager in {owner.manager for owner in one.owners_before} - {owner.manager for owner in one.owners_after}
        for one in inside
    )


def _list_forced(plan: Plan, changes: Sequence[ObjectChange]) -> tuple[ForcedField, ...]:
    """Return the resolved fields that other managers lose by this plan; of a dropped object they lose none."""
    made = [one for one in list_made(plan).values() if one.choice == ResolutionKind.OVERWRITE]
    resolved = {one.object_key for one in made}
    forcing = (c for c in changes if any(slug == FORCED.slug for slug, _level in c.risk_levels))
    positions = [c.position for c in forcing if _key_of(c) in resolved]
    fields: dict[str, list[FieldReason]] = {}
    for row in list_rows(plan, Q(position__in=positions), with_documents=True) if positions else ():
        fields.setdefault(_key_of(row), []).extend(read_masked(row).fields)
    return tuple(
        ForcedField(one.object_key.rpartition("/")[2], one.path, one.manager, one.by.get_username())
        for one in made
        if one.object_key in fields and _is_taken(one, fields[one.object_key])
    )


def _list_acknowledged(plan: Plan, person: Person, changes: Sequence[ObjectChange]) -> tuple[AcknowledgedRisk, ...]:
    """Each high risk with its objects and who acknowledged it, as far as this person sees the objects."""
    hidden, rows = hidden_positions(plan), {change.position: change for change in changes}
    risks_url = f"{reverse('reviews:show-risks', args=[plan.review.number, plan.number])}#risk-"
    names: dict[RiskKind, dict[str, None]] = {}
    objects: dict[RiskKind, list[LinkedObject]] = {}
    open_kinds = set()
    for (position, kind), act in present_all_acts(plan, person).items():
        if position in hidden:
            continue
        names.setdefault(kind, {}).update(dict.fromkeys(noted.name for noted in act.noted))
        # A risk of the plan as a whole stands at no object.
        row = rows.get(position)
        objects.setdefault(kind, []).extend(
            [LinkedObject(row.name, row.kind, link_change(plan, position))] if row else []
        )
        if not act.noted:
            open_kinds.add(kind)
    return tuple(
        AcknowledgedRisk(
            _(title(kind, RiskLevel.HIGH)),
            tuple(objects[kind]),
            tuple(by),
            kind in open_kinds,
            f"{risks_url}{kind.slug}",
        )
        for kind, by in names.items()
    )


def _list_operations(plan: Plan, changes: Sequence[ObjectChange]) -> tuple[OperationList, ...]:
    lists = []
    for operation in LISTED:
        items = tuple(
            present_item(c, url=link_change(plan, c.position), is_current=False)
            for c in changes
            if c.operation == operation
        )
        if items:
            lists.append(OperationList(OBJECT_STYLES[operation], items))
    return tuple(lists)


def _present_high_risks(plan: Plan, changes: Sequence[ObjectChange], many: int) -> tuple[HighRisk, ...]:
    return list_high_risks(
        changes,
        gather_risks(changes, many=many, unknown=commit_people.find_unknown(plan)),
        url_of=lambda position: link_change(plan, position),
    )


def _describe_way_back(changes: Sequence[ObjectChange]) -> str:
    """Return how much of the plan can be reverted afterwards, in one sentence."""
    gone = sum(c.operation == Operation.DELETE for c in changes)
    if gone:
        return _(
            "The run page can open a review that re-creates the objects from their stored versions. Their status "
            "and anything deleted with them are not restored."
        )
    replaced = sum(c.operation == Operation.REPLACE for c in changes)
    pruned = sum(c.operation == Operation.PRUNE for c in changes)
    parts = [_("The run page can open a review that reverts the run.")]
    if pruned:
        text = ngettext(
            "It re-creates the %(n)d pruned object; its status and anything deleted with it are not restored.",
            "It re-creates the %(n)d pruned objects; their status and anything deleted with them are not restored.",
            pruned,
        )
        parts.append(text % {"n": pruned})
    if replaced:
        text = ngettext(
            "%(n)d object is deleted and re-created; its status and data are lost.",
            "%(n)d objects are deleted and re-created; their status and data are lost.",
            replaced,
        )
        parts.append(text % {"n": replaced})
    return " ".join(parts)


def _list_blockers(plan: Plan, person: Person) -> tuple[Blocker, ...]:
    """Return the blockers, each with a link to resolve it."""
    back, hidden = reverse("reviews:show-plan", args=[plan.review.number, plan.number]), hidden_positions(plan)
    found = plan_blockers.find_plan_blockers(plan, hidden=hidden)
    blockers = [Blocker(sentences.describe(one), link_blocker(plan, one) or back) for one in found]
    own = plan_blockers.find_role_blockers(plan, for_user=person)
    if own:
        return (*blockers, *(Blocker(sentences.describe(one)) for one in own))
    unviewed = plan_blockers.find_unviewed(plan, by=person, hidden=hidden)
    links = (Blocker(sentences.describe(one), link_blocker(plan, one)) for one in unviewed)
    return (*blockers, *links)


def _name_run(run: ApplyRun) -> Blocker:
    text = _("Run %(number)d: %(state)s") % {"number": run.number, "state": run.get_state_display()}
    return Blocker(text, reverse("runs:show-run", args=[run.number]))


def _can_apply_now(plan: Plan, found: Quorum, person: Person) -> bool:
    """Return whether only this person's own approval is missing."""
    mine = humans.list_teams([person])[person.pk]
    is_enough = all(
        need.missing <= (1 if not need.demand.team or need.demand.team in mine else 0) for need in found.needs
    )
    may_apply = access.can(person, Action.APPLY, access.scopes_of(plan.review))
    return is_enough and may_apply and not plan_blockers.find_start_blockers(plan, found.policy)


def _can_object(plan: Plan, person: Person) -> bool:
    has_asked = any(change_request.by_id == person.pk for change_request in list_change_requests(plan))
    is_open = plan.state == PlanState.COMPLETE and plan.review.state == ReviewState.OPEN
    return is_open and not has_asked and access.can(person, Action.APPROVE, access.scopes_of(plan.review))


def present_confirmation(plan: Plan, *, for_user: Person) -> Confirmation:
    """Return the approval page."""
    options = options_from_json(plan.options)
    changes = list_changes(plan)
    found, run = quorum.count_quorum(plan), ApplyRun.objects.filter(plan=plan).first()
    waiting = present_waiting(plan, for_user=for_user)
    starter = waiting.by if waiting is not None and waiting.starts_on_approval else ""
    closed = () if run else plan_blockers.find_start_blockers(plan, found.policy)
    return Confirmation(
        plan,
        target=name_target(plan, options, changes),
        mode=name_mode(options),
        manager=name_manager(options),
        identity=name_identity(plan),
        count=count_effects(plan),
        sentence=present_sentence(plan),
        impact=present_impact(plan),
        high_risks=_present_high_risks(plan, changes, found.policy.many_objects),
        lists=_list_operations(plan, changes),
        blockers=(_name_run(run),) if run else _list_blockers(plan, for_user),
        revert_note=_describe_way_back(changes),
        approval=present_approval(plan, found, run),
        can_wait=can_wait(plan),
        must_wait=found.policy.waits_for_rollout,
        can_apply_now=not starter and _can_apply_now(plan, found, for_user),
        starter=starter,
        can_schedule=waiting is None and access.can(for_user, Action.APPLY, policies.list_scopes(plan)),
        can_object=_can_object(plan, for_user),
        has_approved=any(approval.by_id == for_user.pk for approval in found.approvals),
        form_url=reverse("reviews:confirm-plan", args=[plan.review.number, plan.number]),
        can_comment=access.can(for_user, Action.COMMENT, access.scopes_of(plan.review)),
        viewed=len(viewed_objects.list_viewed(plan, by=for_user)),
        to_view=sum(count for operation, count in plan.counts.items() if operation != Operation.UNCHANGED),
        forced=_list_forced(plan, changes),
        acknowledged=_list_acknowledged(plan, for_user, changes),
        is_deleting=options.is_deleting,
        closed=tuple(Blocker(sentences.describe(one), link_blocker(plan, one)) for one in closed),
        is_stopped=any(isinstance(one, states.STOPS) for one in closed),
        has_unplanned=bool(plan.counts.get(Operation.ERROR)),
        live=present_live_bar(plan, for_user=for_user),
        opens_at=plan_blockers.find_start_opening(found.policy, closed),
        back_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    )
