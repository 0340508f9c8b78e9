"""Judge the playground by what the real kubectl and API server did with the same input: family `playground`.

A case agrees if the outcome is the same: applied, in conflict with the same managers over the same fields, or refused
in the server's words. Where it was applied, the values, the field owners, whether any row is shown and whether pods
restart must be right too; where it was not, no row may be shown.

applyviz moves ownership first, kubectl afterwards: a conflict that stops only kubectl must be named as such, and what
kubectl writes although the server refuses its second apply must be right. An input that cannot be read must be refused
in kubectl's words, behind the position. Left out are values that only a real server can choose, and the annotation
last-applied, which kubectl keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.stories import NOW, load_lines
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.ownership.migrate import upgrade
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.requests.migrate import LAST_APPLIED_MANAGER
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.kubectl_order import find_difference

_CHOSEN = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
# The product binds its patch to the object that it read, and a server prints a refused patch.
_BOUND = re.compile(r" (resourceVersion:[0-9]+ uid:[0-9a-f-]+)(?=\])")
_RECORD = f".metadata.annotations.{LAST_APPLIED}"
_BOOKKEEPING = (_RECORD, ".metadata.generation", ".metadata.managedFields", ".status")
_SHOWN = (FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.DEFAULTED)
_INVALID = "not valid: "
# Where in the text the product found what it cannot read.
_POSITION = re.compile(r"^line [0-9]+(, column [0-9]+)?( \.\S*)?: ")
# Only Go can print its own structs with their capitalized names, and the lines of two of them that differ.
_GO_NAME = re.compile(r'"[A-Z]\w*":')
_STRUCT = re.compile(r"(?<=value: )\{.*\}(?=: )", re.DOTALL)
_GO_LINES = re.compile(r"\n\s*@@ .*?(?=\n\* |\n; |\Z)", re.DOTALL)
# Only a server can choose the uid that it quotes.
_UID, _NO_UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-4000-8000-000000000000"
# The server names the fields that do not match the schema in a random order, one a line.
_CAUSES = re.compile(r"; |\n  (?=\.)")
# A server names the type of a custom resource after the time.
_SELF = re.compile(r"\bselfType[0-9]+")
# The causes of a refusal are lines, but for the lines that show where in an expression its compiler stopped.
_LINES = re.compile(r"\n(?! \| |ERROR: <input>)")
# What kubectl prints of warnings before it prints the refusal.
_WARNING = re.compile(r"^Warning: .*\n", re.MULTILINE)
# applyviz finds in the plan that a manifest names another version or uid than live, and sends nothing.
_FOUND = {
    "the object has been modified": "the manifest names resourceVersion ",
    "metadata.uid: Invalid value: ": "the manifest names uid ",
}
_CONFLICT = re.compile(r'conflicts? with "([^"]+)"[^:\n]*:((?: \..+)|(?:\n- .+)+)')
_KUBECTL = re.compile(
    r'.*?error when (?:creating|patching|applying patch) "[^"]*": |.*?\nfor: (?:"[^"]*": )?|'
    r"^Error from server(?: \(\w+\))?: |^error: ",
    re.DOTALL,
)


def run_file(path: Path, family: str, _crds: Mapping[str, JSONValue]) -> Iterator[CaseResult]:
    """Judge every input of one file."""
    for _number, case in load_lines(path):
        if case.get("op") == family:
            yield judge_input(family, case)


def judge_input(family: str, case: JSONObject) -> CaseResult:
    """Judge one input: what was given, and what the real kubectl made of it."""
    name, expected = str(case["name"]), case["expected"]
    given = PlaygroundQuery.from_json(case["input"])
    try:
        change = playground.estimate(given, now=NOW)
    except PlaygroundQueryError as error:
        return _judge_unread(family, case, [problem.reason for problem in error.problems])
    otherwise = find_difference(given)
    if otherwise.conflicts and "refusal" in expected:
        judged = iter([_compare_conflicts(read_conflicts(expected["refusal"]), otherwise.conflicts)])
    elif otherwise.refusal and "refusal" in expected:
        judged = iter([("refusal", *_align(read_causes(expected["refusal"]), split_causes(otherwise.refusal)))])
    elif otherwise.first_apply is not None and "after" in expected:
        judged = _judge_first_apply(otherwise.first_apply, expected, given.field_manager if otherwise.is_moving else "")
    elif otherwise.result is not None and "after" in expected:
        judged = _judge_first_apply(otherwise.result, expected, "")
    elif "refusal" in expected:
        judged = _judge_refusal(change, expected)
    else:
        judged = _judge_result(change, expected, otherwise.conflicts)
    for reason, wanted, found in judged:
        if not is_same_json(wanted, found):
            return CaseResult(family, name, False, reason, wanted, found)
    return CaseResult(family, name, True)


def _judge_unread(family: str, case: JSONObject, got: list[str]) -> CaseResult:
    refusal = case["expected"].get("refusal", "")
    reasons = [_POSITION.sub("", reason) for reason in got]
    agrees = bool(refusal) and all(refusal.strip().endswith(reason) for reason in reasons)
    return CaseResult(family, str(case["name"]), agrees, "not read", refusal, got)


Comparison = tuple[str, JSONValue, JSONValue]


def _judge_refusal(change: PlannedObject, expected: JSONObject) -> Iterator[Comparison]:
    refusal = expected["refusal"]
    conflicts = read_conflicts(refusal)
    yield "outcome", str(Operation.BLOCKED if conflicts else Operation.ERROR), str(change.operation)
    if conflicts:
        yield _compare_conflicts(conflicts, change.conflicts)
    else:
        yield "refusal", *_align(read_causes(refusal), split_causes(change.error))
    yield "rows", [], sorted(_list_rows(change))
    yield "after", _compared(change.versions.live or {}), _compared(change.versions.after or {})


def _compare_conflicts(expected: list[tuple[str, str]], conflicts: Iterable[Conflict]) -> Comparison:
    found = ([conflict.manager, render_path(conflict.path)] for conflict in conflicts)
    return "conflicts", sorted(map(list, expected)), sorted(found)


def read_conflicts(refusal: str) -> list[tuple[str, str]]:
    """Return the managers and fields that kubectl prints for a conflict."""
    return [
        (found[1], field.strip().removeprefix("- "))
        for found in _CONFLICT.finditer(refusal)
        for field in found[2].strip().splitlines()
    ]


def read_causes(refusal: str) -> list[str]:
    """Return what a refusal of kubectl says, without what kubectl puts before it: its causes, sorted."""
    refusal = _WARNING.sub("", _GO_LINES.sub("", refusal))
    _before, is_invalid, causes = refusal.partition("is invalid: ")
    if is_invalid:
        return sorted({line.strip().removeprefix("* ") for line in _LINES.split(causes) if line.strip()})
    return [_KUBECTL.sub("", refusal).strip()]


def split_causes(error: str) -> list[str]:
    """Return the causes of an error that the product shows, sorted, without the lines that differ."""
    named = error.removeprefix(_INVALID)
    shown = _BOUND.sub("", _GO_LINES.sub("", named))
    return sorted(map(str.strip, shown.split("; "))) if named != error else [error.strip()]


def _align(causes: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """Return both without what is compared by its meaning only; a cause may have the sign between causes in it."""
    is_single = len(causes) == len(ours) == 1
    if is_single and any(words in causes[0] and ours[0].startswith(found) for words, found in _FOUND.items()):
        return [], []
    causes, ours = (
        sorted({part for cause in side for part in _CAUSES.split(_SELF.sub("selfType", _UID.sub(_NO_UID, cause)))})
        for side in (causes, ours)
    )
    if any(map(_GO_NAME.search, causes)):
        return sorted(_STRUCT.sub("", cause) for cause in causes), sorted(_STRUCT.sub("", cause) for cause in ours)
    return causes, ours


def _judge_result(change: PlannedObject, expected: JSONObject, stopped: Iterable[Conflict]) -> Iterator[Comparison]:
    live, manifest = change.versions.live, change.versions.manifest
    after = without_chosen(expected["after"], manifest or {}, live)
    yield "outcome", "", change.error or "".join(str(c) for c in change.conflicts)
    yield "conflicts", [], [str(c) for c in stopped]
    yield "values", _compared(after), _compared(change.versions.after or {})
    yield "owners", _list_owners(after), _list_owners(change.versions.after or {})
    if live is None:
        return
    yield "is changed", _compared(live) != _compared(after), bool(_list_rows(change))
    restarts = PODS_RESTART in {risk.kind for risk in change.risks}
    yield "restarts", restarts and _template(live) != _template(after), restarts


def _judge_first_apply(ours: JSONObject, expected: JSONObject, manager: str) -> Iterator[Comparison]:
    """Compare the object that kubectl writes, and the owners after it moved fields to a manager ("" if it has)."""
    after = without_chosen(expected["after"], {}, ours)
    yield "values", _compared(after), _compared(ours)
    entries = upgrade(ours, manager=manager) if manager else ours["metadata"].get("managedFields", [])
    moved = {**ours, "metadata": {**ours["metadata"], "managedFields": entries}}
    yield "owners", _list_owners(after), _list_owners(moved)


def _template(obj: JSONObject) -> JSONValue:
    template: JSONValue = get_at(obj, ("spec", "template"))
    return template


def _compared(obj: JSONObject) -> JSONObject:
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _CHOSEN}
    annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != LAST_APPLIED}
    metadata |= {"annotations": annotations} if annotations else {}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}


def _list_owners(obj: JSONObject) -> Sequence[JSONValue]:
    """Return the field owners, without those of status, which a server writes by itself a moment after the apply."""
    left_out = (LAST_APPLIED_MANAGER, "status")
    entries = (
        e for e in read_owners(obj).entries if e.owner.manager not in left_out and e.owner.subresource not in left_out
    )
    return sorted([e.owner.manager, e.owner.operation, sorted(map(render_path, e.fields))] for e in entries)


def _list_rows(change: PlannedObject) -> set[str]:
    paths = (render_path(reason.path) for reason in change.fields if reason.operation in _SHOWN)
    return {path for path in paths if path != ".metadata.annotations" and not path.startswith(_BOOKKEEPING)}
