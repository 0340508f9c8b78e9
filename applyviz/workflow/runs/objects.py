"""Applying one object of a run: read live, compare the effect, send what was approved, verify the answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects import conflict_rules
from applyviz.engine.planning.objects.name_masking import show_paths
from applyviz.engine.planning.objects.progress import has_moved, is_rest, leave_record
from applyviz.engine.requests.calls import changes_no_value, moves_ownership
from applyviz.engine.requests.options import PRODUCT_MANAGER
from applyviz.engine.schema.model import KindSchema
from applyviz.records.enums import Outcome, OwnerCheck
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.object_choices import is_left_out
from applyviz.workflow.plans.outcome_check import find_broken, identity, take_promised
from applyviz.workflow.plans.owner_check import count_owned_fields, find_wrong_owners, states_owners
from applyviz.workflow.runs import deletions
from applyviz.workflow.runs.effect_check import has_other_effect, raise_if_stale
from applyviz.workflow.runs.establish import wait_until_served
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, OutcomeRecorded, Persist, Sleep
from applyviz.workflow.runs.journal import Journal, ObjectOutcome
from applyviz.workflow.runs.lease import Claim
from applyviz.workflow.runs.live_objects import read_object, withhold_texts
from applyviz.workflow.runs.pod_reports import read_pod_report
from applyviz.workflow.runs.request_sender import RequestSender, SendContext, StopError
from applyviz.workflow.runs.rollout import Rollout
from applyviz.workflow.runs.rules import RunRules
from applyviz.workflow.runs.run_content import RunContent

logger = logging.getLogger(__name__)


class Access(Struct, frozen=True):
    """The context that all objects of a run share.

    - `recompute(result)` returns the change as it would be planned now; `pop_checked(result)`, once, the change that
      this process calculated during its check; `take_reads(change)`, once, the reads of the object that it sent.
    - `content`: the changes of the run; that of an object must be loaded while its `ObjectRun` lives.
    """

    claim: Claim
    reader: ClusterReader
    writer: ClusterWriter
    find_kind: Callable[[PlannedObject], KindSchema | None]
    find_path: Callable[[PlannedObject], str]
    recompute: Callable[[ObjectResult], PlannedObject]
    pop_checked: Callable[[ObjectResult], PlannedObject | None]
    take_reads: Callable[[PlannedObject], Sequence[Mapping[str, JSONValue]]]
    tag_key: bytes
    rules: RunRules
    content: RunContent
    clock: Callable[[], float] = time.monotonic


class Ended(Struct, frozen=True):
    """The outcome of one object; `is_ready` is False when its rollout failed or timed out."""

    result: ObjectResult
    outcome: Outcome
    is_ready: bool = True
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Return whether objects that depend on this one may follow."""
        return (self.outcome.is_good and self.is_ready) or is_left_out(self.result.change)


def read_patience(run: ApplyRun) -> float:
    """Return how many seconds a run waits until a deleted object is gone."""
    return float(options_from_json(run.plan.options).deletion_seconds)


def _find_before(change: PlannedObject) -> JSONObject | None:
    """Return the object that a change starts from; None for a change that replaces the object."""
    return None if change.operation is Operation.REPLACE else change.versions.live


