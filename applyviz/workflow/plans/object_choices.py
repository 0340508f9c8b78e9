"""Choices about objects and addons of a plan: each makes the next plan, with a new digest and without approvals."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from django.utils.translation import gettext as _

from applyviz.engine.channels.model import AddonPlan
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions, Propagation, PruneMode
from applyviz.engine.requests.replacement import list_object_names, name_object
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow import policies
from applyviz.workflow.foundation.errors import NotValidError


class ObjectChoice(StrEnum):
    """The choice for an object in the next plan."""

    REPLACE = "replace"
    UPDATE = "update"


class AddonChoice(StrEnum):
    """The choice for an addon of a kOps channel in the next plan."""

    PLAN = "plan"
    SKIP = "skip"
    MARK = "mark"
    DO_NOT_MARK = "do-not-mark"


def _with(names: Iterable[str], ref: ObjectRef, *, is_in: bool) -> tuple[str, ...]:
    """Return names with that of an object, or without it."""
    own = list_object_names(ref)
    others = tuple(other for other in names if other not in own)
    return (*others, own[0]) if is_in else others


def choose(
    plan: Plan, refs: Iterable[ObjectRef], choice: ObjectChoice, propagation: Propagation | None = None
) -> ApplyOptions:
    """Return the options of the next plan after a choice about some objects of this one.

    - `propagation`: how objects are deleted, if the choice says so; it holds for all deletions of the plan.
    """
    options = options_from_json(plan.options)
    objects = options.replacement.objects
    for ref in refs:
        objects = _with(objects, ref, is_in=choice is ObjectChoice.REPLACE)
    chosen = replace(options.replacement, objects=objects)
    return replace(options, replacement=chosen, propagation=propagation or options.propagation)


def leave_out(plan: Plan, refs: Iterable[ObjectRef], reason: str) -> ApplyOptions:
    """Return the options of the next plan, which leaves these objects out, and only these.

    - Raises `NotValidError` without a reason, and if nothing would be left to apply.
    """
    names = tuple(dict.fromkeys(name_object(ref) for ref in refs))
    if names and not reason.strip():
        raise NotValidError(_("say why these objects are left out"))
    if len(names) >= plan.changes.count():
        raise NotValidError(_("every object would be left out: close the review instead"))
    return replace(options_from_json(plan.options), left_out=names, left_out_reason=reason.strip() if names else "")


def take_back(options: ApplyOptions) -> ApplyOptions:
    """Return options without choices about single objects and addons, as for new manifests."""
    return replace(options, left_out=(), left_out_reason="", addons_anyway=(), marking_addons=())


def find_kept_kinds(plan: Plan) -> tuple[str, ...]:
    """Return the kinds (`group/Kind`) of the objects that a plan would prune, and that a policy keeps."""
    if options_from_json(plan.options).prune.mode not in (PruneMode.ALLOWLIST, PruneMode.APPLYSET):
        return ()
    positions = [one.position for one in policies.find_kept([plan])[plan.pk]]
    rows = plan.changes.filter(position__in=positions, operation=Operation.PRUNE) if positions else ()
    return tuple(sorted({f"{row.group or 'core'}/{row.kind}" for row in rows}))


def keep_kinds(plan: Plan) -> ApplyOptions:
    """Return the options of the next plan, which prunes no object of the kinds that policies keep in this one."""
    options = options_from_json(plan.options)
    kinds = dict.fromkeys((*options.prune.excepted, *find_kept_kinds(plan)))
    return replace(options, prune=replace(options.prune, excepted=tuple(kinds)))


def list_addon_choices(one: AddonPlan) -> tuple[AddonChoice, ...]:
    """Return what a person can choose for an addon."""
    found = [AddonChoice.PLAN] if one.can_be_planned else [AddonChoice.SKIP] if one.is_anyway else []
    if one.marks_nodes and one.nodes:
        found.append(AddonChoice.DO_NOT_MARK if one.marked else AddonChoice.MARK)
    return tuple(found)


def _choose_name(names: tuple[str, ...], name: str, *, is_in: bool) -> tuple[str, ...]:
    others = tuple(other for other in names if other != name)
    return (*others, name) if is_in else others


def choose_addon(plan: Plan, name: str, choice: AddonChoice) -> ApplyOptions:
    """Return the options of the next plan: an addon that kOps skips is applied, or skipped again, or marks nodes.

    - Raises `NotValidError` for an addon for which the plan has no such choice.
    """
    options = options_from_json(plan.options)
    addons = options.channel.addons if options.channel is not None else ()
    if not any(one.addon.name == name and choice in list_addon_choices(one) for one in addons):
        raise NotValidError(_("choose an addon of this plan"))
    if choice in (AddonChoice.MARK, AddonChoice.DO_NOT_MARK):
        marking = _choose_name(options.marking_addons, name, is_in=choice is AddonChoice.MARK)
        return replace(options, marking_addons=marking)
    return replace(options, addons_anyway=_choose_name(options.addons_anyway, name, is_in=choice is AddonChoice.PLAN))


def is_left_out(row: ObjectChange) -> bool:
    """Return whether a plan leaves an object out: that is no failure of its run."""
    return row.operation == Operation.LEFT_OUT
