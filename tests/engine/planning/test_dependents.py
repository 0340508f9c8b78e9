"""The objects that go with a deleted one: what the plan changes about owners, and what a manifest cannot hide."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.deletions import DEPENDENTS
from applyviz.engine.risks.sentences import describe_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_removals import CRD, TOY

CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: default}\n"
TOYS = "/apis/example.com/v1/namespaces/default/toys"
MAPS = "/api/v1/namespaces/default/configmaps"
CLIENT = ApplyOptions(ApplyMode.CLIENT, prune=Prune(PruneMode.ALLOWLIST, is_all=True))


def own(text: str, kind: str, version: str, name: str, uid: str) -> str:
    reference = json.dumps([{"apiVersion": version, "kind": kind, "name": name, "uid": uid}])
    return text.replace("}", f", ownerReferences: {reference}}}")


def dependents(plan) -> dict[str, str]:
    return {c.ref.name: describe_risk(r) for c in plan.changes for r in c.risks if r.kind is DEPENDENTS}


@pytest.mark.parametrize("gets", [True, False])
def test_owners_that_the_plan_sets_or_removes_count_for_what_it_prunes(gets):
    box, child = Box(), CONFIG.replace("NAME", "child")
    box.apply(CONFIG.replace("NAME", "owner"), CLIENT)
    owned = own(child, "ConfigMap", "v1", "owner", box.get(f"{MAPS}/owner")["metadata"]["uid"])
    box.apply((child if gets else owned) + CONFIG.replace("NAME", "owner"), CLIENT)

    plan = box.plan(owned if gets else child, CLIENT)

    assert {c.ref.name: c.operation for c in plan.changes} == {"child": Operation.UPDATE, "owner": Operation.PRUNE}
    said = {"owner": "ConfigMap child belongs to ConfigMap owner and is deleted with it."}
    assert dependents(plan) == (said if gets else {})


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_field_of_a_manifest_is_no_policy_for_dependents(mode):
    box, options, held = Box(), ApplyOptions(mode), TOY.replace("}", ", finalizers: [a.b/c]}")
    catalog = SourceChain(CRDSource([yaml.safe_load(CRD)]), bundled())
    box.apply(CRD)
    box.run(box.plan(held, options, catalog=catalog))
    uid = box.get(f"{TOYS}/bear")["metadata"]["uid"]
    box.apply(own(CONFIG.replace("NAME", "child"), "Toy", "example.com/v1", "bear", uid))
    box.handle(Request("DELETE", f"{TOYS}/bear"))

    plan = box.plan(f"{TOY}propagationPolicy: Orphan\n", options, catalog=catalog)

    assert [c.operation for c in plan.changes] == [Operation.DELETE]
    assert dependents(plan) == {"bear": "ConfigMap child belongs to Toy bear and is deleted with it."}
