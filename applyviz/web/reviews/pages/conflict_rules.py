"""Read models of conflict rules: the list of a cluster, and the page that proposes one."""

from __future__ import annotations

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.records.enums import RuleState
from applyviz.records.models import Cluster, ConflictRule, Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pane.resolutions import name_resolution
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import conflict_rules

Text = str | Promise
_TONES = {RuleState.PROPOSED: "warn", RuleState.IN_FORCE: "add", RuleState.DECLINED: "calm", RuleState.REVOKED: "calm"}
_GLYPHS = {RuleState.PROPOSED: "?", RuleState.IN_FORCE: "✓", RuleState.DECLINED: "–", RuleState.REVOKED: "–"}  # noqa: RUF001 drawn
_GROUPS: tuple[tuple[RuleState | None, Text], ...] = (
    (RuleState.PROPOSED, gettext_lazy("Awaiting approval")),
    (RuleState.IN_FORCE, gettext_lazy("In force")),
    (None, gettext_lazy("Ended")),
)


class RuleRow(Struct, frozen=True):
    """One rule, with this person's actions."""

    rule: ConflictRule
    title: str
    tone: str
    glyph: str
    review_url: str
    agree_url: str
    decline_url: str
    revoke_url: str
    waits_for: str


class RuleGroup(Struct, frozen=True):
    """Rules in one state."""

    title: Text
    rows: tuple[RuleRow, ...]


class RulesPage(Struct, frozen=True):
    """The conflict rules of a cluster."""

    cluster: str
    cluster_url: str
    groups: tuple[RuleGroup, ...]


class Proposal(Struct, frozen=True):
    """The initial state of the page that proposes a rule."""

    title: str
    path: str
    kind: str
    name: str
    cluster: str
    back_url: str
    manager: str
    resolution: RuleResolution
    draft: FieldRule


def name_rule(resolution: str, manager: str) -> str:
    """Return the effect of a rule, in a few words."""
    if resolution == RuleResolution.IGNORE:
        return _("Ignore differences")
    return name_resolution(ResolutionKind(resolution), manager or _("any field manager"))


def _present_rule(rule: ConflictRule, person: Person) -> RuleRow:
    where = [rule.cluster.slug, rule.number]
    scopes = conflict_rules.list_scopes(rule.cluster, rule.namespace)
    is_own = rule.proposed_by_id == person.pk
    is_waiting, is_in_force = rule.state == RuleState.PROPOSED, rule.state == RuleState.IN_FORCE
    can_agree = is_waiting and access.can(person, Action.APPROVE, scopes) and not conflict_rules.is_own(rule, person)
    can_decline = can_agree or (is_waiting and is_own and access.can(person, Action.RESOLVE, scopes))
    can_revoke = is_in_force and access.can(person, Action.ACKNOWLEDGE, scopes)
    waits = _("An approver other than the proposer must approve it.") if is_waiting and not can_agree else ""
    state = RuleState(rule.state)
    plan = rule.plan
    return RuleRow(
        rule,
        title=name_rule(rule.resolution, rule.manager),
        tone=_TONES[state],
        glyph=_GLYPHS[state],
        review_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
        agree_url=reverse("clusters:agree-rule", args=where) if can_agree else "",
        decline_url=reverse("clusters:decline-rule", args=where) if can_decline else "",
        revoke_url=reverse("clusters:revoke-rule", args=where) if can_revoke else "",
        waits_for=waits,
    )


def present_rules(cluster: Cluster, *, for_user: Person) -> RulesPage:
    """Return all rules of a cluster, those that await approval first."""
    rules = list(conflict_rules.list_rules(cluster, for_user=for_user))
    ended = (RuleState.DECLINED, RuleState.REVOKED)
    groups = []
    for state, title in _GROUPS:
        chosen = [r for r in rules if (r.state == state if state else r.state in ended)]
        if chosen:
            groups.append(RuleGroup(title, tuple(_present_rule(rule, for_user) for rule in chosen)))
    return RulesPage(cluster.name, reverse("clusters:show-cluster", args=[cluster.slug]), tuple(groups))


def _present_proposal(plan: Plan, change: engine.PlannedObject, draft: FieldRule, position: int) -> Proposal:
    return Proposal(
        title=name_rule(draft.resolution, draft.manager),
        path=render_path(draft.path),
        kind=draft.kind,
        name=change.ref.name,
        cluster=plan.target.cluster.name,
        back_url=link_change(plan, position),
        manager=draft.manager,
        resolution=draft.resolution,
        draft=draft,
    )


def present_proposal(
    plan: Plan, change: engine.PlannedObject, position: int, *, answer: int | None, field: int | None
) -> Proposal:
    """Return the proposal of a rule for a resolution (`answer`), or for a field to ignore (`field`).

    - Raises `NotVisibleError` when the plan has no such resolution or field.
    """
    ref = change.ref
    if answer is not None and answer < len(change.answers):
        made = change.answers[answer]
        resolution, path, manager = RuleResolution(made.resolution.value), made.path, made.manager
    elif field is not None and field < len(change.fields):
        resolution, path, manager = RuleResolution.IGNORE, change.fields[field].path, ""
    else:
        raise NotVisibleError(_("no resolution or field selected"))
    draft = FieldRule(ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name, path, resolution, manager)
    return _present_proposal(plan, change, draft, position)
