"""Validate Events: loosely in the core group, strictly in `events.k8s.io`, where only the series may change.

Rule: `pkg/apis/core/validation/events.go` of k8s.io/kubernetes v1.36.3. Errors name the fields of the internal type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.kubernetes.parity.name_formats import qualified_name_problems
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, invalid, invalid_struct, required

_STRICT = "events.k8s.io/v1"
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128}
_NOTE_LIMIT = 1024
# Internal names of fields that only the core group still has.
_LEGACY = {
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "source": "deprecatedSource",
}
# The internal name of each fixed field, its name in the strict group and, for a struct, its parts in Go.
_REFERENCE = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
_FIXED_FIELDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("involvedObject", "regarding", _REFERENCE),
    ("reason", "reason", ()),
    ("message", "note", ()),
    ("source", "deprecatedSource", ("Component", "Host")),
    ("firstTimestamp", "deprecatedFirstTimestamp", ()),
    ("lastTimestamp", "deprecatedLastTimestamp", ()),
    ("count", "deprecatedCount", ()),
    ("reason", "reason", ()),
    ("type", "type", ()),
    ("eventTime", "eventTime", ()),
    ("action", "action", ()),
    ("related", "related", _REFERENCE),
    ("reportingController", "reportingController", ()),
    ("reportingInstance", "reportingInstance", ()),
)
_ABSENT: Mapping[str, JSONValue] = {"count": 0, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None}


def _event(obj: JSONObject) -> Iterator[FieldError]:
    yield from _loose(obj)
    if obj.get("apiVersion") != _STRICT:
        return
    yield from _series(obj)
    if not obj.get("eventTime"):
        yield required("eventTime")
    if obj.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {obj.get('type', '')}")
    for name, written in _LEGACY.items():
        if any((obj.get(written) or {}).values()) if name == "source" else obj.get(written):
            yield invalid(name, "", "needs to be unset")


def _loose(obj: JSONObject) -> Iterator[FieldError]:
    is_core = obj.get("apiVersion") == "v1"
    named = (obj.get("involvedObject" if is_core else "regarding") or {}).get("namespace", "")
    own, is_new_form = obj["metadata"].get("namespace"), bool(obj.get("eventTime"))
    allowed = ("default", "kube-system") if is_new_form else ("default",)
    if own not in allowed if not named else not is_new_form and named != own:
        yield invalid("involvedObject.namespace", named, "does not match event.namespace")
    if not is_new_form:
        return
    controller = "reportingComponent" if is_core else "reportingController"
    reporter = obj.get(controller) or ""
    if not reporter:
        yield required(controller)
    yield from (invalid(controller, reporter, problem) for problem in qualified_name_problems(reporter))
    for name, limit in _LIMITS.items():
        text = obj.get(name) or ""
        if not text:
            yield required(name)
        if len(text.encode()) > limit:
            yield invalid(name, "", f"can have at most {limit} characters")
    if len((obj.get("message" if is_core else "note") or "").encode()) > _NOTE_LIMIT:
        yield invalid("message", "", f"can have at most {_NOTE_LIMIT} characters")


def _series(obj: JSONObject) -> Iterator[FieldError]:
    series = obj.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _event_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("apiVersion") != _STRICT:
        return
    if not is_same_json(obj.get("series"), live.get("series")):
        yield from _series(obj)
    for name, written, parts in _FIXED_FIELDS:
        now, before = (one.get(written) or _ABSENT.get(name, "") for one in (obj, live))
        if parts and not is_same_json(now or {}, before or {}):
            yield invalid_struct(name, _as_go(now, parts) if now else None, IMMUTABLE)
        elif not parts and not is_same_json(now, before):
            yield invalid(name, now, IMMUTABLE)


def _as_go(value: JSONValue, parts: tuple[str, ...]) -> JSONObject:
    given = {name.lower(): item for name, item in map_or_empty(value).items()}
    return {part: given.get(part.lower(), "") for part in parts}


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"events": _event}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"events": _loose}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {"events": _event_update}
