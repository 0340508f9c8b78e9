"""Revert of a finished run as a new review: an ordinary plan that needs its own approval.

Computed from the encrypted versions in the run's plan: created objects are deleted, changed ones return field by field
under the same field manager, deleted ones are created again. The review lists what cannot be reverted; each of its
plans lists what changed since the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import yaml
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at, is_same_json
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.engine.planning.objects import revert
from applyviz.engine.planning.objects.patch_revert import revert_patch
from applyviz.engine.requests.applyset import MANAGER_SUFFIX
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode, SetAction, TakenField
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.walk import MISSING, LeafFinder
from applyviz.records.enums import EntryState, Outcome
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, Plan, Review, Undo
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import changes, reviews

_SHOWN = 10
_NOT_CREATED = (Outcome.REFUSED, Outcome.FAILED, Outcome.UNKNOWN, Outcome.STALE)


@dataclass(slots=True)
class _Gathered:
    """The content of the review while it is collected."""

    files: list[BundledFile] = field(default_factory=list)
    deletions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_replacing: bool = False


def _results(run: ApplyRun) -> QuerySet[ObjectResult]:
    return run.results.select_related("change").order_by("position")


def _is_done(result: ObjectResult) -> bool:
    return result.outcome in Outcome.written() and result.change.has_effect


def _list_done(run: ApplyRun) -> list[ObjectResult]:
    return [result for result in _results(run) if _is_done(result)]


def _has_changed(run: ApplyRun) -> bool:
    """Return whether a revert of the run covers anything; whole changes are not read for that."""
    results = list(_results(run).defer("change__document", "change__found_risks", "change__sealed"))
    return any(map(_is_done, results)) or bool(find_lost(results))


def find_lost(results: Iterable[ObjectResult]) -> list[ObjectResult]:
    """Return the results of objects that a run deleted to replace them, and did not create again."""
    replaced = Operation.REPLACE.value
    open_ones = [r for r in results if r.change.operation == replaced and r.outcome in _NOT_CREATED]
    if not open_ones:
        return []
    entries = JournalEntry.objects.filter(result__in=open_ones)
    # Whatever follows the deletion was sent because the object was gone.
    gone = Q(method="DELETE", state=EntryState.ANSWERED, status__range=(200, 299)) | Q(part__gt=0)
    lost = set(entries.filter(gone).values_list("result_id", flat=True))
    return [result for result in open_ones if result.pk in lost]


def _list_changed(run: ApplyRun) -> list[ObjectResult]:
    """Return the results that a revert of the run covers, in order: what it wrote, and what it deleted and lost."""
    found = [*_list_done(run), *find_lost(_results(run))]
    return sorted(found, key=lambda result: result.position)


def can_be_reverted(run: ApplyRun) -> bool:
    """Return whether a run is finished and changed something, so that an author can revert it."""
    return run.is_finished and _has_changed(run)


def find_undo_blockers(run: ApplyRun, *, for_user: Visitor) -> tuple[str, ...]:
    """Return why this person cannot revert this run; empty when they can."""
    blockers = []
    if not run.is_finished:
        blockers.append(_("the run is not finished"))
    elif not _has_changed(run):
        blockers.append(_("the run changed nothing"))
    if not access.can(for_user, Action.WRITE, access.scopes_of(run.plan.review)):
        blockers.append(_("only authors can do this"))
    blockers += map(sentences.describe, states.find_stop(run.plan.target.cluster))
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


def _is_parent(result: ObjectResult, options: ApplyOptions) -> bool:
    """Return whether an object is the parent of the ApplySet: its fields belong to the tool that keeps the set."""
    if options.prune.mode is not PruneMode.APPLYSET:
        return False
    requests = changes.read_masked_requests(result.change)
    return any(request.query.get("fieldManager", "").endswith(MANAGER_SUFFIX) for request in requests)


def _list_reverted(run: ApplyRun, options: ApplyOptions, notes: list[str]) -> list[ObjectResult]:
    """Return the results that a revert covers; note the others."""
    kept = []
    for result in _list_changed(run):
        addon = changes.find_record(result.change)
        if addon and result.change.kind == "Node":
            notes.append(f"node {result.change.name} stays marked for a rolling update")
            continue
        if addon:
            notes.append(f"addon {addon} stays recorded as installed: plan the former channel to go back to it")
            continue
        if not _is_parent(result, options):
            kept.append(result)
            continue
        note = f"{changes.ref_of(result.change)} keeps its record of the ApplySet: apply the set again to correct it"
        notes.extend([note] if note not in notes else [])
    return kept


def _invert(change: PlannedObject, options: ApplyOptions) -> revert.Revert:
    """Return the revert of a change; that of a patch is a patch document."""
    if not options.is_patching:
        return revert.invert(
            change, mode=options.mode, manager=options.field_manager, root=changes.find_root(change.ref.gvk)
        )
    found = revert_patch(change, manager=options.field_manager, kind=bundled().find_kind(change.ref.gvk))
    return revert.Revert(found.document, notes=found.notes)


def _gather(run: ApplyRun, options: ApplyOptions, *, only_lost: bool) -> _Gathered:
    found, lost = _Gathered(), find_lost(_results(run))
    gone = {result.pk for result in lost}
    if not only_lost:
        unknown = [r for r in _results(run) if r.outcome == Outcome.UNKNOWN and r.pk not in gone]
        found.notes += [f"{changes.ref_of(r.change)} is left out: its outcome is unknown" for r in unknown]
    for number, result in enumerate(lost if only_lost else _list_reverted(run, options, found.notes)):
        change, answer = changes.open_sealed(result.change), _last_answer(result)
        if result.pk in gone:  # only its deletion happened
            change, answer = replace(change, operation=Operation.PRUNE), None
        if answer is not None:  # the admitted object counts, not the planned one
            change = replace(change, versions=replace(change.versions, after=answer))
        if options.is_recording:
            found.files.extend(_restore_record(number, run, change, options, found.notes))
            continue
        found.notes.extend(_note_owners(change, options))
        undo = _invert(change, options)
        found.notes.extend(undo.notes)
        found.is_replacing |= change.operation is Operation.REPLACE
        if undo.deletes and answer is not None:
            found.deletions.append(_name_deletion(change, answer))
        elif undo.deletes:
            found.notes.append(f"{change.ref} is not deleted: the run has no answer that names its uid")
        if undo.manifest is not None:
            found.files.append(_make_file(number, run, change, undo.manifest))
    return found


def _make_file(number: int, run: ApplyRun, change: PlannedObject, manifest: JSONObject) -> BundledFile:
    name = f"{number:03d}-{change.ref.gvk.kind.lower()}-{change.ref.name}.yaml"
    return BundledFile(name, _write(manifest), {"from": f"run {run.number}"})


def _restore_record(
    number: int, run: ApplyRun, change: PlannedObject, options: ApplyOptions, notes: list[str]
) -> Iterator[BundledFile]:
    """Yield the manifest that last-applied held before a run that set it; note what cannot come back."""
    if options.action is SetAction.CLEAR_OWNERSHIP:
        notes.append(f"{change.ref}: cleared managedFields cannot be restored")
        return
    try:
        before = last_applied.find(change.versions.live or {})
    except MergeError:
        before = None
    if before:
        yield _make_file(number, run, change, before)
    else:
        notes.append(f"{change.ref} had no last-applied annotation that could be restored: the new one stays")


def _note_owners(change: PlannedObject, options: ApplyOptions) -> Iterator[str]:
    """Yield which moves of ownership stay: nothing says any more which of the fields each manager had."""
    moved = {name for r in change.requests for p in r.placeholders for name in p.managers or ()}
    moved |= {one.manager for r in change.requests for p in r.placeholders for one in p.taken}
    if moved and change.operation is Operation.UPDATE:
        names = ", ".join(sorted(moved))
        yield f"{change.ref}: fields that {names} owned before the run stay with {options.field_manager}"


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
        action=options.action if options.is_recording or options.is_patching else SetAction.APPLY,
        selector="",
        channel=None,
        takes_over=False,
        takes_from=(),
        taken_managers=(),
        handovers=(),
        taken_fields=tuple(TakenField(one.key, one.path, one.manager) for one in options.handovers),
        is_replacing_on_error=options.is_replacing_on_error or found.is_replacing,
    )


def require_undo(run: ApplyRun, *, by: Person) -> None:
    """Raise `NotPossibleError` with everything that blocks reverting this run."""
    access.require(by, Action.WRITE, access.scopes_of(run.plan.review))
    blockers = find_undo_blockers(run, for_user=by)
    if blockers:
        raise NotPossibleError("; ".join(blockers))


def prepare_revert(run: ApplyRun, *, by: Person, only_lost: bool = False) -> Callable[[], Review]:
    """Decrypt the run's versions and calculate the revert; the result opens its review.

    - `only_lost`: only create again what the run deleted to replace it, and could not create.
    - Raises `NotPossibleError` with everything that blocks; approves and applies nothing.
    """
    require_undo(run, by=by)
    options = options_from_json(run.plan.options)
    found = _gather(run, options, only_lost=only_lost)
    if not found.files and not found.deletions:
        raise NotPossibleError(_("this run can't be reverted: %(why)s") % {"why": "; ".join(found.notes)})
    if not found.files:
        lines = ["# Nothing is applied; these objects are deleted:", *(f"# - {d}" for d in found.deletions)]
        found.files.append(BundledFile("deletions.yaml", "\n".join([*lines, ""]).encode()))
    return partial(_open_review, run, found, _make_options(options, found), by, only_lost)


def _open_review(run: ApplyRun, found: _Gathered, options: ApplyOptions, by: Person, only_lost: bool) -> Review:
    act, why = ("Restore from", "Creates again what") if only_lost else ("Revert", "Reverts")
    lost = " deleted and could not replace" if only_lost else ""
    with transaction.atomic():
        review = reviews.create_review(
            by=by,
            title=f"{act} run {run.number}: {run.plan.review.title}"[:200],
            reason=f"{why} run {run.number} of review {run.plan.review.number}{lost}.",
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
    root = changes.find_root(now.ref.gvk)
    finders = LeafFinder(root, left), LeafFinder(root, live)
    for path in revert.list_touched(live, now.versions.after or {}, root):
        if path[:2] == ("f:metadata", "f:managedFields"):
            continue
        then, present = (finder.find(path) for finder in finders)
        if (then is MISSING) != (present is MISSING) or not (then is MISSING or is_same_json(then, present)):
            yield render_path(path)


def note_moved(plan: Plan, found: Iterable[PlannedObject]) -> None:
    """Store in a plan that reverts a run which fields changed since that run and would be reset anyway.

    - Of an object that it deletes, no field is reset.
    """
    undo = Undo.objects.filter(review_id=plan.review_id).select_related("run").first()
    if undo is None:
        return
    results = {changes.ref_of(result.change).key: result for result in _list_done(undo.run)}
    moved_fields = []
    for change in found:
        result = results.get(change.ref.key)
        paths = list(_list_moved(result, change)) if result and change.operation not in DELETIONS else []
        if paths:
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            moved_fields.append(f"{change.ref}: {', '.join(paths[:_SHOWN])}{more}")
    undo.moved = {**undo.moved, str(plan.number): moved_fields}
    undo.save(update_fields=["moved"])
