"""Deletions of kinds that a policy counts as critical have a high risk, whatever deletes them."""

from __future__ import annotations

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode, SetAction
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.pruning import CRITICAL_KIND
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_staying import config

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT)
PRUNE = replace(CLIENT, prune=Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True))


def is_critical(ref):
    return "strict" if ref.name == "b" else ""


def list_critical(plan):
    return [
        (change.ref.name, change.operation.value, risk.level, risk.facts["policy"])
        for change in plan.changes
        for risk in change.risks
        if risk.kind is CRITICAL_KIND
    ]


def test_deleted_and_pruned_objects_of_a_critical_kind_have_the_risk():
    box = Box()
    box.apply(config("a") + config("b"), CLIENT)

    pruned = box.plan(config("a"), PRUNE, find_critical=is_critical)
    deleted = box.plan(config("a") + config("b"), ApplyOptions(action=SetAction.DELETE), find_critical=is_critical)

    assert list_critical(pruned) == [("b", "prune", RiskLevel.HIGH, "strict")]
    assert list_critical(deleted) == [("b", "delete", RiskLevel.HIGH, "strict")]


def test_update_and_other_objects_have_none():
    box = Box()
    box.apply(config("a") + config("b"), CLIENT)

    assert list_critical(box.plan(config("a") + config("b", app="web"), CLIENT, find_critical=is_critical)) == []
    assert list_critical(box.plan(config("a"), PRUNE)) == []


def test_deletion_that_takes_objects_of_a_critical_kind_along_has_the_risk():
    box = Box()
    box.apply(config("a"))
    uid = box.get("/api/v1/namespaces/default/configmaps/a")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "ownerReferences": [owner]}}
    assert box.send(Request("POST", "/api/v1/namespaces/default/secrets", body=secret)).is_ok

    def find_critical(ref):
        return "strict" if (ref.gvk.kind, ref.namespace) == ("Secret", "default") else ""

    plan = box.plan(config("a"), ApplyOptions(action=SetAction.DELETE), find_critical=find_critical)

    assert list_critical(plan) == [("a", "delete", RiskLevel.HIGH, "strict")]
