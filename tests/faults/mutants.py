"""Bugs that are planted into the product, each by its name, to see that the checker finds them.

Each is what a careless change could do: the planted function takes the place of the real one in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.utils import timezone

from applyviz.clusters import connect
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import placeholders
from applyviz.records.enums import AuditAction, Outcome, RunState
from applyviz.records.models import ApplyRun, Approval, AuditEntry, Cluster, ObjectResult
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.runs import effect_check, execute, objects, request_sender, start
from applyviz.workflow.runs.journal import Journal, ObjectOutcome
from applyviz.workflow.runs.lease import Claim
from applyviz.workflow.runs.objects import ObjectRun
from applyviz.workflow.runs.run_content import RunContent

Patches = Iterator[Any]
_send, _fill, _conclude, _audit = ClusterWriter.send, placeholders.fill, Journal.conclude, Journal._audit
_intend = Journal.intend
_open = connect.open_transport


def _without_binding(request: Request, live: Any) -> Request:
    filled = _fill(request, live)
    if not isinstance(filled.body, Mapping) or "metadata" not in filled.body:
        return filled
    metadata = {k: v for k, v in filled.body["metadata"].items() if k not in ("uid", "resourceVersion")}
    return replace(filled, body={**filled.body, "metadata": metadata})


def skip_cas() -> Patches:
    """Writes are not bound to the object that was read."""
    yield patch.object(placeholders, "fill", _without_binding)


def skip_epoch() -> Patches:
    """Nobody looks whether the run is still theirs; the journal takes what comes."""

    def intend(journal: Journal, sequence: int, *given: Any) -> Any:
        return _intend(journal, journal.result.journal.count(), *given)

    yield patch.object(Claim, "keep", lambda claim: None)
    yield patch.object(Journal, "intend", intend)


def ack_early() -> Patches:
    """The run is called done before it is carried out."""
    yield patch.object(execute, "_carry_out", lambda *_: (RunState.APPLIED, ""))


def skip_effect_check() -> Patches:
    """The effect is not compared with the approved one."""
    for module in (effect_check, objects):
        yield patch.object(module, "raise_if_stale", lambda *_, **__: None)


def send_twice() -> Patches:
    """A write goes out a second time, to be sure."""

    def send(writer: ClusterWriter, request: Request) -> Answer:
        answer = _send(writer, request)
        _send(writer, request)
        return answer

    yield patch.object(ClusterWriter, "send", send)


def wrong_order() -> Patches:
    """The last step comes first."""

    def read(run: ApplyRun) -> RunContent:
        content = RunContent(run)
        content.results.sort(key=lambda result: -result.step)
        return content

    yield patch.object(execute, "RunContent", read)


def claim_without_reading_back() -> Patches:
    """A lost answer is taken for a good one."""

    def determine_outcome(sender: Any, part: int, entry: Any, before: Any, why: str) -> Any:
        yield from sender._resolve(entry, "it will have worked", True)
        return True, sender.journal.change.versions.after

    yield patch.object(request_sender.RequestSender, "determine_outcome", determine_outcome)


def audit_after_write() -> Patches:
    """The audit entry is written when the answer is there."""

    def audit(journal: Journal, action: AuditAction, detail: Mapping[str, Any]) -> None:
        if action is not AuditAction.OBJECT_INTENT:
            _audit(journal, action, detail)

    yield patch.object(Journal, "_audit", audit)


def _let_runs_pass() -> None:
    """The database no longer asks what a run stands on."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER IF EXISTS run_is_consented ON records_applyrun")


def reuse_approval() -> Patches:
    """An approval that was spent on another plan counts again, and the database lets it pass."""
    _let_runs_pass()

    def spend(*_: Any) -> list[Approval]:
        return list(Approval.objects.exclude(spent_at=None)[:1])

    yield patch.object(start, "_spend", spend)
    yield patch.object(start, "find_run_blockers", lambda *_, **__: ())


def count_revoked() -> Patches:
    """A revoked approval still counts, and the database lets it pass."""
    _let_runs_pass()

    def spend(found: Any, run: Any) -> list[Approval]:
        return list(Approval.objects.filter(plan=run.plan))

    yield patch.object(start, "_spend", spend)
    yield patch.object(start, "find_run_blockers", lambda *_, **__: ())


def self_approval() -> Patches:
    """Who wrote a plan may approve it, and the database lets it pass."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER IF EXISTS approval_not_ones_own ON records_approval")
        cursor.execute("DROP TRIGGER IF EXISTS approval_spent_by_others ON records_approval")
    yield patch.object(approving, "find_approver_blockers", lambda *_, **__: ())
    yield patch.object(quorum, "_list_involved", lambda plan: ())


def other_target() -> Patches:
    """The cluster behind the name is not looked at, and it is another one."""

    def open_transport(cluster: Cluster) -> Any:
        return _open(Cluster.objects.get(slug="other"))

    yield patch.object(connect, "open_transport", open_transport)
    yield patch.object(execute, "_check_target", lambda *_: None)


def change_bytes() -> Patches:
    """A value is changed on the way out."""

    def send(writer: ClusterWriter, request: Request) -> Answer:
        body = {**request.body, "data": {**request.body["data"], "z": "9"}} if "data" in request.body else request.body
        return _send(writer, replace(request, body=body))

    yield patch.object(ClusterWriter, "send", send)


def retry_blindly() -> Patches:
    """After a version conflict the write goes out again, bound to whatever is there now."""
    yield patch.object(ObjectRun, "_recheck", lambda run, part: run._read())


def check_nothing_first() -> Patches:
    """Each object is only looked at when its turn comes."""

    def check(work: Any, *_: Any) -> None:
        ObjectResult.objects.filter(run=work.claim.run).update(checked={})

    yield patch.object(execute, "_check_effects", check)


def call_everything_good() -> Patches:
    """Every object is said to be applied and verified."""

    def conclude(journal: Journal, found: ObjectOutcome) -> None:
        _conclude(journal, ObjectOutcome(Outcome.VERIFIED))

    yield patch.object(Journal, "conclude", conclude)


def forget_an_object() -> Patches:
    """A run ends while an object of it is still on its way."""

    def finish(claim: Claim, state: RunState, *, error: str = "") -> None:
        type(claim.run).objects.filter(pk=claim.run.pk).update(state=state, finished_at=timezone.now(), summary={})

    yield patch.object(Claim, "finish", finish)
    yield patch.object(Journal, "conclude", lambda *_: None)


def rewrite_history() -> Patches:
    """Somebody with all rights on the database makes an entry say something else."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE records_auditentry DISABLE TRIGGER audit_no_update")
    entry = AuditEntry.objects.order_by("-pk").first()
    AuditEntry.objects.filter(pk=entry.pk).update(actor_name="nobody")
    yield ExitStack()


def pass_consent() -> Patches:
    """Workers do not look at the approval again; the other half of bugs that start without it."""
    yield patch.object(execute, "find_claim_blockers", lambda *_, **__: ())


PLANTS: dict[str, Callable[[], Patches]] = {
    plant.__name__: plant
    for plant in (
        skip_cas, skip_epoch, ack_early, skip_effect_check, send_twice, wrong_order, claim_without_reading_back,
        audit_after_write, reuse_approval, count_revoked, self_approval, other_target, change_bytes, retry_blindly,
        check_nothing_first, call_everything_good, forget_an_object, rewrite_history, pass_consent,
    )
}  # fmt: skip


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The product with one bug; without a name, as it is."""
    with ExitStack() as stack:
        for change in PLANTS[name]() if name else ():
            stack.enter_context(change)
        yield
