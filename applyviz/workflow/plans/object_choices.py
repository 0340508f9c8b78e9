"""Choices about single objects of a plan: each makes the next plan, with a new digest and without approvals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from django.utils.translation import gettext as _

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions, Propagation
from applyviz.engine.requests.replacement import list_object_names, name_object
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.foundation.errors import NotValidError


class ObjectChoice(StrEnum):
    """The choice for an object in the next plan."""

    REPLACE = "replace"
    UPDATE = "update"


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
    """Return options that leave nothing out, as for new manifests."""
    return replace(options, left_out=(), left_out_reason="")


def is_left_out(row: ObjectChange) -> bool:
    """Return whether a plan leaves an object out: that is no failure of its run."""
    return row.operation == Operation.LEFT_OUT
