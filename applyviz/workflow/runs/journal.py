"""The journal of a run: each request is stored with its audit entry before it is sent.

Displayed content is masked here; requests and answers are encrypted. An entry without an answer was interrupted: the
worker that resumes the run determines its outcome by reading live. Every method runs inside a transaction of the
caller, which renews the lease.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeGuard

from msgspec import Struct, field

from applyviz import clock
from applyviz.clusters.server_clock import compare_clocks
from applyviz.engine.objects.exchange import JSON_PATCH, Answer, Request
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.engine.planning.conflicts.server_errors import read_server_errors
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects import withheld_messages
from applyviz.engine.requests.options import PRODUCT_MANAGER
from applyviz.engine.requests.replacement import is_chosen
from applyviz.records.enums import AuditAction, EntryState, Outcome
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.records.sealing import Unsealed
from applyviz.workflow.audit import recorded_runs, trail
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import digests, failpoints, gathering
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import changes
from applyviz.workflow.runs.changed_fields import describe_changed_fields
from applyviz.workflow.runs.lease import Claim

_SERVER_ERROR = 500
_OF_ANSWER = ("state", "status", "answer", "sealed_answer", "warnings", "answered_at", "server_ahead", "took_effect")


def digest_request(request: Request) -> str:
    """Return the keyed hash of a request: method, path, query, content type and body."""
    text = canonical_json([request.method, request.path, dict(request.query), request.content_type, request.body])
    return hmac.digest(digests.digest_key(), text.encode(), "sha256").hex()


def _is_status(body: JSONValue) -> TypeGuard[JSONObject]:
    return isinstance(body, Mapping) and body.get("kind") == "Status" and body.get("apiVersion", "v1") == "v1"


class ObjectOutcome(Struct, frozen=True):
    """The result of an object: its outcome, one sentence, masked differences, and what comparing its owners found."""

    outcome: Outcome
    detail: str = ""
    differences: Sequence[Mapping[str, JSONValue]] = ()
    owners: Mapping[str, JSONValue] = field(default_factory=dict)


def _know_nothing(_now: datetime) -> timedelta | None:
    return None


class Journal(Struct, frozen=True):
    """The journal of one object of a run.

    - `change` is the decrypted change, `masked` the same without Secret values.
    - `take_reads()` returns the reads of the object since it was called last. `answers` are digests, by sequence.
    - `measure_ahead(now)` returns how far the clock of the API server is ahead of ours (`ClusterReader`).
    """

    claim: Claim
    result: ObjectResult
    change: PlannedObject
    masked: PlannedObject
    tag_key: bytes
    take_reads: Callable[[], Sequence[Mapping[str, JSONValue]]] = tuple
    measure_ahead: Callable[[datetime], timedelta | None] = _know_nothing
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def is_withholding(self) -> bool:
        """Return whether server messages are withheld, because they may repeat a masked value."""
        return withheld_messages.holds_masked(self.masked)

    def describe_answer(self, answer: Answer) -> str:
        """Return the server's message or, for an object with masked values, only its code, reason and fields."""
        if self.is_withholding:
            return withheld_messages.describe_answer(answer, self.change.versions.manifest)
        return answer.message

    def _withhold_status(self, body: Mapping[str, JSONValue]) -> JSONValue:
        manifest = self.change.versions.manifest
        causes = [
            {"field": name} for name in withheld_messages.name_fields(read_server_errors("", Answer(0, body)), manifest)
        ]
        kept = {name: body.get(name) for name in ("kind", "code", "reason")}
        return {**kept, "message": withheld_messages.WITHHELD, "causes": causes}

    def mask_answer(self, body: JSONValue) -> JSONValue:
        """Return an answer for display: objects are masked, a Status loses withheld text."""
        if _is_status(body) and self.is_withholding:
            return self._withhold_status(body)
        if _is_status(body):
            causes = (body.get("details") or {}).get("causes") or []
            return {
                "kind": "Status",
                "code": body.get("code"),
                "reason": body.get("reason"),
                "message": str(body.get("message") or ""),
                "causes": [
                    {
                        "reason": c.get("reason"),
                        "field": c.get("field"),
                        "message": str(c.get("message") or ""),
                    }
                    for c in causes
                    if isinstance(c, Mapping)
                ],
            }
        if not isinstance(body, Mapping):
            return None
        policy = masking_settings.policy_of(self.claim.run.plan)
        versions = self.masked.versions
        if self.masked is self.change and changes.is_shown_by(body, versions.after, self.change.ref, policy):
            return body
        shown = changes.mask_object(body, self.change.ref, tag_key=self.tag_key, policy=policy, shown=versions)
        if all(request.content_type != JSON_PATCH for request in self.change.requests) or versions.after is None:
            return shown
        return changes.hide_written(body, shown, versions.after, self.change.ref, tag_key=self.tag_key)

    def _audit(self, action: AuditAction, detail: Mapping[str, JSONValue]) -> None:
        subject = trail.AuditSubject.of_run(self.claim.run)
        trail.record(
            action,
            by=None,
            about=trail.AuditSubject(
                cluster=subject.cluster,
                review=subject.review,
                plan=subject.plan,
                run=subject.run,
                ref=self.change.ref,
                field_manager=self.claim.run.plan.options.get("field_manager", PRODUCT_MANAGER),
                plan_digest=subject.plan_digest,
            ),
            detail=detail,
        )

    def intend(
        self, sequence: int, part: int, request: Request, shown: JSONValue, before: Mapping[str, str]
    ) -> JournalEntry:
        """Store a request before it is sent."""
        digest, now = digest_request(request), clock.now()
        if self.result.outcome == Outcome.WAITING:
            addon_attempt = self.result.addon_attempt
            self._update_result(outcome=Outcome.APPLYING, started_at=now, addon_attempt=addon_attempt)
            self.result.outcome = Outcome.APPLYING
        entry = JournalEntry(
            result=self.result,
            sequence=sequence,
            part=part,
            epoch=self.claim.epoch,
            purpose=request.purpose,
            method=request.method,
            path=request.path,
            query=dict(request.query),
            content_type=request.content_type,
            before=dict(before),
            reads=list(self.take_reads()),
            request=as_stored(shown),
            sealed_request=Unsealed.of_json(request.body),
            request_digest=digest,
            sent_at=now,
            server_ahead=self.measure_ahead(now),
        )
        gathering.insert(entry)
        self._audit(
            AuditAction.OBJECT_INTENT,
            {
                "method": request.method,
                "path": request.path,
                "query": dict(request.query),
                "content type": request.content_type,
                "body": shown,
                "request digest": digest,
            },
        )
        failpoints.reach("run.intending")
        return entry

    def answer(self, entry: JournalEntry, answer: Answer, at: datetime) -> None:
        """Store the server's answer and its time; whether an error of the server had an effect is still unknown."""
        took_effect = None if answer.status >= _SERVER_ERROR else answer.is_ok
        changed = JournalEntry(
            pk=entry.pk,
            result_id=entry.result_id,
            sequence=entry.sequence,
            state=EntryState.ANSWERED,
            status=answer.status,
            answer=as_stored(self.mask_answer(answer.body)),
            sealed_answer=Unsealed.of_json(answer.body),
            warnings=[withheld_messages.WARNING] if answer.warnings and self.is_withholding else list(answer.warnings),
            answered_at=at,
            server_ahead=entry.server_ahead if answer.at is None else compare_clocks(answer.at, at),
            took_effect=took_effect,
        )
        gathering.update(changed, _OF_ANSWER)
        self.answers[str(entry.sequence)] = recorded_runs.digest_answer(changed.status, changed.answer)
        failpoints.reach("run.recording")

    def _update_result(self, **values: object) -> None:
        gathering.update(ObjectResult(pk=self.result.pk, **values), tuple(values))

    def has_earlier_without_answer(self, entry: JournalEntry) -> bool:
        """Return whether the same request was sent before without an answer: it may still arrive."""
        earlier = JournalEntry.objects.filter(result=self.result, part=entry.part, sequence__lt=entry.sequence)
        return earlier.exclude(state=EntryState.ANSWERED).exists()

    def resolve(self, entry: JournalEntry, note: str, took_effect: bool | None) -> None:
        """Store the determined outcome of a request without an answer; `took_effect` None: it is unknown."""
        JournalEntry.objects.filter(pk=entry.pk).update(
            state=EntryState.RESOLVED, note=note, took_effect=took_effect, answered_at=clock.now()
        )
        failpoints.reach("run.resolving")

    def _count_missing_intents(self) -> int:
        if not is_compared(self.result.change):
            return 0
        options, manifest = options_from_json(self.claim.run.plan.options), self.masked.versions.manifest or {}
        most = 2 if is_chosen(self.change.ref, manifest, options) else 1  # a replacement deletes and creates
        return max(0, most - self.result.journal.count())

    def conclude(self, found: ObjectOutcome) -> None:
        """Store the outcome of the object.

        - A Secret gets as many intent entries as its options can cause, also if it is unchanged: the number of entries
          must not reveal whether its manifest has the live values.
        """
        for _ in range(self._count_missing_intents()):
            self._audit(AuditAction.OBJECT_INTENT, {"method": "", "request digest": ""})
        now = clock.now()
        self._update_result(
            outcome=found.outcome,
            detail=as_stored(found.detail),
            differences=as_stored(list(found.differences)),
            owners=dict(found.owners),
            reads=list(self.take_reads()),
            finished_at=now,
            server_ahead=self.measure_ahead(now),
            addon_attempt=self.result.addon_attempt,
        )
        changed = describe_changed_fields(self.result.change, self.masked, found.outcome)
        detail: dict[str, JSONValue] = {"outcome": found.outcome.value, "detail": found.detail}
        detail["differences"] = list(found.differences)
        if self.change.operation in (Operation.DELETE, Operation.REPLACE):
            detail["operation"] = self.change.operation.value
        if self.answers and not is_compared(self.result.change):
            detail["answer digests"] = dict(self.answers)
        if found.owners:
            detail["owners"] = dict(found.owners)
        if self.claim.run.attempt > 1:
            detail["attempt"] = self.claim.run.attempt
        if self.result.addon_attempt > 1:
            detail["addon attempt"] = self.result.addon_attempt
        self._audit(AuditAction.OBJECT_RESULT, {**detail, **changed})
        failpoints.reach("run.telling")
