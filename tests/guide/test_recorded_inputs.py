"""What the playground says of inputs whose real outcome was recorded; the outcomes are judged by `playground`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from applyviz.conformance.playground import judge_input
from applyviz.conformance.stories import NOW
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.lists import SHARED_MERGE_KEY
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery

FILE = Path(__file__).parents[1] / "conformance" / "data" / "playground" / "playground.jsonl.gz"
RECORDED = {one["name"]: one for one in map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())}
TOLD = (FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.DEFAULTED)
BOOKKEEPING = (".metadata.annotations", ".metadata.generation", ".metadata.managedFields", ".status")
BY_HAND = ["q7", "y1", "dns4", "k6", "p3", "s8", "n1", "c2", "u14", "u6", "t16", "u11", "t19", "t10", "s23", "t8", "l4"]
BY_HAND += ["k1", "r2", "t13", "u5", "widget-too-large", "by-hand", "by-hand-forced"]


WIDE = FILE.parents[2] / "wide"
# One input of each kind of answer that the playground once gave otherwise.
ONCE_OTHERWISE = (
    *(
        "deployment-web-spec.selector.matchexpressions-client-bad1",
        "deployment-web-spec.template.spec.volumes-client-replace",
    ),
    *("job-once-spec.podfailurepolicy-server-bad0", "job-once-spec.selector-client-bad0"),
    *("service-web-spec.clusterip-client-bad1", "service-web-spec.clusterip-client-new-null"),
    *("service-web-spec.clusterips-server-bad1", "service-web-spec.ports-server-client-add"),
    *("endpointslice-slice-addresstype-server-bad0", "namespace-space-spec.finalizers-client-bad0"),
    *(
        "persistentvolumeclaim-data-spec.datasource-client-bad0",
        "persistentvolumeclaim-data-spec.datasource-server-new",
    ),
    *("csidriver-disk.example.com-spec.fsgrouppolicy-client-bad0", "priorityclass-high-value-client-bad1"),
    *("horizontalpodautoscaler-web-spec.metrics-client-bad5", "lease-lease-spec.strategy-client-bad0"),
    *("validatingadmissionpolicy-vap-spec.validations-server-bad0", "event-happened-type-client-bad0"),
    *(
        "validatingadmissionpolicybinding-vapb-spec.matchresources-server-bad0",
        "servicecidr-cidr-spec.cidrs-client-bad1",
    ),
    *(
        "prioritylevelconfiguration-level-spec.limited.limitresponse-server-bad2",
        "servicecidr-cidr-spec.cidrs-client-drop",
    ),
    *("resourceclaimtemplate-claims-spec.spec.devices.requests-client-new-duplicate",),
    *("resourceclaimtemplate-claims-spec.spec.devices.requests-client-bad1",),
    *("customresourcedefinition-things.kinds.example.com-spec.names-client-empty",),
    *("customresourcedefinition-things.kinds.example.com-spec.conversion-client-bad1",),
)


def explain(name: str):
    return playground.estimate(PlaygroundQuery.from_json(RECORDED[name]["input"]), now=NOW)


def told(change) -> set[str]:
    found = (render_path(reason.path) for reason in change.fields if reason.operation in TOLD)
    return {path for path in found if not path.startswith(BOOKKEEPING)}


@pytest.mark.parametrize("name", ["q7", "y1", "t16"])
def test_no_restart_is_told_where_nothing_changes(name):
    change = explain(name)

    assert told(change) == set()
    assert PODS_RESTART not in {risk.kind for risk in change.risks}


def test_blocked_object_tells_only_its_conflict():
    """The merge alone removes every default; a server sets them again before anything is stored."""
    change = explain("by-hand")

    assert told(change) == set()
    conflicts = [r for r in change.fields if r.operation is FieldOperation.CONFLICT]
    assert [render_path(r.path) for r in conflicts] == ['.spec.template.spec.containers[name="web"].image']
    assert change.versions.after["spec"] == change.versions.live["spec"]


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

    assert found == [(SHARED_MERGE_KEY, RiskLevel.HIGH)]


@pytest.mark.parametrize("name", ["u1", "u2", "t30", "k1", "r2", "t13", "u5"])
def test_new_parts_show_their_defaults(name):
    defaulted = [reason for reason in explain(name).fields if reason.operation is FieldOperation.DEFAULTED]

    assert len(defaulted) >= 4


@pytest.mark.parametrize("name", BY_HAND)
def test_abridged_live_object_leads_to_the_same(name):
    """People leave out what the server filled in; the server shows it all the same."""
    recorded = RECORDED[name]["input"]
    given = PlaygroundQuery.from_json(recorded)
    full, live = explain(name), playground.read(given).live
    metadata = {k: v for k, v in live["metadata"].items() if k not in ("uid", "creationTimestamp", "generation")}
    short = {**live, "metadata": metadata}
    short["spec"] = {k: v for k, v in (live.get("spec") or {}).items() if k not in ("revisionHistoryLimit", "strategy")}
    short.pop("status", None)
    text = json.dumps({k: v for k, v in short.items() if v != {}})

    change = playground.estimate(PlaygroundQuery.from_json({**recorded, "live": text}), now=NOW)

    assert change.operation is full.operation
    if change.operation is not Operation.ERROR:
        assert told(change) == told(full)


def test_refused_creation_shows_no_rows():
    """Nothing is created, so no field is set: t22 is a container without a name."""
    change = explain("t22")

    assert (change.operation, change.fields, change.versions.after) == (Operation.ERROR, (), None)


def test_inputs_that_were_once_answered_otherwise_agree():
    lines = (line for file in WIDE.glob("*.gz") for line in gzip.decompress(file.read_bytes()).splitlines())
    cases = {case["name"]: case for case in map(json.loads, lines) if case["name"] in ONCE_OTHERWISE}

    assert [name for name in ONCE_OTHERWISE if not judge_input("playground", cases[name]).agrees] == []


def test_recordings_are_of_both_ways_and_of_every_outcome():
    given = [one["input"] for one in RECORDED.values()]

    assert len(given) >= 150
    assert {one["mode"] for one in given} == {"client", "server"}
    assert {bool(one["live"]) for one in given} == {bool(one["crds"]) for one in given} == {True, False}
    assert sum("refusal" in one["expected"] for one in RECORDED.values()) >= 60
