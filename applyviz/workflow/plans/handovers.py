"""Fields that the manifest of an object gives up or takes, chosen by a person, as the next plan of the review.

A choice is part of the plan's options: later plans keep it until a person takes it back. Fields of Secrets are only
given up, and only those that the manifest sets: what is live there is not for every author.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.known_names import LAST_APPLIED_PATH, NAMING
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.ownership.managed_fields import APPLY, UPDATE, read_owners
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests import takeover
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Handover, TakenField
from applyviz.engine.schema.walk import list_leaves
from applyviz.records.models import Plan
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.changes import find_root


class LiveField(Struct, frozen=True):
    """A field that others wrote and that the manifest sets otherwise, or not at all (`is_new`)."""

    path: FieldPath
    managers: tuple[str, ...]
    live: JSONValue
    manifest: JSONValue = None
    is_new: bool = False


def list_given_up(plan: Plan, ref: ObjectRef) -> tuple[Handover, ...]:
    """Return the fields of an object that the manifest gives up in a plan."""
    return options_from_json(plan.options).list_handovers(ref.key)


def list_taken(plan: Plan, ref: ObjectRef) -> tuple[TakenField, ...]:
    """Return the fields of an object that the manifest takes in a plan."""
    return tuple(one for one in options_from_json(plan.options).list_taken(ref.key) if one.is_live)


def _is_applied(owner: Owner, options: ApplyOptions) -> bool:
    return owner.manager == options.field_manager and owner.operation == APPLY and not owner.subresource


def _is_given_up(owner: Owner, managers: Collection[str]) -> bool:
    """Return whether the fields of an owner move to the manager of the plan before it applies."""
    return owner.manager in managers and owner.operation == UPDATE and not owner.subresource


def _list_dropped(change: PlannedObject, options: ApplyOptions) -> Iterator[FieldPath]:
    """Yield the fields that the manifest no longer sets, and that this apply would therefore remove."""
    live, manifest = change.versions.live, change.versions.in_manifest
    if live is None or names_secret(change.ref.gvk.kind):
        return
    owners, given_up = read_owners(live), takeover.find_managers(live, options)
    for path in list_leaves(find_root(change.ref.gvk), live):
        if path in NAMING or path == LAST_APPLIED_PATH or manifest.find(path) is not ABSENT:
            continue
        if options.mode is ApplyMode.CLIENT:
            is_own = change.versions.in_last_applied.find(path) is not ABSENT
        else:
            is_own = any(_is_applied(o, options) or _is_given_up(o, given_up) for o in owners.of(path))
        if is_own:
            yield path


def list_fields(plan: Plan, change: PlannedObject) -> tuple[FieldPath, ...]:
    """Return the fields that the manifest of an object may give up.

    - Those that it gives up already, those that it sets, and those that it no longer sets.
    """
    leaves = list_leaves(find_root(change.ref.gvk), change.versions.manifest or {})
    given = [one.path for one in list_given_up(plan, change.ref)]
    dropped = _list_dropped(change, options_from_json(plan.options))
    return tuple(dict.fromkeys((*given, *(path for path in leaves if path not in NAMING), *dropped)))


def _is_other(owner: Owner, options: ApplyOptions) -> bool:
    """Return whether an owner is another writer of the object itself than the applier of the plan."""
    is_own = owner.manager == options.field_manager and owner.operation in (APPLY, UPDATE)
    return not owner.subresource and not is_own


def list_live_fields(plan: Plan, change: PlannedObject) -> tuple[LiveField, ...]:
    """Return the fields of an object that other managers wrote and that its manifest may take with their live values.

    - None of Secrets, none with a masked value, and none in a list entry that the manifest does not have.
    """
    live, manifest = change.versions.live, change.versions.manifest
    if live is None or manifest is None or names_secret(change.ref.gvk.kind):
        return ()
    finder = change.versions.in_manifest
    options, owners, found = options_from_json(plan.options), read_owners(live), []
    for path, value in list_leaves(find_root(change.ref.gvk), live).items():
        if path in NAMING or path == LAST_APPLIED_PATH or path[0] == "f:status" or is_masked(value):
            continue
        managers = tuple(dict.fromkeys(o.manager for o in owners.of(path) if _is_other(o, options)))
        before = finder.find(path)
        is_new = before is ABSENT
        if not managers or (not is_new and is_same_json(before, value)) or not finder.has_place(path):
            continue
        found.append(LiveField(path, managers, value, None if is_new else before, is_new))
    return tuple(found)


def _require_open(plan: Plan, change: PlannedObject) -> None:
    latest = plan.review.latest_plan
    if latest is None or latest.pk != plan.pk:
        raise NotPossibleError(_("there is a newer plan; choose the fields there"))
    if change.versions.live is None:
        raise NotPossibleError(_("the object does not exist yet, so no field has a value to keep"))


def hand_over(plan: Plan, change: PlannedObject, paths: Collection[FieldPath], *, manager: str, by: Person) -> Plan:
    """Request the next plan, in which the manifest of one object gives up exactly these fields.

    - Fields that it gives up already keep the manager that gets each, unless `manager` is another than the first one's.
    - Raises `NotPossibleError` for an outdated plan or an object that does not exist yet, `NotValidError` for a field
      that the manifest does not set.
    """
    _require_open(plan, change)
    unknown = set(paths) - set(list_fields(plan, change))
    if unknown:
        raise NotValidError(_("the manifest does not set one of these fields; reload the plan"))
    options = options_from_json(plan.options)
    if manager == options.field_manager:
        raise NotValidError(_("enter a field manager other than that of the plan"))
    others = tuple(one for one in options.handovers if one.key != change.ref.key)
    given = {one.path: one.manager for one in options.list_handovers(change.ref.key)}
    kept = given if manager == next(iter(given.values()), "") else {}
    chosen = tuple(Handover(change.ref.key, path, kept.get(path, manager)) for path in paths)
    return reviews.replan_review(plan.review, by=by, options=replace(options, handovers=(*others, *chosen)), seen=plan)


def _name_owners(change: PlannedObject, path: FieldPath, options: ApplyOptions) -> tuple[str, ...]:
    """Return the managers that give up a field, "" for none: client-side, nobody has to."""
    if options.mode is ApplyMode.CLIENT:
        return ("",)
    found = read_owners(change.versions.live or {}).of(path)
    return tuple(dict.fromkeys(o.manager for o in found if _is_other(o, options))) or ("",)


def take_live(options: ApplyOptions, change: PlannedObject, paths: Collection[FieldPath]) -> ApplyOptions:
    """Return options in which the manifest of one object takes exactly these fields with their live values."""
    others = tuple(one for one in options.taken_fields if one.key != change.ref.key or not one.is_live)
    chosen = tuple(
        TakenField(change.ref.key, path, name, is_live=True)
        for path in paths
        for name in _name_owners(change, path, options)
    )
    return replace(options, taken_fields=(*others, *chosen))


def take_fields(plan: Plan, change: PlannedObject, paths: Collection[FieldPath], *, by: Person) -> Plan:
    """Request the next plan, in which the manifest of one object takes exactly these fields with their live values.

    - Fields that it takes already are still taken from the managers that were named for them.
    - Raises `NotPossibleError` for an outdated plan or an object that does not exist, `NotValidError` for a field that
      the manifest cannot take.
    """
    _require_open(plan, change)
    taken = list_taken(plan, change.ref)
    former = {one.path for one in taken}
    if set(paths) - {one.path for one in list_live_fields(plan, change)} - former:
        raise NotValidError(_("the manifest cannot take one of these fields; reload the plan"))
    options = take_live(options_from_json(plan.options), change, [path for path in paths if path not in former])
    kept = tuple(one for one in taken if one.path in paths)
    options = replace(options, taken_fields=(*options.taken_fields, *kept))
    return reviews.replan_review(plan.review, by=by, options=options, seen=plan)
