"""Single calculations of ownership, answered by the API server's own libraries: `ssa`, `update`, `csaupgrade`.

One gzip'd JSON line is one case. Results are compared as JSON values, conflicts as a set of manager and field with the
code, errors by code and text up to its first value in Go's formatting (lists of typed errors by field path). In these
files built-in kinds are known at one version (entries of any other belong to a removed version), and only those that
the format names exclude fields from ownership; the engine itself knows more of both.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.stories import NOW
from applyviz.engine.objects.errors import ConflictError, OwnershipError
from applyviz.engine.objects.golang import read_integer
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.engine.ownership import migrate, server_side, updates
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema

# Later than every other time of a case, so that a newly written entry is visible.
# The built-in kinds that exclude fields from ownership in these files.
_WITH_RESETS = frozenset(
    {
        *(("apps", k) for k in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
        *(("", k) for k in ("Pod", "Service", "PersistentVolumeClaim")),
        *(("batch", k) for k in ("Job", "CronJob")),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("policy", "PodDisruptionBudget"),
        ("networking.k8s.io", "Ingress"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)
# The beginning of a value in Go's own formatting, or of a message of its JSON reader.
_GO_VALUE = re.compile(r"&\{|&value|map\[|%!|\[\]interface|&v1\.|\{|(?<=parsing key as path element): ")


def _find_builtin(gvk: GroupVersionKind) -> KindSchema | None:
    kind = bundled().find_kind(gvk)
    if kind is None:
        return None
    resets = kind.reset_fields if (gvk.group, gvk.kind) in _WITH_RESETS else {}
    return replace(kind, served_versions=(gvk.version,), version_roots={}, reset_fields=resets)


class Kinds:
    """The kinds of a file: custom ones by the key of their definition, built-in ones at one version."""

    def __init__(self, crds: Mapping[str, JSONObject]) -> None:
        self._crds = crds
        self._sources: dict[str, CRDSource] = {}

    def get(self, gvk: GroupVersionKind, crd: str) -> KindSchema:
        """Return the kind of a case.

        - Raises `LookupError` if it is not defined.
        """
        if crd:
            source = self._sources.setdefault(crd, CRDSource([self._crds[crd]]))
            kind = source.find_kind(gvk)
        else:
            kind = _find_builtin(gvk)
        if kind is None:
            raise LookupError(f"no schema for {gvk.api_version} {gvk.kind}")
        return kind


def _answer_ssa(case: JSONObject, kinds: Kinds) -> JSONObject:
    try:
        applied = server_side.apply(
            case["live"],
            case["applied"],
            kind=_find_kind(case, kinds),
            manager=case["manager"],
            force=case.get("force", False),
            subresource=case.get("subresource", ""),
            now=NOW,
        )
    except ConflictError as error:
        conflicts = [{"manager": c.manager, "field": c.field, "message": c.message} for c in error.conflicts]
        return {"conflicts": conflicts, "message": error.message, "code": 409}
    return {"result": applied.result}


def _answer_update(case: JSONObject, kinds: Kinds) -> JSONObject:
    entries = updates.update(
        case["live"],
        case["new"],
        kind=_find_kind(case, kinds),
        manager=case["manager"],
        subresource=case.get("subresource", ""),
        now=NOW,
    )
    return {"result": entries}


def _answer_upgrade(case: JSONObject, kinds: Kinds) -> JSONObject:
    return {"result": migrate.upgrade(case["live"], manager=case["manager"], csa_managers=case.get("csaManagers"))}


_ANSWERS: Mapping[str, Callable[[JSONObject, Kinds], JSONObject]] = {
    "ssa": _answer_ssa,
    "update": _answer_update,
    "csaupgrade": _answer_upgrade,
}


def _find_kind(case: JSONObject, kinds: Kinds) -> KindSchema:
    named = case["gvk"]
    return kinds.get(GroupVersionKind(named["group"], named["version"], named["kind"]), case.get("crd") or "")


def answer(family: str, case: JSONObject, kinds: Kinds) -> JSONObject:
    """Return the engine's answer to the input of one case."""
    try:
        return _ANSWERS[family](case, kinds)
    except OwnershipError as error:
        return {"error": error.reason, "code": error.code}


def _reduce_error(text: str) -> str | tuple[str, frozenset[str]]:
    """Return the comparable part of an error: the text before the first Go value, or the paths of its list."""
    head, mark, tail = text.partition("errors:\n")
    if mark:
        return head, frozenset(line.strip().partition(": ")[0] for line in tail.splitlines())
    return _GO_VALUE.split(text, maxsplit=1)[0]


def _names_one_of(expected: str, got: str) -> bool:
    """Return whether one typed error is among several: the server stops at any one, the engine reports all."""
    head, mark, tail = got.partition("errors:\n")
    return bool(mark) and any(_reduce_error(head + line.strip()) == expected for line in tail.splitlines())


def _agrees_on_error(expected: JSONObject, got: JSONObject) -> bool:
    if "code" in expected and expected["code"] != got.get("code"):
        return False
    text = str(got.get("error", ""))
    wanted, found = _reduce_error(expected["error"]), _reduce_error(text)
    if isinstance(wanted, tuple) and isinstance(found, tuple):
        return wanted[0] == found[0] and bool(wanted[1] & found[1])
    return bool(wanted == found) or (isinstance(wanted, str) and _names_one_of(wanted, text))


def _name_conflicts(answer_: JSONObject) -> set[tuple[str, str]]:
    return {(c["manager"], c["field"]) for c in answer_.get("conflicts", ())}


def compare_answers(expected: JSONObject, got: JSONObject) -> str:
    """Return where two answers differ, in one line; "" if they agree."""
    if "error" in expected:
        return "" if _agrees_on_error(expected, got) else "another error, or none"
    if "conflicts" in expected:
        if got.get("code") != expected["code"]:
            return "no conflict"
        return "" if _name_conflicts(expected) == _name_conflicts(got) else "other conflicts"
    if "result" not in got:
        return f"no result: {got.get('error') or got.get('message')}"
    return "" if is_same_json(expected["result"], got["result"]) else "another result"


def run_file(path: Path, family: str, crds: Mapping[str, JSONObject]) -> Iterator[CaseResult]:
    """Yield the verdict on every case of a file of one family."""
    kinds = Kinds(crds)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            case = json.loads(line, parse_int=read_integer)
            name = f"{path.name} line {number}"
            try:
                got = answer(family, case["input"], kinds)
            except Exception as error:  # a failing case is one disagreement; the others go on
                got = {"error": f"{type(error).__name__}: {error}", "code": 0}
            reason = compare_answers(case["expected"], got)
            yield CaseResult(
                family, name, not reason, reason, case["expected"] if reason else None, got if reason else None
            )
