"""The playground answers as the real server did: values, owners and refusals of recorded inputs, and what it tells."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.merge.last_applied import ANNOTATION
from applyviz.engine.objects.paths import render_path
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.risks.model import RiskKind, RiskLevel
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery

NOW = "2026-06-01T00:00:00Z"
FILE = Path(__file__).parent / "data" / "playground.jsonl.gz"
RECORDED = {one["name"]: one for one in map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())}
CHOSEN = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
# The product binds its patch to the object that it read, and a refused patch is told whole.
BOUND = re.compile(r" (resourceVersion:\d+ uid:[0-9a-f-]+)(?=\])")
# kubectl keeps the annotation when it changes sides; the product removes it.
KEPT_BY_KUBECTL = "kubectl-last-applied"
TOLD = (FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.DEFAULTED)
BOOKKEEPING = (".metadata.annotations", ".metadata.generation", ".metadata.managedFields", ".status")


def explain(name: str):
    return playground.estimate(PlaygroundQuery.from_json(RECORDED[name]["given"]), now=NOW)


def values(obj: Any) -> Any:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in CHOSEN}
    annotations = {k: v for k, v in metadata.pop("annotations", {}).items() if k != ANNOTATION}
    return {**obj, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def owners(obj: Any) -> list[tuple[str, str, list[str]]]:
    entries = [e for e in read_owners(obj).entries if e.owner.manager != KEPT_BY_KUBECTL]
    return sorted((e.owner.manager, e.owner.operation, sorted(map(render_path, e.fields))) for e in entries)


def causes(text: str) -> Iterator[str]:
    """The fields that a refusal of kubectl names, each with its message."""
    after = text.partition("is invalid: ")[2].strip()
    yield from (line.strip().removeprefix("* ") for line in after.splitlines() if line.strip())


def told(change) -> set[str]:
    found = (render_path(reason.path) for reason in change.fields if reason.operation in TOLD)
    return {path for path in found if not path.startswith(BOOKKEEPING)}


@pytest.mark.parametrize("name", RECORDED)
def test_values_and_owners_are_those_of_the_server(name):
    truth, change = RECORDED[name], explain(name)

    if "conflict" in truth.get("refusal", ""):
        assert change.operation is Operation.BLOCKED
        assert [f'"{c.manager}"' in truth["refusal"] for c in change.conflicts] == [True]
        return
    if "refusal" in truth:
        assert change.operation is Operation.ERROR
        error = BOUND.sub("", change.error.removeprefix("not valid: "))
        assert error.split("; ") == list(causes(truth["refusal"]))
        return
    expected = without_chosen(truth["after"], {}, change.versions.live)
    assert values(change.versions.after) == values(expected)
    assert owners(change.versions.after) == owners(expected)


@pytest.mark.parametrize("name", [name for name, one in RECORDED.items() if one["given"]["live"]])
def test_rows_are_those_that_differ(name):
    """Where the same object comes back, nothing but bookkeeping is told."""
    change, truth = explain(name), RECORDED[name]

    if "refusal" in truth:
        assert told(change) == set()
    else:
        assert bool(told(change)) is (values(change.versions.live) != values(truth["after"]))


@pytest.mark.parametrize("name", ["q7", "y1", "t16"])
def test_no_restart_is_told_where_nothing_changes(name):
    change = explain(name)

    assert told(change) == set()
    assert RiskKind.PODS_RESTART not in {risk.kind for risk in change.risks}


def test_blocked_object_tells_only_its_conflict():
    """The merge alone removes every default; a server sets them again before anything is stored."""
    change = explain("by-hand")

    assert told(change) == set()
    conflicts = [r for r in change.fields if r.operation is FieldOperation.CONFLICT]
    assert [render_path(r.path) for r in conflicts] == ['.spec.template.spec.containers[name="web"].image']
    assert values(change.versions.after) == values(change.versions.live)


def test_entry_that_the_merge_removes_with_another_is_told_as_such():
    """The manifest keeps 53/UDP and drops 53/TCP; the patch names only `port: 53`, and both go."""
    change = explain("dns4")

    udp, tcp = (f'.spec.ports[port=53,protocol="{protocol}"]' for protocol in ("UDP", "TCP"))
    reasons = {render_path(r.path): r for r in change.fields if r.operation is FieldOperation.CLEARED}
    assert {r.reason for path, r in reasons.items() if path.startswith(udp)} == {Reason.SHARED_MERGE_KEY}
    assert {r.reason for path, r in reasons.items() if path.startswith(tcp)} == {Reason.REMOVED_FROM_MANIFEST}
    assert len(reasons) == 8
    told_first = render_reason(reasons[f"{udp}.name"])
    assert told_first == "Removed although your manifest contains it: another entry with the same `port` goes"


@pytest.mark.parametrize("name", ["dns4", "k6"])
def test_entry_that_the_merge_removes_with_another_is_a_high_risk(name):
    found = [(risk.kind, risk.level) for risk in explain(name).risks]

    assert found == [(RiskKind.SHARED_MERGE_KEY, RiskLevel.HIGH)]


@pytest.mark.parametrize("name", ["u1", "u2", "t30", "k1", "r2", "t13", "u5"])
def test_new_parts_show_their_defaults(name):
    defaulted = [reason for reason in explain(name).fields if reason.operation is FieldOperation.DEFAULTED]

    assert len(defaulted) >= 4


@pytest.mark.parametrize("name", [name for name, one in RECORDED.items() if one["given"]["live"]])
def test_abridged_live_object_leads_to_the_same(name):
    """People leave out what the server filled in; the server shows it all the same."""
    truth = RECORDED[name]
    given = PlaygroundQuery.from_json(truth["given"])
    full, live = explain(name), playground.read(given).live
    metadata = {k: v for k, v in live["metadata"].items() if k not in ("uid", "creationTimestamp", "generation")}
    short = {**live, "metadata": metadata}
    short["spec"] = {k: v for k, v in (live.get("spec") or {}).items() if k not in ("revisionHistoryLimit", "strategy")}
    short.pop("status", None)
    text = json.dumps({k: v for k, v in short.items() if v != {}})

    change = playground.estimate(PlaygroundQuery.from_json({**truth["given"], "live": text}), now=NOW)

    assert change.operation is full.operation
    if change.operation is not Operation.ERROR:
        assert told(change) == told(full)


def test_recordings_are_of_both_ways_and_of_every_outcome():
    given = [one["given"] for one in RECORDED.values()]

    assert {one["mode"] for one in given} == {"client", "server"}
    assert {bool(one["live"]) for one in given} == {bool(one["crds"]) for one in given} == {True, False}
    assert sum("refusal" in one for one in RECORDED.values()) >= 4
