"""The reasons are exactly the difference live → after: nothing more, nothing less."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.explain.fields import CHANGING, explain
from applyviz.engine.explain.reasons import FieldOperation, Reason, Stage
from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import Conflict, ConflictError, MergeError, OwnershipError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import clone
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.ownership.server_side import apply
from applyviz.engine.schema import builtin
from applyviz.engine.schema.walk import MISSING
from tests.engine.reorderings import find_reorderings

CORPORA = Path(__file__).parents[2] / "conformance"
NOW = "2026-06-01T00:00:00Z"


@cache
def inputs(family):
    file = next(CORPORA.rglob(f"{family}.jsonl.gz"))
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["input"] for line in lines]


def kind_of(given_kind):
    gvk = GroupVersionKind(given_kind["group"], given_kind["version"], given_kind["kind"])
    return builtin.bundled().find_kind(gvk)


def disturb(data, obj):
    """What a server may do after the merge: a field more, a field less, another value, another order."""
    obj = clone(obj)
    for _ in range(data.draw(st.integers(0, 3))):
        at = obj
        while isinstance(at, dict) and at:
            key = data.draw(st.sampled_from(sorted(at)))
            if isinstance(at[key], dict) and at[key] and data.draw(st.booleans()):
                at = at[key]
                continue
            choice = data.draw(st.sampled_from(["drop", "add", "change", "turn"]))
            if choice == "drop":
                del at[key]
            elif choice == "add":
                at["added"] = data.draw(st.sampled_from([1, "text", {}, {"deep": 1}, ["a"], None]))
            elif choice == "turn" and isinstance(at[key], list):
                at[key] = at[key][::-1]
            else:
                at[key] = data.draw(st.sampled_from([7, "other", {"x": 1}, [], None]))
            break
    return obj


def check(reasons, live, merged, after, root):
    differences = {d.path: d for d in diff_objects(live, after, root=root)}
    changing = [r for r in reasons if r.operation in CHANGING and r.reason is not Reason.ORDER]
    assert {r.path for r in changing} == set(differences)
    assert [r.path for r in reasons if r.reason is Reason.ORDER] == list(find_reorderings(live, after, root=root))
    assert max(Counter((r.path, r.reason is Reason.ORDER) for r in reasons).values(), default=1) == 1
    merged_paths = [d.path for d in diff_objects(live, merged, root=root)]
    by_merge = {path[:n] for path in merged_paths for n in range(1, len(path) + 1)}  # the server drops empty maps below
    for reason in changing:
        before = differences[reason.path].before
        gone = differences[reason.path].after is MISSING
        assert (reason.operation is FieldOperation.CLEARED) == gone
        assert (before is MISSING) <= (reason.operation in (FieldOperation.SET, FieldOperation.DEFAULTED))
        if reason.stage is Stage.MERGE:
            assert reason.path in by_merge


@given(st.data())
@settings(max_examples=120)
def test_reasons_of_a_client_side_apply_are_the_difference(data):
    case = data.draw(st.sampled_from(inputs("smp3")))
    kind = kind_of(case["gvk"])
    try:
        patch = patches.compute(case["original"], case["modified"], case["current"], kind=kind)
        merged = patches.apply(case["current"], patch.body, patch.content_type, kind=kind)
    except MergeError:
        merged = None
    after = disturb(data, merged) if merged is not None else None
    versions = SimpleNamespace(
        last_applied=case["original"], manifest=case["modified"], live=case["current"], merged=merged, after=after
    )

    reasons = explain(
        versions=versions, mode="client", manager="kubectl", kind=kind, owners_before=read_owners(case["current"])
    )

    done = case["current"] if after is None else after
    check(reasons, case["current"], merged if merged is not None else done, done, kind.root)


@given(st.data())
@settings(max_examples=120)
def test_reasons_of_a_server_side_apply_are_the_difference(data):
    case = data.draw(st.sampled_from([i for i in inputs("ssa") if "crd" not in i]))
    kind = kind_of(case["gvk"])
    conflicts: tuple[Conflict, ...] = ()
    merged = None
    try:
        applied = apply(
            case["live"],
            case["applied"],
            kind=kind,
            manager=case["manager"],
            force=case.get("force", False),
            subresource=case.get("subresource", ""),
            now=NOW,
        )
        merged = applied.result
    except ConflictError as error:
        conflicts = error.conflicts
    except OwnershipError:
        merged = None
    after = disturb(data, merged) if merged is not None else None
    versions = SimpleNamespace(
        last_applied=None, manifest=case["applied"], live=case["live"], merged=merged, after=after
    )

    reasons = explain(
        versions=versions,
        mode="server",
        manager=case["manager"],
        kind=kind,
        owners_before=read_owners(case["live"] or {}),
        owners_after=read_owners(after or {}),
        conflicts=conflicts,
        subresource=case.get("subresource", ""),
    )

    done = case["live"] if after is None else after
    check(reasons, case["live"], merged if merged is not None else done, done, kind.root)
    if conflicts:
        assert {Reason.CONFLICTS, Reason.CONFLICTS_WHILE_EQUAL} & {r.reason for r in reasons}
