"""Ask questions of the playground in a child process with limits and a queue, outside of the process that serves pages.

Visitors without an account have a separate pool that computes one question at a time, so that they never delay people
with an account.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.given_sets import SetQuery
from applyviz.sources.child import ChildLimits, ask_child, prepare_child

LIMITS = ChildLimits(memory_bytes=512 * 1024 * 1024, cpu_seconds=5, wall_seconds=20.0, answer_bytes=3 * 1024 * 1024)
VISITOR_BYTES = 64 * 1024
BUSY = "very many people are asking just now; ask again in a moment"


class Pool(Struct, frozen=True):
    """The slots of one group of people; `wait_seconds` is the longest wait for a slot."""

    turns: BoundedSemaphore
    wait_seconds: float

    @contextmanager
    def take_turn(self) -> Iterator[None]:
        """Hold one slot; raises `PlaygroundQueryError` if none becomes free."""
        if not self.turns.acquire(timeout=self.wait_seconds):
            raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", BUSY),))
        try:
            yield
        finally:
            self.turns.release()


VISITORS = Pool(BoundedSemaphore(1), wait_seconds=5.0)
PEOPLE = Pool(BoundedSemaphore(3), wait_seconds=LIMITS.wall_seconds)


def check_size(given: PlaygroundQuery | SetQuery | ChannelQuery) -> None:
    """Raise `PlaygroundQueryError` if the text exceeds the limit of visitors without an account."""
    size = sum(len(value.encode()) for value in given.to_json().values() if isinstance(value, str))
    if size > VISITOR_BYTES:
        reason = f"all texts together are {size:,} bytes; without signing in at most {VISITOR_BYTES:,} are computed"
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", reason),))


def prepare(child: str) -> None:
    """Start to load the code of a child while the person fills in the form; does nothing if it is loaded."""
    prepare_child(child)


def ask(child: str, question: JSONObject, pool: Pool) -> JSONObject:
    """Return the answer of a child's `main` to a question, which also gets the limits that it sets on itself.

    - Raises `PlaygroundQueryError` for its problems, and when the limits are reached.
    """
    limits = {
        "memory_bytes": LIMITS.memory_bytes,
        "cpu_seconds": LIMITS.cpu_seconds,
        "answer_bytes": LIMITS.answer_bytes,
    }
    with pool.take_turn():
        answer, reason = ask_child(child, json.dumps({**question, **limits}).encode() + b"\n", LIMITS, act="computing")
    if reason or len(answer) > LIMITS.answer_bytes:
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", reason or "its answer is too large"),))
    found: JSONObject = json.loads(answer)
    if "problems" in found:
        raise PlaygroundQueryError(tuple(PlaygroundQueryProblem(part, text) for part, text in found["problems"]))
    return found
