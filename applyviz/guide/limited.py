"""Compute answers of the playground outside of the process that serves pages, with limits and a queue.

Visitors without an account have a separate pool that computes one question at a time, so that they never delay people
with an account. Results are cached for the next pages of the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import BoundedSemaphore
from typing import Any

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.guide.given import Given, GivenError, GivenProblem
from applyviz.sources.child import ChildLimits, ask_child

CHILD = "applyviz.guide.answering_child"
LIMITS = ChildLimits(memory_bytes=512 * 1024 * 1024, cpu_seconds=5, wall_seconds=15.0, answer_bytes=16 * 1024 * 1024)
VISITOR_BYTES = 64 * 1024
BUSY = "very many people are asking just now; ask again in a moment"


@dataclass(frozen=True, slots=True)
class Pool:
    """The slots of one group of people; `wait_seconds` is the longest wait for a slot."""

    turns: BoundedSemaphore
    wait_seconds: float

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """Hold one slot; raises `GivenError` if none becomes free."""
        if not self.turns.acquire(timeout=self.wait_seconds):
            raise GivenError((GivenProblem("manifest", BUSY),))
        try:
            yield
        finally:
            self.turns.release()


VISITORS = Pool(BoundedSemaphore(1), wait_seconds=5.0)
PEOPLE = Pool(BoundedSemaphore(3), wait_seconds=LIMITS.wall_seconds)


@dataclass(frozen=True, slots=True)
class GuideResult:
    """An answer, and the question with the values of Secrets masked, as others may see it."""

    kept: Given
    change: PlannedObject


def check_size(given: Given) -> None:
    """Raise `GivenError` if the text exceeds the limit of visitors without an account."""
    size = sum(len(value.encode()) for value in given.to_json().values() if isinstance(value, str))
    if size > VISITOR_BYTES:
        reason = f"all texts together are {size:,} bytes; without signing in at most {VISITOR_BYTES:,} are computed"
        raise GivenError((GivenProblem("manifest", reason),))


def _compute(given: Given, now: str, pool: Pool, *, is_masked: bool) -> JSONObject:
    asked = {
        "memory_bytes": LIMITS.memory_bytes,
        "cpu_seconds": LIMITS.cpu_seconds,
        "given": given.to_json(),
        "now": now,
        "is_masked": is_masked,
    }
    with pool.take_turn():
        answer, reason = ask_child(CHILD, json.dumps(asked).encode() + b"\n", LIMITS, act="computing")
    if reason or len(answer) > LIMITS.answer_bytes:
        raise GivenError((GivenProblem("manifest", reason or "its answer is too large"),))
    said: JSONObject = json.loads(answer)
    if "problems" in said:
        raise GivenError(tuple(GivenProblem(part, text) for part, text in said["problems"]))
    return said


def answer_question(given: Given, *, now: str, pool: Pool = PEOPLE) -> GuideResult:
    """Mask a question and answer it.

    - `now` is RFC 3339 in UTC.
    - Raises `GivenError`, also when the limits are reached.
    """
    said = _compute(given, now, pool, is_masked=False)
    return GuideResult(Given.from_json(said["kept"]), _read_change(said))


def _read_change(said: JSONObject) -> PlannedObject:
    change: Any = from_json(PlannedObject, said["change"])
    return change  # type: ignore[no-any-return]


@lru_cache(maxsize=32)
def explain_once(kept: Given, now: str, pool: Pool = PEOPLE) -> PlannedObject:
    """Return the answer to a masked question; the pages of one answer share one calculation.

    - Raises `GivenError`.
    """
    return _read_change(_compute(kept, now, pool, is_masked=True))
