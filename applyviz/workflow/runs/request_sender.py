"""Sends the requests of one object change and determines their outcomes.

A field conflict and a version conflict are distinguished after the effect was compared again. A request is repeated
only when it was certainly not executed or, after a version conflict, when the effect is still the approved one. A lost
answer is resolved by reading live; an outcome that cannot be determined is *unknown*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TypeAlias

from msgspec import Struct

from applyviz.clusters.errors import NotSentError, meaning_of
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import ClusterError, StalePlanError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model import placeholders
from applyviz.records.enums import EntryState, Outcome
from applyviz.records.models import JournalEntry
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.plans.outcome_check import identity
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, Persist, Sleep
from applyviz.workflow.runs.journal import Journal

# The first one and five retries, as kubectl patches after conflicts.
_MAX_ATTEMPTS = 6
_PAUSES = (0.2, 1.0, 3.0, 3.0, 3.0, 3.0)
_LONGEST_PAUSE = 30.0
_LOOKING_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0)


@dataclass(eq=False)
class StopError(Exception):
    """The object cannot be applied: the outcome to record and one sentence why."""

    outcome: Outcome
    detail: str
    differences: list[dict[str, JSONValue]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.outcome}: {self.detail}"


def is_the_object(body: JSONValue, ref: ObjectRef, before: Mapping[str, str]) -> bool:
    """Return whether a body is an object of this name and kind, and of the same uid if it existed before."""
    if not isinstance(body, Mapping) or not ref.is_shown_by(body):
        return False
    uid = as_mapping(body["metadata"]).get("uid")
    return bool(uid == before.get("uid", uid))


def is_field_conflict(answer: Answer) -> bool:
    """Return whether a 409 names other field managers instead of a changed version."""
    causes = get_at(answer.body, ("details", "causes"), [])
    return any(isinstance(c, Mapping) and c.get("reason") == "FieldManagerConflict" for c in causes or [])


class SendContext(Struct, frozen=True):
    """The context for sending one object; nothing here uses the database.

    - `read()` returns the live object or None; `recheck(part)` reads it, recomputes the effect and raises `StopError`
      unless the effect is the approved one, or the rest of it before `part`; `is_done(part, live)` says whether live is
      the result of this part; `may_repeat(part)` says whether it may be sent again while live is unchanged.
    """

    writer: ClusterWriter
    read: Callable[[], JSONObject | None]
    recheck: Callable[[int], JSONObject | None]
    is_done: Callable[[int, JSONObject | None], bool]
    may_repeat: Callable[[int], bool]


class _Received(Struct, frozen=True):
    """An answer and its duration."""

    answer: Answer
    after: timedelta


Part: TypeAlias = ObjectFlow[tuple[bool, JSONObject | None]]


@dataclass(slots=True)
class RequestSender:
    """Sends the requests of one object, each journaled; `sent` counts its journal entries."""

    journal: Journal
    around: SendContext
    sent: int = 0

    def send(
        self, part: int, template: Request, shown: JSONValue, live: JSONObject | None
    ) -> ObjectFlow[JSONObject | None]:
        """Send one request until it is done; return the resulting object (None: deleted)."""
        for attempt in range(_MAX_ATTEMPTS):
            request, pause = self._fill(template, live), _PAUSES[attempt]
            entry = yield from self._intend(part, request, shown, identity(live))
            failpoints.reach("run.intended")
            try:
                received = yield CallCluster(partial(self._send, request))
            except NotSentError as error:
                yield from self._resolve(entry, f"not sent: {error.reason}", False)
                if not error.is_retryable or attempt == _MAX_ATTEMPTS - 1:
                    raise StopError(Outcome.FAILED, f"the cluster could not be reached: {error.reason}") from error
                done = False
            except ClusterError as error:
                done, live = yield from self.determine_outcome(part, entry, identity(live), error.reason)
            else:
                failpoints.reach("run.answered")
                at = entry.sent_at + received.after
                yield Persist(partial(self.journal.answer, entry, received.answer, at), can_wait=True)
                failpoints.reach("run.recorded")
                done, live = yield from self.judge(part, entry, request, received.answer, live)
                pause = max(pause, min(received.answer.retry_after, _LONGEST_PAUSE))
            if done:
                return live
            yield Sleep(pause)
        raise StopError(Outcome.FAILED, f"the cluster did not accept the request in {_MAX_ATTEMPTS} attempts")

    def _send(self, request: Request) -> _Received:
        began = monotonic()
        answer = self.around.writer.send(request)
        return _Received(answer, timedelta(seconds=monotonic() - began))

    def _intend(
        self, part: int, request: Request, shown: JSONValue, before: Mapping[str, str]
    ) -> ObjectFlow[JournalEntry]:
        entry: JournalEntry = yield Persist(partial(self.journal.intend, self.sent, part, request, shown, before))
        self.sent += 1
        return entry

    def _resolve(self, entry: JournalEntry, note: str, took_effect: bool | None) -> ObjectFlow[None]:
        yield Persist(partial(self.journal.resolve, entry, note, took_effect))
        failpoints.reach("run.resolved")

    def _fill(self, template: Request, live: JSONObject | None) -> Request:
        try:
            return replace(placeholders.fill(template, live), placeholders=())
        except StalePlanError as error:
            raise StopError(Outcome.STALE, str(error)) from error

    def judge(self, part: int, entry: JournalEntry, request: Request, answer: Answer, live: JSONObject | None) -> Part:
        """Interpret an answer: return (done, live afterwards); raise `StopError` when it is final."""
        if answer.is_ok:
            return (yield from self._accept(part, entry, request.method, answer, live))
        is_deletion = request.method == "DELETE" or self.journal.change.is_ended
        if is_deletion and answer.status == 404:
            return True, None
        if answer.status == 409:
            done, live = yield from self._judge_conflict(part, entry, answer)
            return done or (is_deletion and live is None), live
        if answer.status == 404:
            raise StopError(Outcome.STALE, f"the server no longer finds it: {self.journal.describe_answer(answer)}")
        meaning = meaning_of(answer.status)
        if answer.status == 429:
            return False, live
        if meaning.is_retryable:
            return (yield from self.determine_outcome(part, entry, identity(live), meaning.words))
        text = self.journal.describe_answer(answer) or meaning.words
        raise StopError(Outcome.REFUSED, f"the server refused it ({answer.status}): {text}")

    def _accept(self, part: int, entry: JournalEntry, method: str, answer: Answer, live: JSONObject | None) -> Part:
        """Accept a success that contains the object; for another body, determine the outcome by reading live."""
        if method == "DELETE":
            return True, None
        before = identity(live)
        if is_the_object(answer.body, self.journal.change.ref, before):
            return True, answer.body
        if self.journal.change.subresource == "scale":  # its answer is a Scale; the object is read for verification
            return True, (yield from self._read_live(entry, "the replica count was written"))
        return (
            yield from self.determine_outcome(
                part, entry, before, "the server answered with something else than the object"
            )
        )

    def _judge_conflict(self, part: int, entry: JournalEntry, answer: Answer) -> Part:
        """Handle a conflict: not executed, unless a late request of a frozen worker caused the conflict."""
        try:
            live = yield CallCluster(partial(self.around.recheck, part))
        except StopError:
            is_ours = yield Persist(partial(self.journal.has_earlier_without_answer, entry))
            if not is_ours:
                raise
            live = yield from self._read_live(entry, "the object had changed")
            if not self.around.is_done(part, live):
                raise
            note = "an earlier request of this run had arrived late; live shows what it did"
            yield from self._resolve(entry, note, True)
            return True, live
        if is_field_conflict(answer):
            raise StopError(Outcome.REFUSED, self.journal.describe_answer(answer))
        return False, live

    def determine_outcome(self, part: int, entry: JournalEntry, before: Mapping[str, str], why: str) -> Part:
        """Determine the outcome of a request without a usable answer by reading live.

        - `before` is the identity of the object when the request was sent, as the journal holds it.
        - When the cluster cannot be read either, the outcome is unknown.
        """
        live = yield from self._read_live(entry, why)
        if self.around.is_done(part, live) and (live is None or identity(live) != dict(before)):
            yield from self._resolve(entry, f"{why}; live shows that it was carried out", True)
            return True, live
        if identity(live) == dict(before):
            yield from self._resolve(entry, f"{why}; live shows that it was not carried out", False)
            return False, live
        if live is not None and self.around.may_repeat(part):
            with suppress(StopError):
                live = yield CallCluster(partial(self.around.recheck, part))
                note = f"{why}; live shows that it was not carried out, and that others wrote"
                yield from self._resolve(entry, note, False)
                return False, live
        yield from self._resolve(entry, f"{why}; live changed to something else", None)
        raise StopError(
            Outcome.UNKNOWN,
            f"{why}, and the live object is neither as before nor as approved: check it before you re-plan",
        )

    def _read_live(self, entry: JournalEntry, why: str) -> ObjectFlow[JSONObject | None]:
        """Read live with retries, because the outcome of a write depends on it."""
        for pause in (*_LOOKING_PAUSES, None):
            try:
                live: JSONObject | None = yield CallCluster(self.around.read)
            except StopError as stop:
                if pause is None:
                    yield from self._resolve(entry, f"{why}; {stop.detail}", None)
                    raise StopError(Outcome.UNKNOWN, f"{why}, and {stop.detail}: its outcome is unknown") from stop
                yield Sleep(pause)
            else:
                return live
        raise AssertionError("the last look either answers or raises")

    def resume(self, entry: JournalEntry, template: Request) -> Part:
        """Continue at the last entry of a lost worker; return (done, live) of that part."""
        if entry.state == EntryState.ANSWERED and entry.sealed_answer is not None:
            answer = Answer(entry.status, entry.sealed_answer.open_json())
            if answer.is_ok and template.method == "DELETE":
                return True, None
            if answer.is_ok and is_the_object(answer.body, self.journal.change.ref, entry.before):
                return True, answer.body
            if answer.is_ok:
                return (yield from self.determine_outcome(entry.part, entry, entry.before, "the worker was lost"))
            live = yield from self._read_live(entry, "the worker was lost")
            return (yield from self.judge(entry.part, entry, template, answer, live))
        return (
            yield from self.determine_outcome(
                entry.part, entry, entry.before, "the worker was lost before an answer was recorded"
            )
        )
