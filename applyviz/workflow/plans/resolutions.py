"""Resolutions of conflicts: stored with their authors, used by every later plan of the review.

A plan is immutable, so a resolution creates the next one. It answers one conflict between a field and one field
manager; a conflict that was not shown is never forced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice as EngineDecision
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.name_masking import read_names
from applyviz.records.enums import AuditAction
from applyviz.records.models import ObjectChange, Plan, Resolution
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import changes

MASKED_IN = "masked in"
"""The key of the plan whose tags mask the path of a resolution."""


class Choice(Struct, frozen=True):
    """The resolution of one conflict: the object, the field, its current owner, and the kind."""

    ref: ObjectRef
    path: FieldPath
    manager: str
    resolution: ResolutionKind


class ResolutionScope(Struct, frozen=True):
    """A selection of open conflicts of a plan; empty fields match everything.

    - `position`: of one object; `kind`: (group, kind); `path`: one field; `manager`: the conflicting manager.
    """

    manager: str = ""
    position: int | None = None
    kind: tuple[str, str] | None = None
    path: FieldPath | None = None

    def has(self, conflict: Conflict) -> bool:
        """Return whether a conflict of a selected object is included."""
        return self.manager in ("", conflict.manager) and self.path in (None, conflict.path)


def list_open(change: PlannedObject) -> list[Conflict]:
    """Return the conflicts of a blocked object that have neither a resolution nor a rule."""
    if change.operation is not Operation.BLOCKED:
        return []
    answered = {(answer.path, answer.manager) for answer in change.answers}
    return [c for c in change.conflicts if (c.path, c.manager) not in answered]


def list_refused(plan: Plan, scope: ResolutionScope | None = None) -> Iterator[tuple[int, PlannedObject]]:
    """Return the blocked objects of a plan within a scope, each with its position, masked."""
    scope = scope or ResolutionScope()
    rows = plan.changes.filter(operation=Operation.BLOCKED.value).defer("sealed")
    if scope.position is not None:
        rows = rows.filter(position=scope.position)
    if scope.kind is not None:
        rows = rows.filter(group=scope.kind[0], kind=scope.kind[1])
    for row in rows:
        yield row.position, changes.read_masked(row)


def choose_everywhere(plan: Plan, resolution: ResolutionKind, *, scope: ResolutionScope | None = None) -> list[Choice]:
    """Return the same resolution for every open conflict of a plan, or for those within a scope.

    - A field that conflicts with several managers is resolved for all of them, or stays open.
    - A conflict for which this resolution is not possible stays open.
    """
    return [
        Choice(change.ref, conflict.path, conflict.manager, resolution)
        for _position, change, conflict in _list_in_scope(plan, scope or ResolutionScope())
        if is_possible(change, conflict.path, resolution)
    ]


def list_impossible(
    plan: Plan, resolution: ResolutionKind, *, scope: ResolutionScope | None = None
) -> dict[int, tuple[PlannedObject, tuple[FieldPath, ...]]]:
    """Return the open conflicts that `choose_everywhere` leaves open: objects with their fields, by position."""
    found: dict[int, tuple[PlannedObject, tuple[FieldPath, ...]]] = {}
    for position, change, conflict in _list_in_scope(plan, scope or ResolutionScope()):
        paths = found[position][1] if position in found else ()
        if conflict.path not in paths and not is_possible(change, conflict.path, resolution):
            found[position] = (change, (*paths, conflict.path))
    return found


def _list_in_scope(plan: Plan, scope: ResolutionScope) -> Iterator[tuple[int, PlannedObject, Conflict]]:
    for position, change in list_refused(plan, scope):
        yield from ((position, change, conflict) for conflict in list_open(change) if scope.has(conflict))


def is_possible(change: PlannedObject, path: FieldPath, resolution: ResolutionKind) -> bool:
    """Return whether an open conflict of an object can be resolved in this way, as far as its plan knows."""
    options = (o for field in change.open_fields if field.path == path for o in field.options)
    return all(o.is_possible for o in options if o.resolution is resolution)


def check_choices(plan: Plan, choices: Iterable[Choice]) -> None:
    """Check that each choice resolves an open conflict of a plan, and that its resolution is possible.

    - Raises `NotPossibleError`.
    """
    found = {
        (change.ref.key, c.path, c.manager): change
        for _position, change in list_refused(plan)
        for c in change.conflicts
    }
    for choice in choices:
        where = {"where": f"{choice.ref} {render_path(choice.path)}", "manager": choice.manager}
        change = found.get((choice.ref.key, choice.path, choice.manager))
        if change is None:
            raise NotPossibleError(_("%(where)s has no open conflict with %(manager)s; reload the plan") % where)
        if not is_possible(change, choice.path, choice.resolution):
            raise NotPossibleError(
                _("%(where)s cannot be resolved this way: the conflict would stay; choose another resolution") % where
            )


def _to_json(choice: Choice, plan: Plan) -> JSONObject:
    return {
        "object": list(choice.ref.key),
        "path": list(choice.path),
        "manager": choice.manager,
        "resolution": choice.resolution.value,
        **({MASKED_IN: plan.number} if is_masked(choice.path) else {}),
    }


def _record(plan: Plan, ref: ObjectRef, choices: list[Choice], *, by: Person, note: str) -> None:
    Resolution.objects.bulk_create(
        Resolution(
            review=plan.review,
            plan=plan,
            by=by,
            object_key="/".join(ref.key),
            path=render_path(choice.path),
            elements=list(choice.path),
            manager=choice.manager,
            choice=choice.resolution.value,
            note=note,
            created_at=clock.host_now(),
        )
        for choice in choices
    )
    trail.record(
        AuditAction.CONFLICT_RESOLVED,
        by=by,
        about=trail.AuditSubject(
            cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, ref=ref
        ),
        detail={"note": note, "fields": [[c.resolution.value, c.manager, render_path(c.path)] for c in choices]},
    )


def record_choices(plan: Plan, choices: Iterable[Choice], *, by: Person, note: str = "") -> list[JSONObject]:
    """Store resolutions of the open conflicts of a plan; return all resolutions of the next plan.

    - A later resolution of a field replaces the earlier one.
    - A path that names a list entry by a masked value stays masked, with the number of the plan that shows it so.
    - Raises `NotPossibleError` for a conflict that the plan does not have, or no longer has, and for a resolution that
      is not possible.
    """
    choices = list(choices)
    if not choices:
        return list(plan.decisions)
    access.require(by, Action.RESOLVE, access.scopes_of(plan.review))
    check_choices(plan, choices)
    for ref in dict.fromkeys(choice.ref for choice in choices):
        _record(plan, ref, [choice for choice in choices if choice.ref == ref], by=by, note=note)
    chosen = {(choice.ref.key, choice.path): choice.resolution for choice in choices}
    made = [_to_json(choice, plan) for choice in choices]

    def is_kept(entry: JSONObject) -> bool:
        resolution = chosen.get((tuple(entry["object"]), tuple(entry["path"])))
        return resolution is None or (resolution.value == entry["resolution"] and entry not in made)

    return [*(entry for entry in plan.decisions if is_kept(entry)), *made]


def undo_resolution(plan: Plan, index: int, *, by: Person) -> list[JSONObject]:
    """Return the resolutions of the next plan without one of this plan; the removed one stays on record.

    - Raises `NotPossibleError` when the plan has no such resolution.
    """
    access.require(by, Action.RESOLVE, access.scopes_of(plan.review))
    if not 0 <= index < len(plan.decisions):
        raise NotPossibleError(
            _("plan %(number)s has no resolution %(index)s") % {"number": plan.number, "index": index}
        )
    undone = plan.decisions[index]
    field = (undone["object"], undone["path"])
    group, kind, namespace, name = undone["object"]
    ref = ObjectRef(GroupVersionKind(group, "", kind), namespace, name)
    path = render_path(tuple(undone["path"]))
    made = Resolution.objects.filter(
        review=plan.review_id, object_key="/".join(ref.key), path=path, choice=undone["resolution"], undone_at=None
    )
    made.update(undone_by=by, undone_at=clock.host_now())
    trail.record(
        AuditAction.RESOLUTION_UNDONE,
        by=by,
        about=trail.AuditSubject(
            cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, ref=ref
        ),
        detail={"undone": [[undone["resolution"], undone["manager"], path]]},
    )
    return [d for d in plan.decisions if (d["object"], d["path"]) != field]


def list_made(plan: Plan) -> dict[tuple[str, str], Resolution]:
    """Return the latest resolution before the plan for each field that it resolves, by object and field."""
    in_force = {("/".join(d["object"]), render_path(tuple(d["path"]))): d["resolution"] for d in plan.decisions}
    if not in_force:
        return {}
    made = Resolution.objects.filter(review=plan.review_id, plan__number__lt=plan.number).select_related("by", "plan")
    found = {(d.object_key, d.path): d for d in made}
    return {key: d for key, d in found.items() if in_force.get(key) == d.choice}


class _PathReader:
    """Reads the paths of resolutions: one that names a list entry by a masked value is known to the encrypted change.

    - `of_object` keeps what was opened: the paths of an object of an earlier plan, by what was shown of them.
    """

    def __init__(self, plan: Plan) -> None:
        self._review = plan.review_id
        self._of_object: dict[tuple[int, tuple[str, ...]], Mapping[FieldPath, FieldPath]] = {}

    def read(self, entry: JSONObject) -> FieldPath:
        """Return the path of a resolution; one that is no longer known stays masked, and resolves nothing."""
        path = tuple(entry["path"])
        if MASKED_IN not in entry:
            return path
        asked = (entry[MASKED_IN], tuple(entry["object"]))
        if asked not in self._of_object:
            self._of_object[asked] = self._open(*asked)
        return self._of_object[asked].get(path, path)

    def _open(self, number: int, key: tuple[str, ...]) -> Mapping[FieldPath, FieldPath]:
        group, kind, namespace, name = key
        rows = ObjectChange.objects.filter(plan__review=self._review, plan__number=number)
        row = rows.filter(group=group, kind=kind, namespace=namespace, name=name).select_related("plan").first()
        if row is None:
            return {}
        tag_key, policy = row.plan.tag_key.open_bytes(), masking_settings.policy_of(row.plan)
        shown = read_names(changes.open_sealed(row), tag_key, policy).paths
        return {masked: path for path, masked in shown.items()}


def read_decisions(plan: Plan) -> dict[tuple[str, str, str, str], tuple[EngineDecision, ...]]:
    """Return the resolutions of a plan, by object, for the engine; only workers can, if one names a masked entry."""
    found: dict[tuple[str, str, str, str], tuple[EngineDecision, ...]] = {}
    reader = _PathReader(plan)
    for entry in plan.decisions:
        group, kind, namespace, name = entry["object"]
        decision = EngineDecision(reader.read(entry), entry["manager"], ResolutionKind(entry["resolution"]))
        found[group, kind, namespace, name] = (*found.get((group, kind, namespace, name), ()), decision)
    return found
