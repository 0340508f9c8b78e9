"""Estimate the answers of an API server to writes.

Merge and ownership are the engine's; defaults, validation and admission come from the server model, if one was given.
Results from here are always *estimated*. Rule: REST semantics of
https://kubernetes.io/docs/reference/using-api/server-side-apply/ and patches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import ConflictError, OwnershipError, PatchError
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.paths import fields, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership import server_side, updates
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.simulation.server_model import ServerModel
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema, Resource
from applyviz.engine.schema.scaling import SCALE, drop_count, find_replicas_path, render_scale, take_scale

_PRECONDITIONS = ("uid", "resourceVersion")


def status_answer(code: int, reason: str, message: str, causes: list[JSONValue] | None = None) -> Answer:
    """Return an answer other than 2xx in the words of the API server."""
    body: dict[str, JSONValue] = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    body |= {"reason": reason, "message": message}
    if causes:
        body["details"] = {"causes": causes}
    return Answer(code, body)


def _drop_preconditions(body: JSONObject) -> dict[str, JSONValue]:
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(body)
    kept = {k: v for k, v in metadata.items() if k not in _PRECONDITIONS}
    return {**body, "metadata": kept} if kept else {k: v for k, v in body.items() if k != "metadata"}


def _with_managed_fields(obj: JSONObject, entries: list[JSONValue]) -> dict[str, JSONValue]:
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def _without_zero(result: JSONObject, zero: JSONObject, asked: JSONObject) -> JSONObject:
    """Return a created object without empty Go values that the manifest does not contain."""
    kept = {}
    for key, value in result.items():
        if key in zero and key not in asked and value in (None, {}, zero[key]):
            continue
        below, wanted = zero.get(key), asked.get(key)
        is_deep = isinstance(value, Mapping) and isinstance(below, Mapping) and isinstance(wanted, Mapping)
        kept[key] = _without_zero(value, below or {}, wanted or {}) if is_deep else value
    return kept


@dataclass
class EstimatedAnswers:
    """The state of one object after each write so far; `live` is None while it is absent.

    - `memo`: the cache of parsed managedFields.
    - `server`, `resource`: the inputs of `complete`; `before`: the object before the last write;
      `namespace`: that of the object, if it was read.
    """

    kind: KindSchema
    now: str
    live: JSONObject | None = None
    subresource: str = ""
    memo: FieldSetMemo = field(default_factory=FieldSetMemo)
    server: ServerModel | None = None
    resource: Resource | None = None
    before: JSONObject | None = None
    namespace: JSONObject | None = None

    def answer(self, request: Request) -> Answer:
        """Return the answer to one request of a flow, and remember the resulting object."""
        if not request.is_write:
            return self._read()
        self.before = self.live
        try:
            return self._write(request)
        except ConflictError as error:
            causes: list[JSONValue] = [
                {"reason": "FieldManagerConflict", "message": c.message, "field": render_path(c.path)}
                for c in error.conflicts
            ]
            return status_answer(409, "Conflict", error.message, causes)
        except OwnershipError as error:
            return status_answer(error.code, "", str(error))
        except PatchError as error:
            return status_answer(error.status, "", str(error))

    def complete(self, request: Request, merged: Answer) -> Answer:
        """Complete the last answer as a server would, with defaults and refusals.

        - `merged` is that answer; it stays unchanged if the server model knows too little.
        """
        if self.server is None or self.resource is None or request.method == "DELETE":
            return merged
        found = self.server.answer(
            request, self.before, kind=self.kind, resource=self.resource, now=self.now, namespace=self.namespace
        )
        if found is None:
            return merged
        if found.is_ok and self.is_scaling:
            return self.take_scale(found)
        self.live = dict(found.body) if found.is_ok else self.before
        return found

    @property
    def is_scaling(self) -> bool:
        """Return whether writes go to the scale subresource, whose answers are Scales."""
        return self.subresource == "scale"

    def take_scale(self, answer: Answer) -> Answer:
        """Return a server's Scale as the whole object: the count is the server's, its owners are calculated."""
        self.live = take_scale(self.live or {}, answer.body, self.kind)
        return replace(answer, body=self.live)

    def _read(self) -> Answer:
        return status_answer(404, "NotFound", "not found") if self.live is None else Answer(200, self.live)

    def check_conflicts(self, request: Request | None) -> None:
        """Raise the engine's error for a refused apply.

        - Raises `ConflictError` if the engine finds the conflicts too.
        """
        if request is not None and request.content_type == APPLY_PATCH:
            self._apply(request, is_forced=False)

    def _apply(self, request: Request, *, is_forced: bool) -> JSONObject:
        # The preconditions of the write also end up in last-applied where the server rewrites it.
        body = request.body if self.live is not None else _drop_preconditions(request.body)
        result: JSONObject = server_side.apply(
            self.live,
            body,
            kind=self.kind,
            manager=request.query.get("fieldManager", ""),
            force=is_forced,
            subresource=self.subresource,
            now=self.now,
            memo=self.memo,
        ).result
        return result if self.live is not None else _without_zero(result, self.kind.zero, request.body)

    def _write(self, request: Request) -> Answer:
        if request.method == "DELETE":
            self.live = None
            return Answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})
        is_new = self.live is None
        if is_new and request.method == "PATCH" and request.content_type != APPLY_PATCH:
            return status_answer(404, "NotFound", "not found")
        self.live = self._result(request)
        return Answer(201 if is_new else 200, self.live)

    def _result(self, request: Request) -> JSONObject:
        if request.content_type == APPLY_PATCH:
            return self._apply(request, is_forced=request.query.get("force") == "true")
        body: Any = request.body if isinstance(request.body, list) else _drop_preconditions(request.body)
        new: JSONObject = body
        if self.live is not None and request.method == "PATCH":
            new = self._patch(self.live, body, request.content_type)
        book = self._book_count if self.is_scaling else self._book
        return _with_managed_fields(new, book(request, new))

    def _patch(self, live: JSONObject, body: JSONValue, content_type: str) -> JSONObject:
        if not self.is_scaling:
            patched = patches.apply(live, body, content_type, kind=self.kind)
            # The status subresource takes nothing else of the object.
            return {**live, "status": patched.get("status")} if self.subresource == "status" else patched
        scale = patches.apply(render_scale(live, self.kind), body, content_type, kind=bundled().find_kind(SCALE))
        return take_scale(live, scale, self.kind)

    def _book_count(self, request: Request, new: JSONObject) -> list[JSONValue]:
        """Return the entries after a write of the Scale.

        - Go leaves a count of 0 out of a Scale, so it gets no owner; a count without an owner never gets one again,
          because servers do not begin to track a Scale that has no entries.
        """
        live = self.live or {}
        if not read_owners(live, self.memo).of(fields(*find_replicas_path(self.kind))):
            return list((live.get("metadata") or {}).get("managedFields") or [])
        return self._book(request, drop_count(new, self.kind))

    def _book(self, request: Request, new: JSONObject) -> list[JSONValue]:
        manager = request.query.get("fieldManager", "")
        try:
            return list(
                updates.update(
                    self.live,
                    new,
                    kind=self.kind,
                    manager=manager,
                    subresource=self.subresource,
                    now=self.now,
                    memo=self.memo,
                )
            )
        except OwnershipError:
            # The API server logs such an error and drops the entries.
            return []
