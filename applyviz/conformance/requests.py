"""Family `requests`: compare what our flow sends and prints with a recorded `kubectl apply`.

A case is one invocation. The recorded answers answer the flow's requests one after the other; the writes must be those
recorded, in order, and the printed lines and the exit code too. Deletes of one prune compare as a set, because kubectl
iterates over unordered maps there. Reads may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.invocations import SeenDefinitions, read_env, read_files
from applyviz.conformance.stories import Invocation, Story, StoryExchange, StoryStep, load_story
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, is_same_json
from applyviz.engine.requests.argv import ApplyCommand, is_apply, parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.kubectl import CommandResult, run_apply

_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")


@dataclass
class _Recording:
    """The recorded exchanges of one invocation, in the order of the flow's requests."""

    left: list[StoryExchange]
    sent: list[Request] = field(default_factory=list)
    last_reads: dict[str, Answer] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer:
        """Answer a read with the next exchange of its path, and a write with the next write there.

        - A read beyond the recording repeats the last answer of its path.
        """
        if request.is_write:
            self.sent.append(request)
        found = self._find(request, same_query=True) or self._find(request, same_query=False)
        if found is None and request.path in self.last_reads and not request.is_write:
            return self.last_reads[request.path]
        if found is None:
            return Answer(404, {"kind": "Status", "reason": "NotFound", "message": "not recorded", "code": 404})
        self.left.remove(found)
        if not request.is_write:
            self.last_reads[request.path] = found.answer
        return found.answer

    def _find(self, request: Request, *, same_query: bool) -> StoryExchange | None:
        for exchange in self.left:
            if (exchange.method, exchange.path) != (request.method, request.path):
                continue
            if not same_query or dict(exchange.query) == dict(request.query):
                return exchange
        return None


def _as_data(method: str, path: str, query: Mapping[str, str], content_type: str, body: JSONValue) -> JSONObject:
    return {"method": method, "path": path, "query": dict(query), "content_type": content_type, "body": body}


def _recorded_writes(invocation: Invocation) -> list[JSONObject]:
    return [
        _as_data(e.method, e.path, e.query, e.content_type, e.text if e.body is None else e.body)
        for e in invocation.exchanges
        if e.is_write
    ]


def _sorted_deletes(writes: list[JSONObject]) -> list[JSONObject]:
    """Return the writes with runs of deletes sorted, so that they compare as sets."""
    ordered: list[JSONObject] = []
    run: list[JSONObject] = []
    for write in writes:
        if write["method"] == "DELETE":
            run.append(write)
            continue
        ordered += [*sorted(run, key=canonical_json), write]
        run = []
    return ordered + sorted(run, key=canonical_json)


def _sorted_pruned(lines: Sequence[str]) -> list[str]:
    """Return the lines with those of pruned objects sorted; they are together at the end."""
    pruned = [line for line in lines if re.search(r" pruned( \(.*\))?$", line)]
    return [line for line in lines if line not in pruned] + sorted(pruned)


def _run_command(
    command: ApplyCommand, invocation: Invocation, catalog: Catalog, recording: _Recording
) -> CommandResult:
    inputs, files = read_files(command, invocation)
    flow = run_apply(files, command=command, catalog=catalog, problems=inputs.problems)
    try:
        request = next(flow)
        while True:
            request = flow.send(recording.answer(request))
    except StopIteration as stop:
        result: CommandResult = stop.value
        return result


def _ends_step(step: StoryStep, invocation: Invocation) -> bool:
    """Return whether this kubectl was the last command of its step, so that the step's exit code is its own."""
    last = _SEPARATOR.split(step.run.strip())[-1].strip()
    is_plain = "kubectl" in last and not last.startswith("!") and not last.endswith("&")
    return is_plain and invocation.number == len(step.invocations) - 1


def _compare_printed(
    step: StoryStep, invocation: Invocation, result: CommandResult
) -> tuple[str, JSONValue, JSONValue]:
    """Return where the printed outcome differs ("" if nowhere), with both sides.

    - In a step of several commands, or with stderr in it, our lines must all be there; redirected to a file they are
      not.
    """
    if _ends_step(step, invocation) and result.exit_code != step.exit:
        return "exit code", step.exit, {"exit": result.exit_code, "errors": list(result.errors)}
    expected, ours = step.stdout.splitlines(), list(result.lines)
    redirected = re.search(r"(?<![2&>])>(?!&)", step.run)
    if redirected or len(step.invocations) > 1 or len(_SEPARATOR.split(step.run)) > 1 or "2>" in step.run:
        missing = [] if redirected else [line for line in ours if line not in expected]
        return ("lines that were not printed", expected, ours) if missing else ("", None, None)
    if _sorted_pruned(expected) != _sorted_pruned(ours):
        return "printed lines", expected, ours
    return "", None, None


def _compare_writes(expected: list[JSONObject], got: list[JSONObject]) -> tuple[str, JSONValue, JSONValue]:
    for number, (theirs, ours) in enumerate(zip(expected, got, strict=False)):
        different = [part for part in theirs if not is_same_json(theirs[part], ours[part])]
        if different:
            return f"write {number}: {', '.join(different)}", theirs, ours
    if len(expected) != len(got):
        longer = expected if len(expected) > len(got) else got
        first = longer[min(len(expected), len(got))]
        return f"{len(expected)} writes recorded, {len(got)} sent; {first['method']} {first['path']}", expected, got
    return "", None, None


def _judge(story: Story, step: StoryStep, invocation: Invocation, catalog: Catalog) -> tuple[str, JSONValue, JSONValue]:
    recording = _Recording(list(invocation.exchanges))
    prints_objects = False
    try:
        command = parse_apply(invocation.argv, read_env(story, step), namespace=story.namespace)
        result = _run_command(command, invocation, catalog, recording)
        prints_objects = command.prints_objects
    except UsageError as error:
        result = CommandResult((), 1, (str(error),))
    sent = [_as_data(r.method, r.path, r.query, r.content_type, r.body) for r in recording.sent]
    reason, expected, got = _compare_writes(_sorted_deletes(_recorded_writes(invocation)), _sorted_deletes(sent))
    if not reason and not prints_objects:
        reason, expected, got = _compare_printed(step, invocation, result)
    if reason and result.errors:
        reason += f" ({'; '.join(result.errors)})"
    return reason, expected, got


def run_story(path: Path) -> Iterator[CaseResult]:
    """Yield the verdict on every `kubectl apply` of a story."""
    story = load_story(path)
    definitions = SeenDefinitions()
    for step in story.steps:
        for invocation in step.invocations:
            if invocation.asks_for_kinds:
                definitions.forget_gone()
            if is_apply(invocation.argv):
                name = f"{story.name} step {step.number} invocation {invocation.number}"
                try:
                    reason, expected, got = _judge(story, step, invocation, definitions.catalog())
                except Exception as error:
                    # A case that fails is a disagreement, never a crash of the report.
                    reason, expected, got = f"{type(error).__name__}: {error}", None, None
                yield CaseResult("requests", name, not reason, reason, expected, got)
            definitions.follow(invocation.exchanges)
        definitions.follow([e for e in step.exchanges if e.invocation is None])
