"""Addons that are planned by choice: the risk on each object, and nodes that are marked before the record."""

from __future__ import annotations

from applyviz.engine.channels.model import AddonAction, AddonPlan, AddonReason, ChannelPlan
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.addon_risks import find_rolling
from applyviz.engine.planning.sets.channels import name_node
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.risks.planning.addons import ADDON_SKIPPED, NEEDS_ROLLING_UPDATE
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from tests.engine.planning.cluster import NOW, Box
from tests.engine.planning.test_channels import CONFIGS, KOPS, addon, config, reasons, rows

UPDATED = (AddonAction.UPDATE, AddonReason.OTHER_ID)
KINDS = (ADDON_SKIPPED, NEEDS_ROLLING_UPDATE)


def plan(box, texts, *chosen):
    documents = [d for name, text in texts.items() for d in parse_manifests(text.encode(), f"{name}.yaml").documents]
    options = replace(KOPS, channel=ChannelPlan("channel.yaml", "channel.yaml", "v1.36.3", chosen))
    planner = SetPlanner(documents, options=options, context=PlanningContext(bundled(), NOW))
    list(drive(planner, box.send_all))
    return planner.plan()


def add_nodes(box, *names):
    for name in names:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        assert box.send(Request("POST", "/api/v1/nodes", {"fieldManager": "kubelet"}, body=body)).is_ok


def list_risks(made):
    return {
        f"{change.addon}/{change.ref.name}": [risk.kind.slug for risk in change.risks if risk.kind in KINDS]
        for change in made.changes
    }


def test_each_object_of_an_addon_that_kops_skips_has_the_risk():
    box = Box()
    box.apply(config("gone"))
    skipped = AddonPlan(addon("a", prune=(CONFIGS,)), AddonAction.UPDATE, AddonReason.SAME, is_anyway=True)
    usual = AddonPlan(addon("b"), *UPDATED)

    made = plan(box, {"a": config("a"), "b": config("b"), "plain": config("plain")}, skipped, usual)

    assert list_risks(made) == {
        "a/a": ["addon-skipped"],
        "a/gone": ["addon-skipped"],
        "a/default": ["addon-skipped"],
        "b/b": [],
        "b/default": [],
        "/plain": [],
    }


def test_nodes_are_marked_once_after_the_objects_and_before_the_record():
    box = Box()
    add_nodes(box, "n1", "n2")
    rolling = addon("a", needs_rolling_update="all"), addon("b", needs_rolling_update="workers")
    chosen = [AddonPlan(one, *UPDATED, nodes=("n1", "n2"), marked=("n1", "n2")) for one in rolling]

    made = plan(box, {"a": config("a"), "b": config("b")}, *chosen)
    box.run(made)

    assert rows(made) == [
        ("a", "create", "a", 0),
        ("a", "update", "n1", 1),
        ("a", "update", "n2", 1),
        ("a", "update", "default", 2),
        ("b", "create", "b", 3),
        ("b", "update", "default", 4),
    ]
    assert [c.ref.key for c in made.changes[1:3]] == [name_node("n1"), name_node("n2")]
    assert reasons(made) == []
    assert list_risks(made)["a/default"] == list_risks(made)["b/default"] == ["needs-rolling-update"]
    assert list_risks(made)["a/n1"] == []
    annotations = box.get("/api/v1/nodes/n2")["metadata"]["annotations"]
    assert annotations == {"kops.k8s.io/needs-update": ""}


def test_addon_whose_node_is_gone_is_not_recorded():
    chosen = AddonPlan(addon("a", needs_rolling_update="all"), *UPDATED, nodes=("gone",), marked=("gone",))

    made = plan(Box(), {"a": config("a")}, chosen)

    assert [row[:3] for row in rows(made)] == [("a", "create", "a"), ("a", "error", "gone")]
    assert reasons(made) == ["addon a is not recorded as installed: Node gone cannot be marked"]


def test_rolling_update_names_the_nodes_that_are_known():
    one = AddonPlan(addon("a", needs_rolling_update="control-plane"), *UPDATED)
    said = "The update of addon a needs a rolling update of the control plane nodes"
    yourself = "kOps marks them for it, applyviz does not: roll them yourself."

    assert [render_risk(risk) for risk in find_rolling(one)] == [f"{said}. {yourself}"]
    known = replace(one, nodes=("n1", "n2"), more_nodes=3)
    assert [render_risk(risk) for risk in find_rolling(known)] == [f"{said}: n1, n2 and 3 more. {yourself}"]
    marked = replace(one, nodes=("n1",), marked=("n1",))
    assert [render_risk(risk) for risk in find_rolling(marked)] == [
        f"{said}: n1. The plan marks them, and the next rolling update of kOps replaces them with their pods."
    ]
    assert find_rolling(replace(one, nodes=())) == find_rolling(None) == ()
    assert find_rolling(replace(one, action=AddonAction.INSTALL)) == ()
