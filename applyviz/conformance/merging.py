"""Random three-way patches: the families `smp3` and `jmp3`.

Each line of a file is one case with the answer of the Go libraries that kubectl is built from: the patch and the
resulting object, or an error. A case with a `patch` covers only the latter: with a kind it is a strategic merge patch,
without one a JSON merge patch, as a list a JSON patch. Compared as JSON values; where an error is expected, any error
agrees.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.engine.merge import patches
from applyviz.engine.merge.json_merge import apply_json_merge, compute_json_merge
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_same_json
from applyviz.engine.schema import builtin
from applyviz.engine.schema.model import KindSchema


def run_file(path: Path, family: str, crds: Mapping[str, JSONObject]) -> Iterator[CaseResult]:
    """Yield the verdict on every case of a gzip'd file of JSON lines; these families need no definitions."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            yield judge_case(json.loads(line), family, f"{path.name} line {number}")


def judge_case(case: JSONObject, family: str, name: str) -> CaseResult:
    """Return the verdict on one case."""
    expected = {k: v for k, v in case["expected"].items() if k in ("patch", "result", "resultError", "error")}
    got = answer_case(case["input"], family)
    reason = _find_difference(expected, got)
    return CaseResult(family, name, not reason, reason, expected, got)


def answer_case(given: JSONObject, family: str) -> MutableObject:
    """Return the engine's answer to the input of a case, in the format of the corpus."""
    answer: MutableObject = {}
    try:
        if "patch" in given:
            return {"result": _apply_alone(given)}
        original, modified, current = given["original"], given["modified"], given["current"]
        if family == "smp3":
            kind, is_overwriting = _find_kind(given["gvk"]), given.get("overwrite", True)
            patch = patches.compute(original, modified, current, kind=kind, is_overwriting=is_overwriting)
            answer["patch"] = patch.body
            answer["result"] = patches.apply(current, patch.body, patch.content_type, kind=kind)
        else:
            answer["patch"] = compute_json_merge(original or {}, modified, current).body
            answer["result"] = apply_json_merge(current, answer["patch"])
    except MergeError as error:
        answer["resultError" if "patch" in answer else "error"] = str(error)
    return answer


def _apply_alone(given: JSONObject) -> JSONValue:
    patch, gvk = given["patch"], given.get("gvk")
    if gvk is not None:
        return patches.apply(given["current"], patch, STRATEGIC_MERGE_PATCH, kind=_find_kind(gvk))
    content_type = JSON_PATCH if isinstance(patch, list) else MERGE_PATCH
    return patches.apply(given["current"], patch, content_type, kind=None)


def _find_kind(gvk: Mapping[str, str]) -> KindSchema | None:
    return builtin.bundled().find_kind(GroupVersionKind(gvk["group"], gvk["version"], gvk["kind"]))


def _find_difference(expected: JSONObject, got: JSONObject) -> str:
    if set(expected) != set(got):
        return f"expected {', '.join(sorted(expected))}, got {', '.join(sorted(got))}"
    for part in ("patch", "result"):
        if part in expected and not is_same_json(expected[part], got[part]):
            return f"another {part}"
    return ""
