"""Effect check before the first write: if any effect differs from the approved one, nothing is written.

The whole set is calculated again from the same bytes and the current live objects, and each effect is compared with
the approved one. For those that differ, the changes are listed, masked.
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.schema.model import KindSchema
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectResult
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation.digests import digest_effect
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.outcome_check import identity
from applyviz.workflow.runs.request_sender import StopError

_SHOWN = 50


def is_unreadable(now: PlannedObject) -> bool:
    """Return whether the live object could not be read: then nothing is known to have changed."""
    return now.operation is Operation.ERROR and now.certainty is Certainty.UNKNOWN


def find_moved(
    result: ObjectResult, now: PlannedObject, *, tag_key: bytes, kind: KindSchema | None
) -> list[dict[str, JSONValue]] | None:
    """Return what changed since the review, masked; None when the effect is the approved one."""
    row = result.change
    if digest_effect(now) == row.effect:
        return None
    reviewed = changes.read_masked_core(row).versions.live or {}
    policy = masking_settings.policy_of(result.run.plan)
    present = mask_change(now, tag_key=tag_key, policy=policy).versions.live or {}
    root = kind.root if kind else None
    found = [d for d in diff_objects(reviewed, present, root=root) if not _is_noise(render_path(d.path))]
    return [
        {"path": render_path(d.path), "reviewed": changes.show_value(d.before), "live": changes.show_value(d.after)}
        for d in found[:_SHOWN]
    ]


def _is_noise(path: str) -> bool:
    return path.startswith((".metadata.managedFields", ".metadata.resourceVersion", ".metadata.generation", ".status"))


def _describe_move(result: ObjectResult, now: PlannedObject, moved: list[dict[str, JSONValue]]) -> str:
    existed = changes.read_masked_core(result.change).versions.live is not None
    exists = now.versions.live is not None
    if existed and not exists:
        return "it was deleted since it was reviewed"
    if exists and not existed:
        return "it was created since it was reviewed"
    paths = ", ".join(str(m["path"]) for m in moved[:5]) or "what would be sent"
    return f"it changed since it was reviewed: {paths}"


def raise_if_stale(result: ObjectResult, now: PlannedObject, *, tag_key: bytes, kind: KindSchema | None) -> None:
    """Raise `StopError`, with what changed or why it is unknown, unless the effect is the approved one."""
    if is_unreadable(now):
        raise StopError(
            Outcome.FAILED, mask_change(now, tag_key=tag_key, policy=masking_settings.policy_of(result.run.plan)).error
        )
    moved = find_moved(result, now, tag_key=tag_key, kind=kind)
    if moved is not None:
        raise StopError(Outcome.STALE, _describe_move(result, now, moved), moved)


def match(
    results: Iterable[ObjectResult], found: Iterable[PlannedObject]
) -> list[tuple[ObjectResult, PlannedObject | None]]:
    """Pair results with newly calculated changes; objects that are named twice pair in order."""
    waiting: dict[tuple[str, str, str, str], list[PlannedObject]] = {}
    for change in found:
        waiting.setdefault(change.ref.key, []).append(change)
    pairs: list[tuple[ObjectResult, PlannedObject | None]] = []
    for result in results:
        same = waiting.get(changes.ref_of(result.change).key)
        pairs.append((result, same.pop(0) if same else None))
    return pairs


def remember_checked(pairs: Iterable[tuple[ObjectResult, PlannedObject | None]]) -> None:
    """Store the uid and resourceVersion at which each effect was confirmed as the approved one."""
    checked = []
    for result, change in pairs:
        result.checked = identity(change.versions.live if change else None)
        checked.append(result)
    ObjectResult.objects.bulk_update(checked, ["checked"], batch_size=200)
