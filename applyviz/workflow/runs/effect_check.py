"""Effect check before the first write: if any effect differs from the approved one, nothing is written.

The whole set is calculated again from the same bytes and the current live objects, and each effect is compared with
the approved one. For those that differ, the changes are listed, masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import TypeAlias

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.schema.model import KindSchema
from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ObjectResult
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation.digests import digest_effect
from applyviz.workflow.foundation.row_updates import update_rows
from applyviz.workflow.plans import changes, moved_objects
from applyviz.workflow.plans.moved_objects import describe_move, is_unreadable
from applyviz.workflow.plans.outcome_check import identity
from applyviz.workflow.runs.request_sender import StopError

_MOST_TWICE = 20
_READING_PAUSES = (0.5, 1.0, 2.0)
Pair: TypeAlias = tuple[ObjectResult, PlannedObject | None]
Recompute: TypeAlias = Callable[[Sequence[Pair]], list[PlannedObject | None]]


def find_moved(
    result: ObjectResult, now: PlannedObject, *, tag_key: bytes, kind: KindSchema | None
) -> list[dict[str, JSONValue]] | None:
    """Return what changed since the review, masked; None when the effect is the approved one."""
    policy = masking_settings.policy_of(result.run.plan)
    return moved_objects.find_moved(result.change, now, tag_key=tag_key, policy=policy, kind=kind)


def has_other_effect(result: ObjectResult, now: PlannedObject) -> bool:
    """Return whether an object that is still to be written was read, and has another effect than the approved one."""
    return _is_compared(result, now) and digest_effect(now) != result.change.effect


def _is_compared(result: ObjectResult, now: PlannedObject) -> bool:
    return result.outcome in Outcome.unfinished() and not is_unreadable(now)


def read_again(pairs: list[Pair], recompute: Recompute, *, pause: Callable[[float], None]) -> list[Pair]:
    """Recalculate the changes whose live objects could not be read, together after each pause, until all can."""
    for seconds in _READING_PAUSES:
        unread = [change is not None and is_unreadable(change) for _, change in pairs]
        if not any(unread):
            break
        pause(seconds)
        pairs = _replace(pairs, unread, recompute)
    return pairs


def calculate_twice(
    pairs: list[Pair], recompute: Recompute
) -> Iterator[tuple[ObjectResult, PlannedObject | None, bool]]:
    """Recalculate the changes whose effect is another one, once and together, before anything is called stale.

    - Yields whether the effect was found to be the approved one, so that it is not digested again.
    - A controller may write between the read of an object and its dry run, whose answer then holds what it wrote.
    - Of a set that really moved, only the first objects are calculated twice.
    """
    left = _MOST_TWICE
    same, again = [], []
    for result, change in pairs:
        is_compared = left > 0 and change is not None and _is_compared(result, change)
        same.append(is_compared and change is not None and digest_effect(change) == result.change.effect)
        again.append(is_compared and not same[-1])
        left -= again[-1]
    for (result, change), is_same in zip(_replace(pairs, again, recompute), same, strict=True):
        yield result, change, is_same


def _replace(pairs: list[Pair], chosen: Sequence[bool], recompute: Recompute) -> list[Pair]:
    """Return the pairs; the chosen ones hold the change that is calculated now."""
    found = iter(recompute(list(compress(pairs, chosen))))
    return [(result, next(found) if is_chosen else now) for (result, now), is_chosen in zip(pairs, chosen, strict=True)]


def raise_if_stale(
    result: ObjectResult,
    now: PlannedObject,
    *,
    tag_key: bytes,
    kind: KindSchema | None,
    load: Callable[[], object] = lambda: None,
) -> None:
    """Raise `StopError`, with what changed or why it is unknown, unless the effect is the approved one.

    - `load()` reads the content of the stored change, which is needed only when the effect is another one.
    """
    if is_unreadable(now):
        raise StopError(
            Outcome.FAILED, mask_change(now, tag_key=tag_key, policy=masking_settings.policy_of(result.run.plan)).error
        )
    if digest_effect(now) == result.change.effect:
        return
    load()
    moved = find_moved(result, now, tag_key=tag_key, kind=kind)
    if moved is not None:
        policy = masking_settings.policy_of(result.run.plan)
        raise StopError(Outcome.STALE, describe_move(result.change, now, moved, tag_key=tag_key, policy=policy), moved)


def match(results: Iterable[ObjectResult], found: Iterable[PlannedObject]) -> list[Pair]:
    """Pair results with newly calculated changes; objects that are named twice pair in order."""
    waiting: dict[tuple[str, ...], list[PlannedObject]] = {}
    for change in found:
        waiting.setdefault((*change.ref.key, change.addon if change.is_record else ""), []).append(change)
    pairs: list[Pair] = []
    for result in results:
        same = waiting.get((*changes.ref_of(result.change).key, changes.find_record(result.change)))
        pairs.append((result, same.pop(0) if same else None))
    return pairs


def remember_checked(pairs: Iterable[Pair]) -> None:
    """Store the uid and resourceVersion at which each effect was confirmed as the approved one.

    - The deadline of a rollout that is awaited again counts from here.
    """
    checked = []
    for result, change in pairs:
        result.checked = identity(change.versions.live if change else None)
        if result.rollout == RolloutState.WAITING:
            result.watched_from = clock.now()
        checked.append(result)
    update_rows(checked, ["checked", "watched_from"])
