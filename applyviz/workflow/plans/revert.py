"""Revert of a finished run as a new review: an ordinary plan that needs its own approval.

Computed from the encrypted versions in the run's plan: created objects are deleted, changed ones return field by field
under the same field manager, deleted ones are created again. The review lists what cannot be reverted; each of its
plans lists what changed since the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import yaml
from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, get_at, is_same_json
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects import revert
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, find_value
from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, Plan, Review, Undo
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import changes, reviews

_SHOWN = 10


@dataclass(slots=True)
class _Gathered:
    """The content of the review while it is collected."""

    files: list[BundledFile] = field(default_factory=list)
    deletions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_replacing: bool = False


def _root(change: PlannedObject) -> Node | None:
    kind = bundled().find_kind(change.ref.gvk)
    return kind.root if kind else None


def _results(run: ApplyRun) -> Iterable[ObjectResult]:
    return run.results.select_related("change").order_by("position")


def _list_done(run: ApplyRun) -> list[ObjectResult]:
    applied = (Outcome.VERIFIED, Outcome.DIFFERS)
    return [result for result in _results(run) if result.outcome in applied and result.change.has_effect]


def find_undo_blockers(run: ApplyRun, *, for_user: Visitor) -> tuple[str, ...]:
    """Return why this person cannot revert this run; empty when they can."""
    blockers = []
    if not run.is_finished:
        blockers.append(_("the run is not finished"))
    elif not _list_done(run):
        blockers.append(_("the run changed nothing"))
    if not access.can(for_user, Action.WRITE, access.places_of(run.plan.review)):
        blockers.append(_("only authors can do this"))
    return tuple(blockers)


def _last_answer(result: ObjectResult) -> JSONObject | None:
    """Return the object from the server's answer to the last write of a run; None when no answer contains it."""
    entries = JournalEntry.objects.filter(result=result, status__gte=200, status__lt=300).exclude(method="DELETE")
    last = entries.order_by("-sequence").first()
    if last is None or last.sealed_answer is None:
        return None
    body: JSONObject = last.sealed_answer.open_json()
    return body


def _name_deletion(change: PlannedObject, made: JSONObject | None) -> str:
    gvk, uid = change.ref.gvk, get_at(made, ("metadata", "uid"), "")
    return "/".join((gvk.group or "core", gvk.version, gvk.kind, change.ref.namespace, change.ref.name, str(uid)))


def _gather(run: ApplyRun, options: ApplyOptions) -> _Gathered:
    found = _Gathered()
    for result in _results(run):
        if result.outcome == Outcome.UNKNOWN:
            found.notes.append(f"{changes.ref_of(result.change)} is left out: its outcome is unknown")
    for number, result in enumerate(_list_done(run)):
        change, answer = changes.open_sealed(result.change), _last_answer(result)
        if answer is not None:  # the admitted object counts, not the planned one
            change = replace(change, versions=replace(change.versions, after=answer))
        undo = revert.invert(change, mode=options.mode, manager=options.field_manager, root=_root(change))
        found.notes.extend(undo.notes)
        found.is_replacing |= change.operation is Operation.REPLACE
        if undo.deletes and answer is not None:
            found.deletions.append(_name_deletion(change, answer))
        elif undo.deletes:
            found.notes.append(f"{change.ref} is not deleted: the run has no answer that names its uid")
        if undo.manifest is not None:
            name = f"{number:03d}-{change.ref.gvk.kind.lower()}-{change.ref.name}.yaml"
            found.files.append(BundledFile(name, _write(undo.manifest), {"from": f"run {run.number}"}))
    return found


def _write(manifest: JSONObject) -> bytes:
    # JSON strings within YAML: a text such as "no" or "0644" keeps its type in every parser.
    text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, default_style=None)
    is_same = is_same_json(yaml.safe_load(text), manifest)
    return text.encode() if is_same else yaml.safe_dump(manifest, default_style='"').encode()


def _make_options(options: ApplyOptions, found: _Gathered) -> ApplyOptions:
    prune = Prune(PruneMode.NAMED, tuple(found.deletions)) if found.deletions else Prune()
    return replace(
        options,
        prune=prune,
        selector="",
        takes_over=False,
        is_replacing_on_error=options.is_replacing_on_error or found.is_replacing,
    )


def require_undo(run: ApplyRun, *, by: Person) -> None:
    """Raise `NotPossibleError` with everything that blocks reverting this run."""
    access.require(by, Action.WRITE, access.places_of(run.plan.review))
    blockers = find_undo_blockers(run, for_user=by)
    if blockers:
        raise NotPossibleError("; ".join(blockers))


def prepare_inverse(run: ApplyRun, *, by: Person) -> Callable[[], Review]:
    """Decrypt the run's versions and calculate the revert; the result opens its review.

    - Raises `NotPossibleError` with everything that blocks; approves and applies nothing.
    """
    require_undo(run, by=by)
    options = options_from_json(run.plan.options)
    found = _gather(run, options)
    if not found.files and not found.deletions:
        raise NotPossibleError(_("this run can't be reverted: %(why)s") % {"why": "; ".join(found.notes)})
    if not found.files:
        lines = ["# Nothing is applied; these objects are deleted:", *(f"# - {d}" for d in found.deletions)]
        found.files.append(BundledFile("deletions.yaml", "\n".join([*lines, ""]).encode()))
    return partial(_open_review, run, found, _make_options(options, found), by)


def _open_review(run: ApplyRun, found: _Gathered, options: ApplyOptions, by: Person) -> Review:
    with transaction.atomic():
        review = reviews.create_review(
            by=by,
            title=f"Undo run {run.number}: {run.plan.review.title}"[:200],
            reason=f"Reverts run {run.number} of review {run.plan.review.number}.",
            ticket=run.plan.review.ticket,
            cluster=run.plan.target.cluster,
            options=options,
            bundle=SourceBundle(tuple(found.files)),
        )
        Undo.objects.create(review=review, run=run, notes=found.notes)
    return review


def _list_moved(result: ObjectResult, now: PlannedObject) -> Iterator[str]:
    """Yield the fields that the revert would reset although they changed since the run."""
    left = _last_answer(result)
    live = now.versions.live
    if left is None or live is None:
        return
    root = _root(now)
    for path in revert.list_touched(live, now.versions.after or {}, root):
        if path[:2] == ("f:metadata", "f:managedFields"):
            continue
        then, present = find_value(root, left, path), find_value(root, live, path)
        if (then is MISSING) != (present is MISSING) or not (then is MISSING or is_same_json(then, present)):
            yield render_path(path)


def note_moved(plan: Plan, found: Iterable[PlannedObject]) -> None:
    """Store in a plan that reverts a run which fields changed since that run and would be reset anyway."""
    undo = Undo.objects.filter(review_id=plan.review_id).select_related("run").first()
    if undo is None:
        return
    results = {changes.ref_of(result.change).key: result for result in _list_done(undo.run)}
    moved_fields = []
    for change in found:
        result = results.get(change.ref.key)
        paths = list(_list_moved(result, change)) if result is not None else []
        if paths:
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            moved_fields.append(f"{change.ref}: {', '.join(paths[:_SHOWN])}{more}")
    undo.moved = {**undo.moved, str(plan.number): moved_fields}
    undo.save(update_fields=["moved"])
