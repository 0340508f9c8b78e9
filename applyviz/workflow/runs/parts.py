"""Sending one request of an object change, and knowing what became of it.

Field conflict and version conflict are told apart once the effect was compared again. A request is sent
again only when it was not carried out for certain, or, after a version conflict, when the effect is still
the approved one. A lost answer is resolved by reading live; what cannot be resolved is *unknown*.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from applyviz.clusters.errors import NotSentError, meaning_of
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ClusterError, StalePlanError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning import holes
from applyviz.records.enums import EntryState, Outcome
from applyviz.records.models import JournalEntry
from applyviz.workflow import failpoints
from applyviz.workflow.runs.journal import Journal
from applyviz.workflow.runs.promises import identity

_ATTEMPTS = 4
_PAUSES = (0.2, 1.0, 3.0, 3.0)


@dataclass(eq=False)
class StopError(Exception):
    """The object cannot be applied: the outcome to record and one sentence why."""

    outcome: Outcome
    detail: str
    differences: list[dict[str, JSONValue]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.outcome}: {self.detail}"


def is_field_conflict(answer: Answer) -> bool:
    """Whether a 409 names other field managers (and not a changed version)."""
    causes = get_at(answer.body, ("details", "causes"), [])
    return any(isinstance(c, Mapping) and c.get("reason") == "FieldManagerConflict" for c in causes or [])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What sending one object needs of the outside, and how it looks at live.

    - `read()` gives the live object or None; `recheck()` reads it, recomputes the effect and raises
      `StopError` unless it is the approved one; `is_done(part, live)` says whether live is what this part
      promised.
    """

    writer: ClusterWriter
    read: Callable[[], JSONObject | None]
    recheck: Callable[[], JSONObject | None]
    is_done: Callable[[int, JSONObject | None], bool]
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class PartSender:
    """Sends the requests of one object, each journalled."""

    journal: Journal
    around: Surroundings

    def send(self, part: int, template: Request, shown: JSONValue, live: JSONObject | None) -> JSONObject | None:
        """Carry one request out; gives the object as it is afterwards (None: gone)."""
        for attempt in range(_ATTEMPTS):
            request = self._fill(template, live)
            entry = self.journal.intend(part, request, shown, identity(live))
            failpoints.reach("run.intended")
            try:
                answer = self.around.writer.send(request)
            except NotSentError as error:
                self.journal.resolve(entry, f"not sent: {error.reason}")
                if not error.retryable or attempt == _ATTEMPTS - 1:
                    raise StopError(Outcome.FAILED, f"the cluster could not be reached: {error.reason}") from error
                self.around.sleep(_PAUSES[attempt])
                continue
            except ClusterError as error:
                done, live = self.resolve(part, entry, live, error.reason)
            else:
                failpoints.reach("run.answered")
                self.journal.answer(entry, answer)
                failpoints.reach("run.recorded")
                done, live = self.judge(part, entry, request, answer, live)
            if done:
                return live
            self.around.sleep(_PAUSES[attempt])
        raise StopError(Outcome.FAILED, f"the cluster did not take the request in {_ATTEMPTS} attempts")

    def _fill(self, template: Request, live: JSONObject | None) -> Request:
        try:
            return replace(holes.fill(template, live), holes=())
        except StalePlanError as error:
            raise StopError(Outcome.STALE, str(error)) from error

    def judge(
        self, part: int, entry: JournalEntry, request: Request, answer: Answer, live: JSONObject | None
    ) -> tuple[bool, JSONObject | None]:
        """What an answer means: (done, live afterwards); raises `StopError` when it is final."""
        if answer.is_ok:
            return True, None if request.method == "DELETE" else answer.body
        if request.method == "DELETE" and answer.status == 404:
            return True, None
        if answer.status == 409:
            live = self.around.recheck()
            if is_field_conflict(answer):
                raise StopError(Outcome.REFUSED, self.journal.scrub(answer.message))
            return False, live
        if answer.status == 404:
            raise StopError(Outcome.STALE, f"the server no longer finds it: {self.journal.scrub(answer.message)}")
        meaning = meaning_of(answer.status)
        if answer.status == 429:
            return False, live
        if meaning.is_retryable:
            return self.resolve(part, entry, live, meaning.words)
        text = self.journal.scrub(answer.message) or meaning.words
        raise StopError(Outcome.REFUSED, f"the server refused it ({answer.status}): {text}")

    def resolve(
        self, part: int, entry: JournalEntry, before: JSONObject | None, why: str
    ) -> tuple[bool, JSONObject | None]:
        """Find out by reading live what became of a request without a usable answer."""
        return self.settle(part, entry, identity(before), why)

    def settle(
        self, part: int, entry: JournalEntry, before: Mapping[str, str], why: str
    ) -> tuple[bool, JSONObject | None]:
        """As `resolve`, with the identity from before as the journal holds it."""
        live = self.around.read()
        if self.around.is_done(part, live) and (live is None or identity(live) != dict(before)):
            self.journal.resolve(entry, f"{why}; live shows that it was carried out")
            return True, live
        if identity(live) == dict(before):
            self.journal.resolve(entry, f"{why}; live shows that it was not carried out")
            return False, live
        self.journal.resolve(entry, f"{why}; live changed to something else")
        raise StopError(
            Outcome.UNKNOWN,
            f"{why}, and the live object is neither as before nor as promised: look at it before planning again",
        )

    def take_up(self, entry: JournalEntry, template: Request) -> tuple[bool, JSONObject | None]:
        """Go on where a lost worker stopped: at its last entry; (done, live) of that part."""
        if entry.state == EntryState.ANSWERED and entry.sealed_answer is not None:
            answer = Answer(entry.status, entry.sealed_answer.open_json())
            if answer.is_ok:
                return True, self.around.read()
            return self.judge(entry.part, entry, template, answer, self.around.read() if entry.before else None)
        if entry.state == EntryState.RESOLVED:
            live = self.around.read()
            return self.around.is_done(entry.part, live) and identity(live) != entry.before, live
        return self.settle(entry.part, entry, entry.before, "the worker was lost before an answer was recorded")
