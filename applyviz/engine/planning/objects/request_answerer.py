"""Answer the requests of a flow while its object is planned.

Rule: reads go to the caller; the first write is dry-run where that is allowed, every other one is calculated. A dry run
persists nothing, so no dry run can build on another: where ownership moves before the apply, a dry-run update with the
merged object replaces the apply; it confirms the values, and ownership stays estimated. The answerer keeps the results
that the plan needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.sharing import share_equal
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.ownership.last_applied import with_record
from applyviz.engine.ownership.managed_fields import find_entries, with_entries
from applyviz.engine.planning.conflicts.server_errors import read_server_errors
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.endings import ends
from applyviz.engine.planning.simulation.dry_run_result import (
    DryRunResult,
    DryRunVerdict,
    missing_namespace,
    read_dry_run,
)
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers, status_answer
from applyviz.engine.requests.calls import (
    RESOURCE_VERSION,
    UID,
    RequestTarget,
    changes_no_value,
    moves_ownership,
    read_namespace,
)
from applyviz.engine.requests.flow import Flow, is_invalid, is_not_found
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.model import KindSchema, Resource, SchemaOrigin
from applyviz.engine.schema.nulls import has_dropped_null
from applyviz.engine.schema.unconditional import ANY_VERSION, can_name_any_version

_REPLACED = "the server accepts the deletion and the new object; what it fills in is estimated"
# A Service that keeps its port or address: the port is in use only as long as the live object exists.
_IN_USE = "already allocated"
_VALUES = re.compile(r"[0-9a-f.:]*[0-9a-f]")
# All that a server says of an operation of a JSON patch that does not apply; the engine knows which one.
_UNNAMED = "the server rejected our request due to an error in our request"
_UNREADABLE = 400
# A server error about another object does not count for this one.
_ANOTHER = Answer(0, {"message": "the server answered with something else than the object"})


def unknown_kind(member: Member) -> KindSchema:
    """Return the schema for a kind without one: a custom resource that accepts anything."""
    return KindSchema(member.resource.gvk, None, SchemaOrigin.NONE, is_custom=True, is_strategic=False)


def without_identity(body: JSONObject) -> JSONObject:
    """Return the body of a create without the uid and the version that bind a write to an object."""
    metadata = body.get("metadata") or {}
    return {**body, "metadata": {k: v for k, v in metadata.items() if k not in (UID, RESOURCE_VERSION)}}


def find_stale(manifest: JSONObject, live: JSONObject | None, resource: Resource) -> str:
    """Return how a manifest names another object or version than the live one; "" if it does not.

    - resourceVersion 0 means any version, for kinds that may be updated without one.
    """
    wanted, live_values = (get_at(obj, ("metadata",)) or {} for obj in (manifest, live))
    for name in ("uid", RESOURCE_VERSION):
        if name == RESOURCE_VERSION and wanted.get(name) == ANY_VERSION and can_name_any_version(resource):
            continue
        if live is not None and wanted.get(name) and wanted[name] != live_values.get(name):
            return f"the manifest names {name} {wanted[name]}, but the live object has {live_values.get(name)}"
    return ""


def _name_operation(answer: Answer, calculated: Answer) -> Answer:
    """Return the answer of a server; if it names no operation of a JSON patch, with the one that does not apply."""
    if answer.message != _UNNAMED or calculated.is_ok:
        return answer
    return replace(answer, body={**answer.body, "message": f"{calculated.message} ({_UNNAMED})"})


@dataclass
class RequestAnswerer:
    """Answers a flow while its object is planned, and keeps the results that the plan needs."""

    member: Member
    options: ApplyOptions
    context: PlanningContext
    estimated: EstimatedAnswers
    live: JSONObject | None = None
    was_read: bool = False
    read_failure: Answer | None = None
    requests: list[Request] = field(default_factory=list)
    refused: Request | None = None
    dry_run: DryRunResult | None = None
    calculated: JSONObject | None = None
    warnings: tuple[str, ...] = ()
    has_moved: bool = False
    refused_fields: tuple[str, ...] = ()
    is_over: bool = False
    has_ended: bool = False

    def answer(self, request: Request) -> Flow[Answer]:
        """Answer one request of the flow; nothing is planned after the write with which the object is gone."""
        if request.is_write and not self.has_ended:
            return (yield from self._write(request))
        if request.is_write:
            return Answer(200, self.estimated.live or {})
        if request.ref is None:
            # The namespace check of a create: its answer decides nothing.
            return Answer(200, {})
        return self.estimated.answer(request) if self.was_read else (yield from self._read(request))

    def _read(self, request: Request) -> Flow[Answer]:
        self.was_read = True
        gvk = self.member.resource.gvk
        if (gvk.group, gvk.kind) in self.context.kinds_created:
            return self.estimated.answer(request)
        answer = yield request
        if answer.is_ok and not self._is_shown_by(answer):
            answer = _ANOTHER
        if answer.is_ok:
            self.live = self.estimated.live = share_equal(dict(answer.body), self.member.obj)
            answer = replace(answer, body=self.live)
        elif not is_not_found(answer):
            self.read_failure = answer
        return answer

    def _is_shown_by(self, answer: Answer) -> bool:
        """Return whether an answer shows the object; that of a subresource may be of another kind."""
        return bool(self.options.subresource) or self.member.ref.is_shown_by(answer.body)

    def _write(self, request: Request) -> Flow[Answer]:
        if not self.was_read:  # kubectl's own flow sends a server-side apply without a read
            ref = self.member.ref
            yield from self._read(RequestTarget(self.member.resource, ref.namespace, ref.name, self.options).read())
        stale = self._find_stale()
        if stale is not None:
            self.refused, self.dry_run = request, DryRunResult(DryRunVerdict.REFUSED, stale.message)
            return stale
        tried = (yield request.as_dry_run()) if self._needs_no_merge(request) else None
        if tried is not None and tried.is_ok and self._is_shown_by(tried):
            self._keep(request, tried)
            self.dry_run, self.estimated.before = read_dry_run(tried), self.estimated.live
            return self._take_result(request, tried)
        return (yield from self._calculate(request, tried))

    def _calculate(self, request: Request, tried: Answer | None) -> Flow[Answer]:
        """Calculate the result of a write, and confirm it where that is possible; `tried`: the answer of a dry run."""
        calculated = self.estimated.answer(request)
        if self.is_over:  # the flow restores what it deleted; nothing of that is planned
            return calculated
        if calculated.is_ok and request.method != "DELETE":
            self.calculated = share_equal(self._merge(request, calculated.body), self.live)
        if self._builds_on_nothing_tried(request) and not self._would_end(request, calculated):
            self.has_moved = True
            self._keep(request, calculated)
            return calculated
        if self.dry_run is None:
            tried = yield from self._try(request, calculated, tried)
        elif self._replaces(request):
            tried = yield from self._try_replacement(request)
        else:
            tried = None
            if self.dry_run.verdict is not DryRunVerdict.UNTRIED:
                self.dry_run = DryRunResult(DryRunVerdict.UNTRIED, "only the first of several writes can be tried")
        answer = (yield from self._estimate(request, calculated)) if tried is None else tried
        if answer.is_ok:
            self._keep(request, answer)
        else:
            self.is_over = self._replaces(request)
            self.refused = request
            found = read_server_errors(answer.message, answer) if is_invalid(answer) else ()
            self.refused_fields = self.refused_fields or tuple(dict.fromkeys(e.field for e in found if e.field))
        return answer

    def _keep(self, request: Request, answer: Answer) -> None:
        """Keep a write that is planned, and whether the object is gone with it."""
        self.requests.append(request)
        self.has_ended = self._would_end(request, answer)

    def _would_end(self, request: Request, answer: Answer) -> bool:
        """Return whether the object is gone with a write: a server that checks the write may refuse it."""
        return answer.is_ok and request.method in ("PATCH", "PUT") and ends(self.live, answer.body)

    def _needs_no_merge(self, request: Request) -> bool:
        """Return whether a confirmed dry run is all that is asked of a write: its own merge only explains it.

        - A comparison without notes uses that merge for new and replaced objects and for kinds that the set defines.
        """
        gvk, kind = self.member.resource.gvk, self.member.kind
        is_defined = (gvk.group, gvk.kind) in self.context.kinds_created | self.context.kinds_changed
        is_defined = is_defined or kind is None or kind.origin is SchemaOrigin.SOURCE_CRD
        if self.context.has_notes or not self.context.can_dry_run or self.options.subresource or is_defined:
            return False
        is_first = self.dry_run is None and not self.requests
        return is_first and self.live is not None and request.method == "PATCH" and not changes_no_value(request)

    def _merge(self, request: Request, calculated: JSONObject) -> JSONObject:
        """Return the merge after a write; what only records the apply before it adds the record to that merge."""
        if self.calculated is None or not self._records(request):
            return dict(calculated)
        merged = with_record(self.calculated, get_at(calculated, ("metadata", "annotations", LAST_APPLIED), ""))
        return with_entries(merged, [dict(entry) for entry in find_entries(calculated) or ()])

    def _records(self, request: Request) -> bool:
        return changes_no_value(request) and not moves_ownership(request)

    def _replaces(self, request: Request) -> bool:
        """Return whether a write deletes a refused object, or is the one that creates it again."""
        return self.refused is not None and (
            request.method == "DELETE" or any(done.method == "DELETE" for done in self.requests)
        )

    def _try_replacement(self, request: Request) -> Flow[Answer | None]:
        """Dry-run the deletion, or the new object; return the server's refusal, else None: the result is calculated.

        - A dry run deletes nothing, so the server that accepts the new object says that the name is taken.
        """
        if not self.context.can_dry_run:
            return None
        if request.method == "DELETE":
            tried = yield request.as_dry_run()
        else:
            tried = yield self._as_create(request).as_dry_run()
        self.dry_run = read_dry_run(tried)
        if self.dry_run.verdict is not DryRunVerdict.REFUSED or self._holds_it_itself(tried):
            reason = self.dry_run.reason if self.dry_run.verdict is DryRunVerdict.UNTRIED else _REPLACED
            self.dry_run = DryRunResult(DryRunVerdict.UNTRIED, reason)
            return None
        return tried

    def _holds_it_itself(self, tried: Answer) -> bool:
        """Return whether the new object is refused only for a port or address that the live object still holds."""
        causes = get_at(tried.body, ("details", "causes")) or ()
        texts = [str(get_at(cause, ("message",), "")) for cause in causes] or [tried.message]
        spec = get_at(self.live, ("spec",)) or {}
        ports = [get_at(port, ("nodePort",)) for port in spec.get("ports") or ()]
        live_values = {
            str(value) for value in (spec.get("clusterIP"), *(spec.get("clusterIPs") or ()), *ports) if value
        }
        return all(_IN_USE in text and live_values & set(_VALUES.findall(text)) for text in texts)

    def _as_create(self, request: Request) -> Request:
        """Return the plain creation of the object that a write creates."""
        body = without_identity(request.body)
        query = {name: value for name, value in request.query.items() if name != "force"}
        path = self.member.resource.path(self.member.namespace)
        return Request("POST", path, query, JSON, body, request.ref, "try")

    def _builds_on_nothing_tried(self, request: Request) -> bool:
        """Return whether a write only moves ownership or records the apply beside the one to dry-run."""
        if not changes_no_value(request):
            return False
        return self.dry_run is not None or self.options.mode is ApplyMode.SERVER

    def _find_stale(self) -> Answer | None:
        """Return the refusal of a manifest that is bound to another object or version than the live one.

        - Our own writes are bound to the object just read, so the server would never see the values of the manifest.
        """
        stale = find_stale(self.member.obj, self.live, self.member.resource)
        return status_answer(409, "AlreadyExists", f"{stale}: take it out of the manifest") if stale else None

    def _estimate(self, request: Request, calculated: Answer) -> Flow[Answer]:
        """Answer a write as a server would; a new object needs its namespace, which is read first."""
        namespace = self.member.namespace
        is_new = self.estimated.before is None and self.live is None
        if self.estimated.server is not None and is_new and namespace not in ("", *self.context.namespaces_created):
            found = yield read_namespace(namespace)
            if is_not_found(found):
                self.estimated.live = None
                return found
            self.estimated.namespace = found.body if found.is_ok else None
        return _name_operation(self.estimated.complete(request, calculated), calculated)

    def _try(self, request: Request, calculated: Answer, answer: Answer | None) -> Flow[Answer | None]:
        """Dry-run the first write, unless it has its answer already; None if that is not possible."""
        reason = self._reason_against(calculated)
        if reason:
            self.dry_run = DryRunResult(DryRunVerdict.UNTRIED, reason)
            return None
        stand_in = self._as_update(request, calculated) if self.has_moved else request
        tried = answer or (yield stand_in.as_dry_run())
        if self.has_moved and tried.status == _UNREADABLE:  # an apply is read otherwise, and refused in other words
            estimated = self.estimated.complete(request, calculated)
            tried = tried if estimated.is_ok else estimated
        if tried.is_ok and self.estimated.is_scaling:
            tried = self.estimated.take_scale(tried)
        tried = _name_operation(tried, calculated)
        if tried.is_ok and request.method != "DELETE" and not self._is_shown_by(tried):
            tried = _ANOTHER
        self.dry_run = read_dry_run(tried)
        if (
            self.dry_run.verdict is DryRunVerdict.REFUSED
            and missing_namespace(tried) in self.context.namespaces_created
        ):
            name = missing_namespace(tried)
            self.dry_run = DryRunResult(DryRunVerdict.UNTRIED, f"namespace {name} is created by the same set")
        gvk = self.member.resource.gvk
        if self.dry_run.verdict is DryRunVerdict.REFUSED and (gvk.group, gvk.kind) in self.context.kinds_changed:
            self.dry_run = DryRunResult(DryRunVerdict.UNTRIED, f"kind {gvk.kind} is redefined by the same set")
        if self.dry_run.verdict is DryRunVerdict.UNTRIED:
            return None
        return self._take_result(request, tried, calculated if self.has_moved else None) if tried.is_ok else tried

    def _take_result(self, request: Request, tried: Answer, owners: Answer | None = None) -> Answer:
        """Keep the object of a successful dry run; `owners`: the answer whose field owners it gets."""
        body = request.body if isinstance(request.body, Mapping) else {}
        found = without_chosen(tried.body, body, self.estimated.before)
        if owners is not None:
            found = with_entries(found, [dict(entry) for entry in find_entries(owners.body) or ()])
        self.estimated.live, self.warnings = share_equal(dict(found), self.live), tried.warnings
        return replace(tried, body=found)

    def _as_update(self, request: Request, calculated: Answer) -> Request:
        """Return the update that leads to the same values as an apply after the ownership has moved.

        - It has no managedFields, so that the server keeps them, and it is bound to the object just read.
        """
        live = self.live or {}
        bound = {name: live["metadata"][name] for name in (UID, RESOURCE_VERSION) if live["metadata"].get(name)}
        body = with_entries(calculated.body, None)
        body = {**body, "metadata": {**body["metadata"], **bound}}
        query = {name: value for name, value in request.query.items() if name != "force"}
        return Request("PUT", request.path, query, JSON, body, request.ref, "try")

    def _hides_null(self, merged: JSONObject) -> bool:
        """Return whether the update that stands in for an apply drops a null that the server may refuse."""
        kind = self.member.kind
        return kind is not None and kind.is_custom and has_dropped_null(merged, kind.root)

    def _reason_against(self, calculated: Answer) -> str:
        if self.has_moved and not calculated.is_ok:
            return "field ownership moves first, and no dry run can build on that"
        if self.has_moved and self._hides_null(calculated.body):
            return "field ownership moves first, and a dry-run update drops the nulls of the manifest"
        gvk = self.member.resource.gvk
        if (gvk.group, gvk.kind) in self.context.kinds_created:
            return f"kind {gvk.kind} is defined by the same set"
        if not self.context.can_dry_run:
            return self.context.dry_run_reason or "no dry run was asked for"
        return ""
