"""Family `replay`: send recorded writes to a fresh sandbox cluster.

A case is one write of a story, in order; the sandbox's clock follows the recorded answers, and its versions and uids
replace the recorded ones. Status and body must be equal, except for values that a server chooses: uids, versions,
times, allocated addresses, the order of entries with one time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.protobuf import guess_body
from applyviz.conformance.stories import Story, StoryExchange, StoryStep, load_story
from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.objects.known_names import REQUESTER
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_same_json
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

_CLIENT = "kubectl"
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VERSION = re.compile(r"(ResourceVersion in record|ResourceVersion in the precondition) \([0-9]+\)")
_QUOTED_VERSION = re.compile(r"(resourceVersion\W{1,12})[0-9]+")
_TEXT_VERSION = re.compile(r'("resourceVersion":")[0-9]+')
# A struct that only Go prints, with Go's names: whole in "Invalid value", or as a line diff.
# A node port is made up by the server, also in a refusal.
_NODE_PORT = re.compile(r"(duplicate nodePort: \{\w+ )[0-9]+")
_GO_LINES = re.compile(r"\n@@ [^\n]*(?:\n[ @+-][^\n]*)*\n?")
_GO_STRUCT = re.compile(r'Invalid value: \{.*"[A-Z]\w*":')
_STRUCT = re.compile(r"(?<=Invalid value: )\{.*\}(?=: )", re.DOTALL)
_NAMESPACE = re.compile(r"/namespaces/([^/]+)/")
_APPLIED = re.compile(r"/api/v1/namespaces/[^/]+$")
_MADE_UP = frozenset({"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"})
_ALLOTTED = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})
_TYPED = "typed patch"
_STALE = "1"


def run_story(path: Path) -> Iterator[CaseResult]:
    """Yield the verdict on every write of a story."""
    yield from judge_story(load_story(path))


def judge_story(story: Story) -> Iterator[CaseResult]:
    """Yield the verdict on every write of a story that was read."""
    replay = _Replay(story)
    for step in story.steps:
        yield from replay.judge_step(step)


class _Clock:
    """The time of the recording; it never goes back."""

    def __init__(self) -> None:
        self.now = datetime(2020, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def follow(self, answer: JSONValue) -> None:
        times = [datetime.fromisoformat(t) for t in _find_times(answer)]
        self.now = max([self.now, *times])


def _find_times(value: Any) -> Iterator[str]:
    meta = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(meta, Mapping):
        return
    for name in ("creationTimestamp", "deletionTimestamp"):
        if meta.get(name):
            yield meta[name]
    yield from (e["time"] for e in meta.get("managedFields") or () if e.get("time"))


class _Replay:
    """One story in one sandbox, with a mapping from the recorded versions and uids to its own."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.clock = _Clock()
        self.sandbox = Sandbox(MemoryStore(), self.clock, has_controllers=False)
        self.versions: dict[str, str] = {}
        self.uids: dict[str, str] = {}
        self._make_namespaces()

    def _make_namespaces(self) -> None:
        exchanges = [e for s in self.story.steps for e in s.exchanges]
        wanted = {self.story.namespace}
        wanted |= {m.group(1) for e in exchanges if e.answer.is_ok and (m := _NAMESPACE.search(e.path))}
        posts = [e for e in exchanges if e.path == "/api/v1/namespaces" and e.method == "POST"]
        made = {_meta(guess_body(e, self.story) if e.body is None else e.body, "name") for e in posts}
        made |= {_meta(e.body, "name") for e in exchanges if _APPLIED.match(e.path) and e.answer.status == 201}
        for name in sorted(wanted - made):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.sandbox.handle(Request("POST", "/api/v1/namespaces", {}, JSON, body))

    def judge_step(self, step: StoryStep) -> Iterator[CaseResult]:
        count = 0
        for exchange in step.exchanges:
            if exchange.is_watch:
                continue
            if not exchange.is_write:
                self._learn_read(exchange)
                continue
            name = f"{self.story.name} step {step.number} write {count}"
            count += 1
            yield self._judge(exchange, name)

    def _judge(self, exchange: StoryExchange, name: str) -> CaseResult:
        expected = exchange.answer
        self.clock.follow(expected.body)
        got = self.sandbox.handle(self._make_request(exchange), user=_CLIENT)
        self._learn(expected.body, got.body)
        reason = compare(expected, got)
        differing = f"{exchange.method} {exchange.path}: {reason}" if reason else ""
        return CaseResult("replay", name, not reason, differing, _show(expected), _show(got))

    def _make_request(self, exchange: StoryExchange) -> Request:
        body, content_type = exchange.body, exchange.content_type
        if content_type.endswith("protobuf"):
            body, content_type = guess_body(exchange, self.story), JSON
        return Request(exchange.method, exchange.path, exchange.query, content_type, self._translate(body))

    def _translate(self, value: JSONValue) -> JSONValue:
        """Replace the recorded versions and uids by those of this sandbox."""
        if isinstance(value, list):
            return [self._translate(v) for v in value]
        if not isinstance(value, Mapping):
            return value
        result: MutableObject = {k: self._translate(v) for k, v in value.items()}
        if str(result.get("path", "")).endswith("/resourceVersion") and isinstance(result.get("value"), str):
            result["value"] = self.versions.get(result["value"], _STALE)
        if isinstance(result.get("resourceVersion"), str) and result["resourceVersion"]:
            result["resourceVersion"] = self.versions.get(result["resourceVersion"], _STALE)
        if isinstance(result.get("uid"), str):
            result["uid"] = self.uids.get(result["uid"], result["uid"])
        return result

    def _learn(self, recorded: JSONValue, own: JSONValue) -> None:
        for name, table in (("resourceVersion", self.versions), ("uid", self.uids)):
            theirs, ours = _meta(recorded, name), _meta(own, name)
            if theirs and ours:
                table[theirs] = ours

    def _learn_read(self, exchange: StoryExchange) -> None:
        """Record that a read version is the current one, whichever client wrote it."""
        if not exchange.answer.is_ok or not isinstance(exchange.answer.body, Mapping):
            return
        own = self.sandbox.handle(Request("GET", exchange.path, exchange.query)).body
        items = {_place(o): o for o in (own or {}).get("items") or ()} if isinstance(own, Mapping) else {}
        for item in exchange.answer.body.get("items") or ():
            self._learn(item, items.get(_place(item)))
        self._learn(exchange.answer.body, own)


