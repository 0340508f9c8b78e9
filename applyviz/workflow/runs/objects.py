"""Applying one object of a run: read live, compare the effect, send what was approved, verify the answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.conflict_rules import is_left_out
from applyviz.engine.planning.objects.progress import has_moved, is_rest
from applyviz.engine.planning.objects.withheld_messages import without_messages
from applyviz.engine.requests.calls import moves_ownership
from applyviz.engine.requests.options import PRODUCT_MANAGER
from applyviz.engine.schema.model import KindSchema
from applyviz.records.enums import Outcome
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.outcome_check import find_broken, identity
from applyviz.workflow.plans.owner_check import find_wrong_owners, states_owners
from applyviz.workflow.runs.effect_check import raise_if_stale
from applyviz.workflow.runs.establish import wait_until_served
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, OutcomeRecorded, Persist, Sleep
from applyviz.workflow.runs.journal import Journal
from applyviz.workflow.runs.lease import Claim
from applyviz.workflow.runs.pod_reports import read_pod_report
from applyviz.workflow.runs.request_sender import RequestSender, SendContext, StopError, is_the_object
from applyviz.workflow.runs.rollout import Rollout
from applyviz.workflow.runs.rules import RunRules

logger = logging.getLogger(__name__)
_GONE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Access:
    """The context that all objects of a run share.

    - `recompute(result)` returns the change as it would be planned now.
    - `pop_checked(result)` returns, once, the change that this process calculated during its check.
    """

    claim: Claim
    reader: ClusterReader
    writer: ClusterWriter
    find_kind: Callable[[PlannedObject], KindSchema | None]
    find_path: Callable[[PlannedObject], str]
    recompute: Callable[[ObjectResult], PlannedObject]
    pop_checked: Callable[[ObjectResult], PlannedObject | None]
    tag_key: bytes
    rules: RunRules
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of one object; `is_ready` is False when its rollout failed or timed out."""

    result: ObjectResult
    outcome: Outcome
    is_ready: bool = True
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Return whether objects that depend on this one may follow."""
        return self.outcome.is_good and self.is_ready


Finding: TypeAlias = tuple[Outcome, str, list[dict[str, JSONValue]]]


def _find_before(change: PlannedObject) -> JSONObject | None:
    """Return the object that a change starts from; None for a change that replaces the object."""
    return None if change.operation is Operation.REPLACE else change.versions.live


def _list_owners(owners: tuple[str, ...]) -> str:
    return f"owners: {', '.join(owners) or 'none'}"


def _is_around(outer: str, inner: str) -> bool:
    """Return whether a rendered path is another one, or leads to it."""
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


class ObjectRun:
    """One object from its first attempt to its outcome."""

    def __init__(self, access: Access, result: ObjectResult, last: JournalEntry | None = None) -> None:
        self._access = access
        self._result = result
        result.run = access.claim.run  # read by executor threads, which must not query the database
        self._last = last
        self._row = result.change
        self._change = changes.open_sealed_core(self._row)
        self._masked = changes.read_masked_core(self._row)
        self._promised = self._change.versions.after or self._change.versions.merged
        self._before = _find_before(self._change)
        # An object that is read after a lost answer may contain writes of controllers: only the plan's fields count.
        self._has_moved = last is not None
        self._kind = access.find_kind(self._change)
        self._writes = [(n, r) for n, r in enumerate(self._change.requests) if r.is_write]
        self._journal = Journal(access.claim, result, self._change, self._masked, access.tag_key)
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

    def _conclude(self, steps: ObjectFlow[JSONObject | None]) -> ObjectFlow[tuple[Outcome, str, JSONObject | None]]:
        live: JSONObject | None = None
        try:
            live = yield from steps
            found = self._verify(live) if self._writes else (Outcome.UNCHANGED, "", [])
        except StopError as stop:
            found = stop.outcome, stop.detail, stop.differences
        except ApplyVizError as error:
            found = self._fail(str(error))
        except Exception as error:  # any error: other objects continue or stop according to the rules
            log_unexpected(logger, f"run {self._access.claim.run.number}: {self._change.ref} stopped", error)
            found = self._fail(f"an unexpected error stopped it ({type(error).__name__})")
        failpoints.reach("run.concluding")
        yield Persist(partial(self._journal.conclude, *found))
        failpoints.reach("run.concluded")
        outcome, detail, _ = found
        return outcome, detail, live

    def follow_up(self) -> ObjectFlow[Ended]:
        """Continue waiting for the rollout of an object whose outcome a lost worker recorded."""
        yield OutcomeRecorded()
        return (yield from self._follow_up(Outcome(self._result.outcome), None))

    def _follow_up(self, outcome: Outcome, live: JSONObject | None) -> ObjectFlow[Ended]:
        yield from wait_until_served(self._access.reader, self._change, clock=self._access.clock)
        rules = self._access.rules
        if not rules.waits_for_rollout or self._change.operation is Operation.PRUNE:
            return Ended(self._result, outcome)
        report = partial(read_pod_report, self._access.reader, is_withholding=self._journal.is_withholding)
        waiting = Rollout(
            self._result, self._read_told, report, seconds=rules.rollout_seconds, clock=self._access.clock
        )
        is_ready, detail = yield from waiting.flow(self._without_words(live))
        return Ended(self._result, outcome, is_ready, detail)

    def _fail(self, detail: str) -> Finding:
        """Return the outcome after an internal error: the last request may have been executed."""
        return (Outcome.UNKNOWN if self._sender.sent else Outcome.FAILED), detail, []

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
            live = yield from self._sender.send(part, template, self._shown(part), live)
            if template.method == "DELETE":
                live = yield from self._wait_until_gone(live)
        return live

    def _resume(self, last: JournalEntry) -> ObjectFlow[tuple[int, JSONObject | None]]:
        """Return how many writes a lost worker completed, and the live object after them."""
        position = next(n for n, (number, _) in enumerate(self._writes) if number == last.part)
        template = self._writes[position][1]
        done, live = yield from self._sender.resume(last, template)
        if done and template.method == "DELETE":
            live = yield from self._wait_until_gone(live)
        return position + done, live

    def _find_end(self) -> ObjectFlow[JSONObject | None]:
        if self._last is None:
            raise StopError(Outcome.FAILED, "nothing of it was sent")
        done, live = yield from self._resume(self._last)
        if done < len(self._writes):
            raise StopError(Outcome.FAILED, f"the run ended early: {done} of {len(self._writes)} requests were done")
        return live

    def _shown(self, part: int) -> JSONValue:
        return self._masked.requests[part].body

    def _read(self) -> JSONObject | None:
        answer = self._access.reader.try_send(Request("GET", self._access.find_path(self._change), purpose="read"))
        if answer.status == 404 and answer.reason == "NotFound":  # any other 404 comes from a proxy in between
            return None
        if not answer.is_ok or not is_the_object(answer.body, self._change.ref, {}):
            raise StopError(Outcome.FAILED, f"the live object could not be read ({answer.status or 'no answer'})")
        found: JSONObject = answer.body
        return found

    def _read_told(self) -> JSONObject | None:
        return self._without_words(self._read())

    def _without_words(self, live: JSONObject | None) -> JSONObject | None:
        """Return an object without the free text of its status where texts are withheld; reasons stay."""
        if live is None or "status" not in live or not self._journal.is_withholding:
            return live
        return {**live, "status": without_messages(live["status"])}

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
        if not is_left:
            raise_if_stale(self._result, now, tag_key=self._access.tag_key, kind=self._kind)
        if done and not is_left:
            raise StopError(Outcome.STALE, "another client undid the earlier request of this run")
        return self._expect(now) if all(map(moves_ownership, done)) else self._keep_promise(now)

    def _keep_promise(self, now: PlannedObject) -> JSONObject | None:
        """Check after the values were applied that the approved values are still there; additions of others are fine.

        - A new plan would miss an edit that restores a removed field, so the approved plan is compared.
        - Raises `StopError` when an approved value changed.
        """
        self._has_moved = True
        broken = self._broken(now.versions.live or {})
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
        if template.method == "DELETE":
            return live is None or bool(get_at(live, ("metadata", "deletionTimestamp")))
        if live is not None and moves_ownership(template):
            return has_moved(self._change, part, live)
        later = (request for number, request in self._writes if number > part)
        if live is None or not all(map(moves_ownership, later)):
            return False
        return not self._broken(live)

    def _may_repeat(self, part: int) -> bool:
        """Return whether a part may be sent again while live is unchanged: ownership moves, and what follows them.

        - Ownership shows whether an apply was executed, so that none is repeated over the writes of others.
        """
        return any(moves_ownership(request) for request in self._change.requests[: part + 1])

    def _broken(self, live: JSONObject) -> tuple[dict[str, JSONValue], ...]:
        promised = self._promised
        if promised is None:
            return ()
        kind, before = self._kind, self._before
        find = partial(
            find_broken,
            root=kind.root if kind else None,
            is_confirmed=self._change.certainty is Certainty.CONFIRMED,
            has_moved=self._has_moved,
            omits_empty=kind is not None and not kind.is_custom,
        )
        if not find(promised, live, before=before):
            return ()
        policy = masking_settings.policy_of(self._access.claim.run.plan)
        mask = partial(changes.mask_object, ref=self._change.ref, tag_key=self._access.tag_key, policy=policy)
        shown = find(mask(promised), mask(live), before=None if before is None else mask(before))
        return tuple(
            {"path": render_path(d.path), "promised": changes.show_value(d.before), "got": changes.show_value(d.after)}
            for d in shown
            if not is_left_out(self._change, d.path)
        )

    def _verify(self, live: JSONObject | None) -> Finding:
        if self._change.operation is Operation.PRUNE:
            return (Outcome.VERIFIED, "it is gone", []) if live is None else (Outcome.DIFFERS, "it is still there", [])
        if live is None:
            return Outcome.DIFFERS, "it was applied, and no longer exists", []
        broken = list(self._broken(live))
        owners = self._find_wrong_owners(live, [str(one["path"]) for one in broken])
        if not broken and not owners:
            states = self._promised is not None and states_owners(self._promised)
            return Outcome.VERIFIED, "" if states else "the plan states no field owners: only values were compared", []
        count = len(broken)
        told = [f"{count} field{'s differ' if count > 1 else ' differs'} from the approved result"] if broken else []
        if owners:
            told.append(f"{len(owners)} field{'s have' if len(owners) > 1 else ' has'} other owners than approved")
        return Outcome.DIFFERS, ", ".join(told), [*broken, *owners]

    def _find_wrong_owners(self, live: JSONObject, broken: list[str]) -> list[dict[str, JSONValue]]:
        """Return the fields with other owners than promised; where a value differs already, owners follow from that."""
        if self._promised is None or not states_owners(self._promised):
            return []
        found = find_wrong_owners(
            self._promised,
            live,
            manager=self._access.claim.run.plan.options.get("field_manager", PRODUCT_MANAGER),
            root=self._kind.root if self._kind else None,
            is_confirmed=self._change.certainty is Certainty.CONFIRMED,
            before=self._before,
            has_moved=self._has_moved,
        )
        rendered = [(render_path(one.path), one) for one in found if not is_left_out(self._change, one.path)]
        return [
            {"path": path, "promised": _list_owners(one.promised), "got": _list_owners(one.got)}
            for path, one in rendered
            if not any(_is_around(path, other) or _is_around(other, path) for other in broken)
        ]

    def _wait_until_gone(self, live: JSONObject | None) -> ObjectFlow[JSONObject | None]:
        uid = identity(live or self._change.versions.live).get("uid")
        deadline = self._access.clock() + _GONE_SECONDS
        while True:
            why = f"it is being deleted, and still there after {_GONE_SECONDS:g} s (finalizers?)"
            try:
                live = yield CallCluster(self._read)
            except (
                StopError
            ) as stop:  # the server accepted the deletion; an unreadable object does not make it a failure
                why = f"it is being deleted, and {stop.detail}"
            else:
                if live is None or identity(live).get("uid") != uid:
                    return None
            if self._access.clock() >= deadline:
                raise StopError(Outcome.UNKNOWN, why)
            yield Sleep(0.5)