def _is_close(one: str, other: str) -> bool:
    """Return whether a rendered path is another one, or one leads to the other: owners follow from a wrong value."""
    return one == other or one.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{one}.", f"{one}["))


class ObjectRun:
    """One object from its first attempt to its outcome."""

    def __init__(self, access: Access, result: ObjectResult, last: JournalEntry | None = None) -> None:
        self._access = access
        self._result = result
        result.run = access.claim.run  # read by executor threads, which must not query the database
        # The journal goes on; an earlier attempt left nothing of this object to resume.
        is_begun = result.outcome != Outcome.WAITING and last is not None and last.epoch >= access.claim.first_epoch
        self._last = last if is_begun else None
        self._row = result.change
        self._change, self._masked = changes.open_cores(self._row)
        self._promised = self._change.versions.after or self._change.versions.merged
        self._before = _find_before(self._change)
        # An object that is read after a lost answer may contain writes of controllers: only the plan's fields count.
        self._has_moved = self._last is not None
        self._kind = access.find_kind(self._change)
        self._writes = [(n, r) for n, r in enumerate(self._change.requests) if r.is_write]
        sources = partial(access.take_reads, self._change), access.reader.measure_ahead
        self._journal = Journal(access.claim, result, self._change, self._masked, access.tag_key, *sources)
        around = SendContext(access.writer, self._read, self._recheck, self._is_done, self._may_repeat)
        self._sender = RequestSender(self._journal, around, sent=last.sequence + 1 if last else 0)

    def flow(self) -> ObjectFlow[Ended]:
        """Bring the object to its outcome, record it, then wait for its rollout."""
        outcome, detail, live = yield from self._conclude(self._carry_out())
        yield OutcomeRecorded()
        if not outcome.is_good or not self._writes:
            return Ended(self._result, outcome, detail=detail)
        return (yield from self._follow_up(outcome, live))

    def check_last_write(self) -> ObjectFlow[Ended]:
        """Determine and record the outcome of a lost worker's last write; send nothing more."""
        outcome, detail, _ = yield from self._conclude(self._find_end())
        return Ended(self._result, outcome, detail=detail)

    def check_applied(self, now: PlannedObject) -> None:
        """Raise `StopError` unless live still is what was approved and applied, before its rollout is awaited again."""
        self._has_moved = True
        live = now.versions.live
        if live is None:
            raise StopError(Outcome.DIFFERS, "it was deleted after it was applied: re-plan")
        broken = self._broken(live)
        if broken:
            paths = ", ".join(str(one["path"]) for one in broken[:5])
            raise StopError(Outcome.DIFFERS, f"it changed after it was applied: {paths}: re-plan", list(broken))

    def _conclude(self, steps: ObjectFlow[JSONObject | None]) -> ObjectFlow[tuple[Outcome, str, JSONObject | None]]:
        live: JSONObject | None = None
        try:
            live = yield from steps
            found = self._verify(live) if self._writes else self._find_calm()
        except StopError as stop:
            found = ObjectOutcome(stop.outcome, stop.detail, stop.differences)
        except ApplyVizError as error:
            found = self._fail(str(error))
        except Exception as error:  # any error: other objects continue or stop according to the rules
            log_unexpected(logger, f"run {self._access.claim.run.number}: {self._change.ref} stopped", error)
            found = self._fail(f"an unexpected error stopped it ({type(error).__name__})")
        failpoints.reach("run.concluding")
        yield Persist(partial(self._journal.conclude, found))
        failpoints.reach("run.concluded")
        return found.outcome, found.detail, live

    def _find_calm(self) -> ObjectOutcome:
        """Return the outcome of an object that the plan does not write."""
        if self._change.operation is not Operation.LEFT_OUT:
            return deletions.conclude_unwritten(self._change)
        return ObjectOutcome(
            Outcome.LEFT_OUT,
            f"left out by the plan: {options_from_json(self._access.claim.run.plan.options).left_out_reason}",
        )

    def follow_up(self) -> ObjectFlow[Ended]:
        """Continue waiting for the rollout of an object whose outcome a lost worker recorded."""
        yield OutcomeRecorded()
        return (yield from self._follow_up(Outcome(self._result.outcome), None))

    def _follow_up(self, outcome: Outcome, live: JSONObject | None) -> ObjectFlow[Ended]:
        yield from wait_until_served(self._access.reader, self._change, clock=self._access.clock)
        rules = self._access.rules
        if not rules.waits_for_rollout or self._change.operation.is_deletion:
            return Ended(self._result, outcome)
        report = partial(read_pod_report, self._access.reader, is_withholding=self._journal.is_withholding)
        waiting = Rollout(
            self._result, self._read_without_texts, report, seconds=rules.rollout_seconds, clock=self._access.clock
        )
        is_ready, detail = yield from waiting.flow(self._without_texts(live))
        return Ended(self._result, outcome, is_ready, detail)

    def _fail(self, detail: str) -> ObjectOutcome:
        """Return the outcome after an internal error: the last request may have been executed."""
        return ObjectOutcome(Outcome.UNKNOWN if self._sender.sent else Outcome.FAILED, detail)

    def _carry_out(self) -> ObjectFlow[JSONObject | None]:
        position, live = 0, None
        if self._last is not None:
            position, live = yield from self._resume(self._last)
            if 0 < position < len(self._writes) and live is not None:
                # Others may have written since the finished part: the remaining effect must still be the approved one.
                live = yield CallCluster(partial(self._recheck, self._writes[position][0]))
        elif self._writes:
            now = self._access.pop_checked(self._result)
            live = self._expect(now) if now is not None else (yield CallCluster(self._find_live))
        for part, template in self._writes[position:]:
            if deletions.is_going(self._change, live):
                return (yield from self._wait_until_gone(live))
            live = yield from self._sender.send(part, template, self._masked.requests[part].body, live)
            if deletions.goes_with(self._change, part):
                live = yield from self._wait_until_gone(live)
        return live

    def _resume(self, last: JournalEntry) -> ObjectFlow[tuple[int, JSONObject | None]]:
        """Return how many writes a lost worker completed, and the live object after them."""
        position = next(n for n, (number, _) in enumerate(self._writes) if number == last.part)
        template = self._writes[position][1]
        done, live = yield from self._sender.resume(last, template)
        if done and deletions.goes_with(self._change, last.part):
            live = yield from self._wait_until_gone(live)
        return position + done, live

    def _find_end(self) -> ObjectFlow[JSONObject | None]:
        if self._last is None:
            raise StopError(Outcome.FAILED, "none of its requests was sent")
        done, live = yield from self._resume(self._last)
        if done < len(self._writes):
            raise StopError(Outcome.FAILED, f"the run ended early: {done} of {len(self._writes)} requests were done")
        return live

    def _read(self) -> JSONObject | None:
        return read_object(self._access.reader, self._change.ref, self._access.find_path(self._change))

    def _read_without_texts(self) -> JSONObject | None:
        return self._without_texts(self._read())

    def _without_texts(self, live: JSONObject | None) -> JSONObject | None:
        return withhold_texts(live) if self._journal.is_withholding else live

    def _find_live(self) -> JSONObject | None:
        """Read live; when it changed since the effect was compared, compare again."""
        live = self._read()
        return live if identity(live) == self._result.checked else self._recheck(0)

    def _recheck(self, part: int) -> JSONObject | None:
        """Recompute the effect on the current live object; raise unless it is the approved one, or the rest of it.

        - `part`: the next request; the earlier ones were executed.
        """
        now = self._access.recompute(self._result)
        done = [request for number, request in self._writes if number < part]
        is_left = bool(done) and is_rest(changes.open_sealed(self._row), part, now)
        if not is_left and has_other_effect(self._result, now):
            # A controller may have written between the read and the dry run.
            now = self._access.recompute(self._result)
            is_left = bool(done) and is_rest(changes.open_sealed(self._row), part, now)
        if not is_left:
            raise_if_stale(self._result, now, tag_key=self._access.tag_key, kind=self._kind)
        if done and not is_left:
            raise StopError(Outcome.STALE, "another client undid the earlier request of this run")
        return self._expect(now) if all(map(moves_ownership, done)) else self._keep_promise(now, part)

    def _keep_promise(self, now: PlannedObject, part: int) -> JSONObject | None:
        """Check after the values were applied that the approved values are still there; additions of others are fine.

        - A new plan would miss an edit that restores a removed field, so the approved plan is compared.
        - Raises `StopError` when an approved value changed.
        """
        self._has_moved = True
        broken = self._broken(now.versions.live or {}, self._change.requests[part:])
        if broken:
            paths = ", ".join(str(one["path"]) for one in broken[:5])
            raise StopError(Outcome.STALE, f"it changed after the values were applied: {paths}", list(broken))
        return now.versions.live

    def _expect(self, now: PlannedObject) -> JSONObject | None:
        """Return the expected object: fields that the plan does not touch may have changed since."""
        self._promised = now.versions.after or now.versions.merged
        self._before = _find_before(now)
        self._has_moved = False
        return now.versions.live

    def _is_done(self, part: int, live: JSONObject | None) -> bool:
        """Return whether live is the result of this part; always False for a value change before the last part."""
        template = self._change.requests[part]
        if deletions.goes_with(self._change, part) or (live is None and self._change.is_ended):
            return deletions.is_done(template, live)
        if live is not None and moves_ownership(template):
            return has_moved(self._change, part, live)
        later = self._change.requests[part + 1 :]
        return live is not None and all(map(changes_no_value, later)) and not self._broken(live, later)

    def _may_repeat(self, part: int) -> bool:
        """Return whether a part may be sent again while live is unchanged: ownership moves, and what follows them.

        - Ownership shows whether an apply was executed, so that none is repeated over the writes of others.
        """
        return any(moves_ownership(request) for request in self._change.requests[: part + 1])

    def _broken(self, live: JSONObject, later: Sequence[Request] = ()) -> tuple[dict[str, JSONValue], ...]:
        """Return the fields that differ from the promised ones; `later`: the requests that are not sent yet."""
        if self._promised is None:
            return ()
        promised, live = leave_record(later, self._promised), leave_record(later, live)
        kind, before = self._kind, self._before
        find = partial(
            find_broken,
            root=kind.root if kind else None,
            is_confirmed=self._change.certainty is Certainty.CONFIRMED,
            has_moved=self._has_moved,
            omits_empty=kind is not None and not kind.is_custom,
            writes_status=self._change.writes_status,
        )
        if not find(promised, live, before=before):
            return ()
        policy = masking_settings.policy_of(self._access.claim.run.plan)
        mask = partial(changes.mask_object, ref=self._change.ref, tag_key=self._access.tag_key, policy=policy)
        shown = find(mask(promised), mask(live), before=None if before is None else mask(before))
        return tuple(
            {"path": render_path(d.path), "promised": changes.show_value(d.before), "got": changes.show_value(d.after)}
            for d in shown
            if not conflict_rules.is_left_out(self._change, d.path)
        )

    def _verify(self, live: JSONObject | None) -> ObjectOutcome:
        if self._change.operation.is_deletion:
            return deletions.conclude(self._result, live, was_sent=bool(self._sender.sent))
        if live is None:
            return ObjectOutcome(Outcome.DIFFERS, "it was applied, and no longer exists")
        live = take_promised(self._promised, live)
        broken = list(self._broken(live))
        memo = FieldSetMemo()  # each object is asked several times
        wrong = self._find_wrong_owners(live, memo)
        report = self._report_owners(live, memo, has_wrong=bool(wrong))
        owners = [one for one in wrong if not any(_is_close(str(one["path"]), str(other["path"])) for other in broken)]
        if not broken and not owners:
            is_stated = report["state"] != OwnerCheck.NOT_STATED
            detail = "" if is_stated else "the plan lists no field owners: only values were compared"
            return ObjectOutcome(Outcome.VERIFIED, detail, owners=report)
        count = len(broken)
        parts = [f"{count} field{'s differ' if count > 1 else ' differs'} from the approved result"] if broken else []
        if owners:
            parts.append(f"{len(owners)} field{'s have' if len(owners) > 1 else ' has'} other owners than approved")
        return ObjectOutcome(Outcome.DIFFERS, ", ".join(parts), [*broken, *owners], report)

    def _report_owners(self, live: JSONObject, memo: FieldSetMemo, *, has_wrong: bool) -> dict[str, JSONValue]:
        """Return the result of the comparison of owners, as it is stored and recorded."""
        promised = self._promised
        if promised is None or not states_owners(promised, memo=memo):
            return {"state": OwnerCheck.NOT_STATED.value}
        state = OwnerCheck.DIFFER if has_wrong else OwnerCheck.VERIFIED
        return {"state": state.value, "fields": count_owned_fields(promised, live, manager=self._manager, memo=memo)}

    @property
    def _manager(self) -> str:
        named: str = self._access.claim.run.plan.options.get("field_manager", PRODUCT_MANAGER)
        return named

    def _find_wrong_owners(self, live: JSONObject, memo: FieldSetMemo) -> list[dict[str, JSONValue]]:
        """Return the fields with other owners than promised."""
        if self._promised is None or not states_owners(self._promised, memo=memo):
            return []
        found = find_wrong_owners(
            self._promised,
            live,
            manager=self._manager,
            root=self._kind.root if self._kind else None,
            is_confirmed=self._change.certainty is Certainty.CONFIRMED,
            before=self._before,
            has_moved=self._has_moved,
            memo=memo,
        )
        wrong = [one for one in found if not conflict_rules.is_left_out(self._change, one.path)]
        if not wrong:
            return []
        policy = masking_settings.policy_of(self._access.claim.run.plan)
        shown = show_paths(self._change, self._access.tag_key, policy, [one.path for one in wrong])
        return [{"path": path, **one.name_owners()} for path, one in zip(shown, wrong, strict=True)]

    def _wait_until_gone(self, live: JSONObject | None) -> ObjectFlow[JSONObject | None]:
        uid = identity(live or self._change.versions.live).get("uid")
        seconds = read_patience(self._access.claim.run)
        deadline = self._access.clock() + seconds
        while True:
            try:
                live = yield CallCluster(self._read)
            except (
                StopError
            ) as stop:  # the server accepted the deletion; an unreadable object does not make it a failure
                why = f"it is being deleted, and {stop.detail}"
            else:
                if live is None or identity(live).get("uid") != uid:
                    return None
                why = deletions.describe_remaining(live, seconds)
            if self._access.clock() >= deadline:
                raise StopError(Outcome.UNKNOWN, why)
            yield Sleep(0.5)
