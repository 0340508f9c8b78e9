"""Conflicts of an object: resolution options with their results, given resolutions, manifest edits and rules.

The engine calculated everything when the object was planned (`change.open_fields`, `.answers`,
`.blocked_removals`); this module adds words and addresses. A person who may not resolve sees the same without the
controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from django.db.models import Count
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct, field

from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.paths import FieldPath, element_value, fields, render_path
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolutionOption, ResolvedField
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.restarts import count_restarting
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan, Resolution
from applyviz.web.components.owners import OwnerChip, present_owners
from applyviz.web.components.values import ABSENT, Shown, show_value
from applyviz.web.reviews.pane.blocked_removals import BlockedRemovalRow, present_blocked_removal
from applyviz.web.reviews.pane.conflicting import explain_impossible, name_conflicting, name_opponent
from applyviz.web.reviews.pane.equal_values import describe_equal_values
from applyviz.web.reviews.pane.manifest_patches import PatchView, present_patch
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import resolutions, reviews
from applyviz.workflow.plans.applied_manifests import AppliedManifests
from applyviz.workflow.plans.live_values import hidden_positions

Text = str | Promise
RESOLUTION_WORDS: dict[ResolutionKind, Text] = {
    ResolutionKind.OVERWRITE: gettext_lazy("Overwrite (force)"),
    ResolutionKind.GIVE_UP: gettext_lazy("Give up the field"),
    ResolutionKind.SHARE: gettext_lazy("Share (keep live value)"),
}
_MEANINGS: dict[ResolutionKind, Text] = {
    ResolutionKind.OVERWRITE: gettext_lazy(
        "Your value is applied; %(manager)s loses the field.%(pods)s The next plan has a high risk: fields forced."
    ),
    ResolutionKind.GIVE_UP: gettext_lazy("The live value stays with %(manager)s; you no longer set the field.%(pods)s"),
    ResolutionKind.SHARE: gettext_lazy(
        "You and %(manager)s both own the live value.%(pods)s The next change by either one conflicts."
    ),
}


class ResolutionCard(Struct, frozen=True):
    """One resolution option: its result, its effect on the body and the manifest, or why it is impossible."""

    resolution: str
    key: int
    title: Text
    about: Text
    value: Shown | None
    owners: tuple[OwnerChip, ...]
    sends: Text
    is_forced: bool
    impossible: str
    patch: PatchView | None

    @property
    def tone(self) -> str:
        """Return the tone of its value: a change only when it is one."""
        return "will" if self.is_forced else "same"


class ConflictRow(Struct, frozen=True):
    """One open conflict of a field, with the name of its choice in the form; `equality` if the values are equal."""

    index: int
    path: str
    managers: str
    cards: tuple[ResolutionCard, ...]
    equality: str = ""


class AnswerRow(Struct, frozen=True):
    """The resolution of a field: by whom and when, or by which rule; its manifest edit, and how to undo it."""

    path: str
    title: Text
    manager: str
    by: str = ""
    at: object = None
    note: str = ""
    plan_number: int | None = None
    rule: int = 0
    rule_url: str = ""
    undo_url: str = ""
    propose_url: str = ""
    patch: PatchView | None = None


class ScopeChoice(Struct, frozen=True):
    """A selection of several fields: its query and its name for people."""

    query: tuple[tuple[str, str], ...]
    text: Text

    @property
    def value(self) -> str:
        """The scope as one value of a form."""
        return "&".join(f"{name}={value}" for name, value in self.query)


class ConflictPage(Struct, frozen=True):
    """The conflicts of one object; `form_url` is empty for a person who may not resolve.

    - `applied`: the fields that a run of this installation last applied to the object, masked.
    - `has_future_record`: last-applied is shown without the fields that the manifest gives up, as the plan writes it.
    """

    conflict_rows: Mapping[str, ConflictRow] = field(default_factory=dict)
    answers: tuple[AnswerRow, ...] = ()
    blocked_removals: Mapping[str, BlockedRemovalRow] = field(default_factory=dict)
    form_url: str = ""
    everywhere_url: str = ""
    replan_url: str = ""
    scopes: tuple[ScopeChoice, ...] = ()
    patch: PatchView | None = None
    is_lost: bool = False
    propose_url: str = ""
    applied: FieldFinder | None = None
    has_future_record: bool = False

    @property
    def open_count(self) -> int:
        """Return how many fields are unresolved."""
        return len(self.conflict_rows)

    @property
    def has_many(self) -> bool:
        """Return whether several conflicts are open, so that the button should stay visible."""
        return self.open_count > 1

    @property
    def resolved_paths(self) -> frozenset[str]:
        """Return the resolved fields."""
        return frozenset(answer.path for answer in self.answers)


NOTHING = ConflictPage()


def name_resolution(resolution: ResolutionKind, manager: str) -> str:
    """Return a short name of a resolution; `manager` is the conflicting manager."""
    return str(RESOLUTION_WORDS[resolution]) % {"manager": manager}


def _name_field(path: FieldPath) -> str:
    named = element_value(path[-1])
    return " ".join(map(str, named.values())) if isinstance(named, Mapping) else str(named)


def _describe_body(path: FieldPath, option: ResolutionOption, shown: Shown | None) -> str:
    name = _name_field(path)
    if option.edit is not None and option.edit.is_removed:
        return _("the body without %(field)s") % {"field": name}
    text = shown.text if shown is not None and not shown.is_long else "…"
    return f"{name}: {text}"


def _describe_restart(resolution: ResolutionKind, pods: int) -> str:
    """Return what a resolution means for the pods of a workload: only another value in the template restarts them."""
    if not pods:
        return ""
    if resolution is not ResolutionKind.OVERWRITE:
        return " " + _("The field restarts no pods.")
    return " " + ngettext("%(n)d pod restarts.", "%(n)d pods restart.", pods) % {"n": pods}


def present_resolution(
    path: FieldPath, option: ResolutionOption, *, key: int, manager: str, you: str, patch_url: str, pods: int = 0
) -> ResolutionCard:
    """Return one resolution option with its result; `pods` restart when the field changes."""
    shown = show_value(option.value) if option.is_present else show_value(ABSENT)
    facts = {"manager": manager, "pods": _describe_restart(option.resolution, pods)}
    return ResolutionCard(
        resolution=option.resolution.value,
        key=key,
        title=name_resolution(option.resolution, manager),
        about=str(_MEANINGS[option.resolution]) % facts,
        value=shown,
        owners=present_owners(option.owners, you=you),
        sends=_describe_body(path, option, shown),
        is_forced=option.resolution is ResolutionKind.OVERWRITE,
        impossible=explain_impossible(option, you=you),
        patch=present_patch(option.patch, url=patch_url),
    )


def _count_restarting(change: engine.PlannedObject, path: FieldPath) -> int:
    live = change.versions.live  # how many pods restart when a field of the live object changes
    return count_restarting(change.ref, live) if live is not None and path[:2] == fields("spec", "template") else 0


def list_conflicts(
    change: engine.PlannedObject, *, you: str, link_patch: Callable[[int, int], str] | None = None
) -> dict[str, ConflictRow]:
    """Return the open conflicts with their options, by field; `link_patch(index, key)` is the address of a patch."""
    found, named = {}, name_conflicting(change, you=you)
    for index, conflicting in enumerate(change.open_fields):
        managers, cards = ", ".join(named.get(conflicting.path, conflicting.managers)), []
        pods = _count_restarting(change, conflicting.path)
        for key, option in enumerate(conflicting.options, 1):
            who = {"manager": managers, "you": you, "patch_url": link_patch(index, key) if link_patch else ""}
            cards.append(present_resolution(conflicting.path, option, key=key, pods=pods, **who))
        path, equality = render_path(conflicting.path), describe_equal_values(change, conflicting.path)
        found[path] = ConflictRow(index, path, managers, tuple(cards), equality)
    return found


def _present_removals(change: engine.PlannedObject, *, you: str) -> dict[str, BlockedRemovalRow]:
    return {render_path(r.path): present_blocked_removal(r, you=you) for r in change.blocked_removals}


class ConflictReader:
    """The facts that all objects of a plan share when one person reads their conflicts; each is read once."""

    def __init__(self, plan: Plan, person: Person) -> None:
        self.plan, self.applied = plan, AppliedManifests(plan)
        self.options = options_from_json(plan.options)
        self.you = self.options.field_manager
        is_complete = plan.state == PlanState.COMPLETE
        self.may_propose = is_complete and access.can(person, Action.RESOLVE, access.scopes_of(plan.review))
        self.may_resolve = reviews.can_be_followed(plan) and self.may_propose

    @cached_property
    def made(self) -> Mapping[tuple[str, str], Resolution]:
        """The resolutions and their authors, by object and field."""
        return resolutions.list_made(self.plan)

    @cached_property
    def blocked(self) -> Mapping[tuple[str, str], int]:
        """The number of blocked objects of each group and kind that the person may see."""
        rows = self.plan.changes.filter(operation=Operation.BLOCKED.value)
        rows = rows.exclude(position__in=hidden_positions(self.plan))
        counted = rows.order_by().values("group", "kind").annotate(n=Count("pk"))
        return {(row["group"], row["kind"]): row["n"] for row in counted}

    def present(self, position: int, change: engine.PlannedObject) -> ConflictPage:
        """Return the conflicts of one object; for an object without any, only the link to a conflict rule."""
        if change.open_fields or change.conflicts or change.answers or change.blocked_removals:
            return _ConflictPresenter(self, position, change).present()
        here = [self.plan.review.number, self.plan.number, position]
        url = reverse("reviews:propose-rule", args=here) if self.may_propose else ""
        return ConflictPage(propose_url=url, applied=self.applied.find_for(position, change))


class _ConflictPresenter:
    """The conflicts of one object of a plan, with texts and addresses."""

    def __init__(self, shared: ConflictReader, position: int, change: engine.PlannedObject) -> None:
        self._shared = shared
        self._plan = shared.plan
        self._position = position
        self._change = change
        self._here = [shared.plan.review.number, shared.plan.number, position]
        self._you = shared.you
        self._may_propose = shared.may_propose
        self.may_resolve = shared.may_resolve

    def _link_patch(self, of: str, index: int, option: int = 0) -> str:
        return reverse("reviews:show-patch", args=[*self._here, of, index, option])

    def _link_edited(self, of: str, index: int) -> str:
        return reverse("reviews:show-edited", args=[*self._here, of, index])

    def _link_undo(self, index: int) -> str:
        if not self.may_resolve:
            return ""
        return reverse("reviews:undo-resolution", args=[self._plan.review.number, self._plan.number, index])

    def _present_answer(self, index: int, answer: ResolvedField, decided: tuple[int, JSONObject] | None) -> AnswerRow:
        key = "/".join(self._change.ref.key)
        made = decided and self._shared.made.get((key, render_path(tuple(decided[1]["path"]))))
        path = render_path(answer.path)
        cluster = self._plan.target.cluster.slug
        propose = f"{reverse('reviews:propose-rule', args=self._here)}?answer={index}"
        return AnswerRow(
            path=path,
            title=name_resolution(answer.resolution, answer.manager),
            manager=name_opponent(answer.manager, you=self._you),
            by=made.by.get_username() if made else "",
            at=made.created_at if made else None,
            note=made.note if made else "",
            plan_number=made.plan.number if made else None,
            rule=answer.rule,
            rule_url=f"{reverse('clusters:list-rules', args=[cluster])}#rule-{answer.rule}" if answer.rule else "",
            undo_url=self._link_undo(decided[0]) if decided else "",
            propose_url=propose if self._may_propose and not answer.rule else "",
            patch=present_patch(
                answer.patch,
                url=self._link_patch("answers", index),
                edited_url=self._link_edited("answers", index),
            ),
        )

    def list_answers(self) -> tuple[AnswerRow, ...]:
        key = list(self._change.ref.key)  # its resolutions are in the order of the answers that people gave
        decided = ((index, one) for index, one in enumerate(self._plan.decisions) if one["object"] == key)
        seen, rows = set(), []
        for index, answer in enumerate(self._change.answers):
            own = None if answer.rule else next(decided, None)
            if answer.path not in seen:
                seen.add(answer.path)
                rows.append(self._present_answer(index, answer, own))
        return tuple(rows)

    def list_scopes(self) -> tuple[ScopeChoice, ...]:
        """Return the selections to resolve at once: in this object, by field manager, by kind, in the whole plan."""
        managers = dict.fromkeys(m for one in self._change.open_fields for m in one.managers)
        here, ref = str(self._position), self._change.ref
        choices = []
        for manager in managers:
            named = {"manager": name_opponent(manager, you=self._you)}
            if len(managers) > 1 or len(self._change.open_fields) > 1:
                text = _("all conflicts with %(manager)s in this object") % named
                choices.append(ScopeChoice((("position", here), ("manager", manager)), text))
            text = _("all conflicts with %(manager)s in the plan") % named
            choices.append(ScopeChoice((("manager", manager),), text))
        return (*choices, *self._list_wide(ref))

    def _list_wide(self, ref: ObjectRef) -> tuple[ScopeChoice, ...]:
        counts = self._shared.blocked
        of_kind, total = counts.get((ref.gvk.group, ref.gvk.kind), 0), sum(counts.values())
        text = ngettext(
            "all conflicts of kind %(kind)s: %(count)d object",
            "all conflicts of kind %(kind)s: %(count)d objects",
            of_kind,
        )
        whole = ngettext(
            "all conflicts of the plan: %(count)d object", "all conflicts of the plan: %(count)d objects", total
        )
        kind = f"{ref.gvk.group}/{ref.gvk.kind}"
        return (
            ScopeChoice((("kind", kind),), text % {"kind": ref.gvk.kind, "count": of_kind}),
            ScopeChoice((), whole % {"count": total}),
        )

    def present(self) -> ConflictPage:
        change = self._change
        conflict_rows = list_conflicts(
            change, you=self._you, link_patch=lambda index, key: self._link_patch("open", index, key)
        )
        answers = self.list_answers()
        is_lost = bool(change.conflicts) and not conflict_rows  # only planning it again gives it options
        review, number = self._plan.review.number, self._plan.number
        given = self._shared.options.list_handovers(change.ref.key)
        return ConflictPage(
            conflict_rows=conflict_rows,
            answers=answers,
            blocked_removals=_present_removals(change, you=self._you),
            form_url=reverse("reviews:resolve-conflict", args=self._here) if self.may_resolve and conflict_rows else "",
            everywhere_url=reverse("reviews:resolve-everywhere", args=[review, number]) if self.may_resolve else "",
            replan_url=reverse("reviews:replan", args=[review, number]) if self.may_resolve else "",
            scopes=self.list_scopes() if self.may_resolve and conflict_rows else (),
            patch=present_patch(change.patch, url=self._link_patch("all", 0), edited_url=self._link_edited("all", 0)),
            is_lost=is_lost,
            propose_url=reverse("reviews:propose-rule", args=self._here) if self._may_propose else "",
            applied=self._shared.applied.find_for(self._position, change),
            has_future_record=bool(given) and change.versions.last_applied is not None,
        )


def present_conflicts(plan: Plan, person: Person, position: int, change: engine.PlannedObject) -> ConflictPage:
    """Return the conflicts of one object of a plan."""
    return _ConflictPresenter(ConflictReader(plan, person), position, change).present()


def show_conflicts(change: engine.PlannedObject, *, you: str) -> ConflictPage:
    """Return the conflicts of an object without a plan: every option is shown, and none can be chosen."""
    return ConflictPage(list_conflicts(change, you=you), blocked_removals=_present_removals(change, you=you))


def is_edited(change: engine.PlannedObject) -> bool:
    """Return whether resolutions or rules changed the request of an object, beyond force."""
    return any(answer.edit is not None for answer in change.answers)