def _meta(value: JSONValue, name: str) -> str:
    meta = value.get("metadata") if isinstance(value, Mapping) else None
    return str(meta.get(name) or "") if isinstance(meta, Mapping) else ""


def _place(item: JSONValue) -> tuple[str, str]:
    return _meta(item, "namespace"), _meta(item, "name")


def _show(answer: Answer) -> JSONValue:
    return {"status": answer.status, "body": simplify(answer.body)}


def _is_made_up(key: str, beside: Mapping[str, JSONValue]) -> bool:
    """Return whether a field holds the uid of a named object, or who asks for a certificate."""
    return (key == "uid" and "kind" in beside and "name" in beside) or (key in REQUESTER and "signerName" in beside)


def simplify(value: JSONValue) -> JSONValue:
    """Return a body without the values that a server chooses."""
    if isinstance(value, list):
        return [simplify(v) for v in value]
    if isinstance(value, str):  # a Job's labels contain its uid, an annotation may contain a whole object
        return _TEXT_VERSION.sub(r"\1VERSION", _UID.sub("UID", value))
    if not isinstance(value, Mapping):
        return value
    result: MutableObject = {}
    for key, item in value.items():
        if key == "metadata" and isinstance(item, Mapping):
            result[key] = _simplify_metadata(item)
        elif _is_made_up(key, value):
            continue
        elif key in _ALLOTTED:
            result[key] = "None" if item in ("None", ["None"]) else "allotted"
        else:
            result[_UID.sub("UID", key)] = simplify(item)  # ownership references owners by their uid
    return result


