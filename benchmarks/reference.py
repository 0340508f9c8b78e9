"""The Go libraries beside the engine: the same cases in the same run, both from JSON bytes to JSON bytes.

Used by the other scripts. The Go program is that of `tests/controlplane/oracle`; it takes its own median over many
runs on one core, so that the pipe between us costs it nothing.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from applyviz.conformance.merging import answer_case
from applyviz.engine.merge import patches
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership import server_side
from benchmarks.measuring import find_kind, median_ms
from tests.controlplane.binaries import NotAvailableError
from tests.controlplane.explore import find_documents
from tests.controlplane.judge import find_oracle

NOW = "2026-06-01T00:00:00Z"
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians in milliseconds; `go` is None when the Go program cannot be had, `reason` says why."""

    name: str
    ours: float
    go: float | None
    is_same: bool
    reason: str = ""


def compare(cases: Mapping[str, Case], repeat: int) -> list[Comparison]:
    """Both medians for each named case."""
    ours = {name: median_ms(_prepare(case), repeat) for name, case in cases.items()}
    try:
        replies, reason = _ask_go(cases, repeat), ""
    except NotAvailableError as error:
        replies, reason = {}, str(error)
    found = []
    for name, case in cases.items():
        reply = replies.get(name, {})
        go = reply["nanoseconds"] / 1e6 if reply else None
        found.append(Comparison(name, ours[name], go, bool(reply) and _is_same(case, reply["expected"]), reason))
    return found


def _prepare(case: Case) -> Callable[[], bytes]:
    """The engine's side: read the JSON, answer, write the JSON."""
    given = {k: json.dumps(v).encode() for k, v in case["input"].items() if isinstance(v, dict) and k != "gvk"}
    return lambda: json.dumps(_answer(case, {k: json.loads(v) for k, v in given.items()})).encode()


def _answer(case: Case, objects: Mapping[str, Any]) -> Any:
    gvk = GroupVersionKind(**case["input"]["gvk"])
    kind = find_kind(gvk.group, gvk.kind)
    if case["op"] == "smp3":
        return patches.compute(objects["original"], objects["modified"], objects["current"], kind=kind).body
    manager, force = case["input"]["manager"], case["input"]["force"]
    live, applied = objects["live"], objects["applied"]
    return server_side.apply(live, applied, kind=kind, manager=manager, force=force, now=NOW).result


def _is_same(case: Case, expected: Mapping[str, Any]) -> bool:
    if case["op"] == "smp3":
        return bool(answer_case(case["input"], "smp3")["patch"] == expected["patch"])
    return bool(_answer(case, case["input"]) == expected["result"])


def _ask_go(cases: Mapping[str, Case], repeat: int) -> dict[str, Any]:
    lines = "".join(json.dumps({**case, "repeat": repeat}) + "\n" for case in cases.values())
    command = [str(find_oracle()), "-openapi", str(find_documents())]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))