def _simplify_metadata(meta: JSONObject) -> MutableObject:
    result = {k: simplify(v) for k, v in meta.items() if k not in _MADE_UP and k != "managedFields"}
    if "managedFields" in meta:
        entries = sorted(
            meta["managedFields"], key=lambda e: (e.get("operation") == "Update", e.get("time", ""), str(e))
        )
        result["managedFields"] = [{k: simplify(v) for k, v in e.items() if k != "time"} for e in _order(entries)]
    return result


def _order(entries: list[JSONObject]) -> list[JSONObject]:
    """Return entries with one time in a fixed order."""
    return sorted(
        entries,
        key=lambda e: (
            e.get("operation", ""),
            e.get("time", ""),
            e.get("manager", ""),
            e.get("subresource", ""),
            e.get("apiVersion", ""),
        ),
    )


def compare(expected: Answer, got: Answer) -> str:
    """Return where two answers differ, in one line; empty text if they agree."""
    if expected.status != got.status:
        return f"expected status {expected.status}, got {got.status} ({got.message or 'no message'})"
    if isinstance(expected.body, str):
        return ""  # a protobuf answer: later reads show its state
    if expected.status >= 400:
        return _compare_errors(expected, got)
    left, right = simplify(expected.body), simplify(got.body)
    return "" if is_same_json(left, right) else "another body: " + _first_difference(left, right)


def _compare_errors(expected: Answer, got: Answer) -> str:
    if expected.reason != got.reason:
        return f"expected reason {expected.reason!r}, got {got.reason!r}"
    if _TYPED in expected.message:
        common = _parts(expected.message) & _parts(got.message)
        return "" if common else f"expected {expected.message!r}, got {got.message!r}"
    if _causes(expected) != _causes(got):
        return f"expected causes {sorted(_causes(expected))}, got {sorted(_causes(got))}"
    is_go = bool(_GO_STRUCT.search(expected.message))
    left, right = _plain_parts(expected, is_go), _plain_parts(got, is_go)
    return "" if left == right else f"expected message {expected.message!r}, got {got.message!r}"


def _parts(message: str) -> set[str]:
    head, _, tail = message.partition("): ")
    return {head + part.strip(" []") for part in re.split(r"[\n,]", tail)}


def _plain_parts(answer: Answer, is_go: bool) -> list[str]:
    """Return the parts of a message regardless of order, because Go iterates over a map; Go structs are left out."""
    plain = _QUOTED_VERSION.sub(r"\1VERSION", _GO_LINES.sub("", _NODE_PORT.sub(r"\1PORT", answer.message)))
    plain = _STRUCT.sub("STRUCT", plain) if is_go else plain
    plain = _VERSION.sub(r"\1 (VERSION)", _UID.sub("UID", _TIME.sub("TIME", plain)))
    head, mark, tail = plain.partition("strict decoding error: ")
    if mark:
        return [head, *sorted(tail.split(", "))]
    lines = plain.splitlines()
    if answer.reason == "Invalid" and "is invalid: [" in plain:
        head, _, tail = plain.removesuffix("]").partition("is invalid: [")
        lines = [head, *tail.split(", ")]
    return sorted(lines)


def _causes(answer: Answer) -> set[tuple[str, str]]:
    details = answer.body.get("details") or {} if isinstance(answer.body, Mapping) else {}
    return {(c.get("field", ""), c.get("reason", "")) for c in details.get("causes") or ()}


def _first_difference(left: JSONValue, right: JSONValue, path: str = "") -> str:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            at = f"{path}.{key}"
            if key not in left or key not in right:
                return f"{at} {'missing' if key in left else 'too much'}"
            if not is_same_json(left[key], right[key]):
                return _first_difference(left[key], right[key], at)
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for i, pair in enumerate(zip(left, right, strict=True)):
            if not is_same_json(*pair):
                return _first_difference(*pair, f"{path}[{i}]")
    return f"{path} expected {left!r}, got {right!r}"
