"""Every piece of advice, followed: each case is given it by a plan, does what it says, and sees that it holds.

The cases run on a sandbox (`test_advice.py`) and on a real API server (`tests/controlplane/test_advice.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.planning.conflicts.blocked_removals import Keeper
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import RelatedObjects, Risk, RiskLevel
from applyviz.engine.risks.sentences import find_templates
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
Case = Callable[[Box], None]
CASES: dict[Advice | ResolutionKind | Keeper, Case] = {}


def follows(*kinds: Advice | ResolutionKind | Keeper) -> Callable[[Case], Case]:
    """Register a case as the one that follows some pieces of advice."""

    def register(case: Case) -> Case:
        CASES.update(dict.fromkeys(kinds, case))
        return case

    return register


def find_advice(change: PlannedObject) -> dict[Advice, Risk]:
    """What a planned change advises, with the risk that does."""
    found = {}
    for risk in change.risks:
        templates = find_templates(risk)
        found.update({kind: risk for kind in Advice if kind.value in templates})
    return found


def workload(name: str, kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    """A workload with these fields in its spec."""
    own = {"serviceName": name} if kind == "StatefulSet" else {}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**own, "selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def text_of(obj: object) -> str:
    return yaml.safe_dump(obj)


def path_of(obj: dict[str, Any]) -> str:
    group = "/apis/apps/v1" if obj["apiVersion"] == "apps/v1" else "/api/v1"
    return f"{group}/namespaces/default/{obj['kind'].lower()}s/{obj['metadata']['name']}"


def beside(name: str, kind: str = "Deployment") -> RelatedObjects:
    """An autoscaler of a workload, live."""
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "hpa", "namespace": "default"}}
    return RelatedObjects(live=({**scaler, "spec": {"scaleTargetRef": target}},))


def expect_clean(change: PlannedObject) -> None:
    """The server takes what was planned, and nothing dangerous is left."""
    assert change.operation in (Operation.UPDATE, Operation.CREATE, Operation.UNCHANGED), change.error
    assert [h for h in change.risks if h.level is RiskLevel.HIGH] == []


@follows(Advice.QUOTE)
def quote(box: Box) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quoted}\ndata: {answer: yes}\n"
    assert Advice.QUOTE in find_advice(box.plan_one(text))

    followed = text.replace("yes", '"yes"')
    change = box.plan_one(followed)
    box.apply(followed)

    expect_clean(change)
    assert find_advice(change) == {}
    assert box.get("/api/v1/namespaces/default/configmaps/quoted")["data"] == {"answer": "yes"}


@follows(Advice.QUOTE_DATE)
def quote_date(box: Box) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dated}\ndata: {day: 2024-01-31}\n"
    change = box.plan_one(text)
    assert Advice.QUOTE_DATE in find_advice(change)
    expect_clean(change)
    box.apply(text)

    followed = text.replace("2024-01-31", '"2024-01-31"')

    assert find_advice(box.plan_one(followed)) == {}
    assert box.plan_one(followed).operation is Operation.UNCHANGED
    assert box.get("/api/v1/namespaces/default/configmaps/dated")["data"] == {"day": "2024-01-31"}


@follows(Advice.USE_VERSION)
def use_version(box: Box) -> None:
    text = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: old}\nspec: {maxUnavailable: 1}\n"
    change = box.plan_one(text)
    risk = find_advice(change)[Advice.USE_VERSION]
    assert change.operation is Operation.ERROR

    followed = text.replace("policy/v1beta1", risk.facts["instead"])
    expect_clean(box.plan_one(followed))
    box.apply(followed)

    assert box.plan_one(followed).operation is Operation.UNCHANGED


@follows(Advice.SIBLING_NULL)
def write_null(box: Box) -> None:
    box.apply(text_of(workload("nulled", "StatefulSet")), CLIENT)
    wanted = workload("nulled", "StatefulSet", updateStrategy={"type": "OnDelete"})
    change = box.plan_one(text_of(wanted), CLIENT)
    assert Advice.SIBLING_NULL in find_advice(change)
    assert change.operation is Operation.ERROR

    wanted["spec"]["updateStrategy"]["rollingUpdate"] = None
    expect_clean(box.plan_one(text_of(wanted), CLIENT))
    box.apply(text_of(wanted), CLIENT)

    assert box.get(path_of(wanted))["spec"]["updateStrategy"] == {"type": "OnDelete"}


@follows(Advice.SIBLING_REMOVE)
def remove_sibling(box: Box) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 1}
    box.apply(text_of(workload("both", strategy={"type": "RollingUpdate", "rollingUpdate": rolling})))
    wanted = workload("both", strategy={"type": "Recreate", "rollingUpdate": rolling})
    change = box.plan_one(text_of(wanted))
    assert Advice.SIBLING_REMOVE in find_advice(change)
    assert change.operation is Operation.ERROR

    del wanted["spec"]["strategy"]["rollingUpdate"]
    assert Advice.SIBLING_REMOVE not in find_advice(box.plan_one(text_of(wanted)))
    box.apply(text_of(wanted))

    assert box.get(path_of(wanted))["spec"]["strategy"] == {"type": "Recreate"}


@follows(Advice.SIBLING_OWN)
def own_sibling(box: Box) -> None:
    box.apply(text_of(workload("owned")))
    wanted = workload("owned", strategy={"type": "Recreate"})
    change = box.plan_one(text_of(wanted))
    facts = find_advice(change)[Advice.SIBLING_OWN].facts
    assert change.operation is Operation.ERROR
    nulled = workload("owned", strategy={"type": "Recreate", "rollingUpdate": None})
    assert box.plan_one(text_of(nulled)).operation is Operation.ERROR  # what helps client-side does not help here

    first = {"type": facts["before"], "rollingUpdate": json.loads(facts["live"])}
    box.apply(text_of(workload("owned", strategy=first)))
    box.apply(text_of(wanted))

    assert box.get(path_of(wanted))["spec"]["strategy"] == {"type": "Recreate"}


@follows(Advice.SIBLING_REPLACE)
def replace_object(box: Box) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    box.apply(text_of(workload("tuned", strategy=rolling)), ApplyOptions(field_manager="tuner"))
    box.apply(text_of(workload("tuned")))
    wanted = workload("tuned", strategy={"type": "Recreate"})
    change = box.plan_one(text_of(wanted), ApplyOptions(takes_over=True))
    assert find_advice(change)[Advice.SIBLING_REPLACE].facts["owners"] == "tuner"
    assert change.operation is Operation.ERROR

    assert box.handle(Request("DELETE", path_of(wanted))).is_ok
    box.apply(text_of(wanted))

    assert box.get(path_of(wanted))["spec"]["strategy"] == {"type": "Recreate"}


@follows(Advice.REPLICAS_OMIT)
def omit_replicas(box: Box) -> None:
    wanted, without = workload("shared", replicas=3), workload("shared")
    box.apply(text_of(wanted))
    box.apply(text_of({**without, "spec": {"replicas": 3}}), ApplyOptions(field_manager="scaler"))
    change = box.plan_one(text_of(wanted), related=beside("shared"))
    assert Advice.REPLICAS_OMIT in find_advice(change)

    expect_clean(box.plan_one(text_of(without), related=beside("shared")))
    box.apply(text_of(without))

    assert box.get(path_of(wanted))["spec"]["replicas"] == 3
    _omit_null(box, CLIENT)


def _scale(box: Box, obj: dict[str, Any], count: int) -> None:
    """Set the number of replicas as `kubectl scale` does."""
    body = {"spec": {"replicas": count}}
    assert box.handle(Request("PATCH", path_of(obj) + "/scale", {"fieldManager": "kubectl"}, MERGE_PATCH, body)).is_ok


def _omit_null(box: Box, options: ApplyOptions) -> None:
    """A null resets the count that a person scaled; without the null the count stays."""
    without = workload("scaled")
    box.apply(text_of(without), options)
    _scale(box, without, 5)
    change = box.plan_one(text_of(workload("scaled", replicas=None)), options)
    found = find_advice(change)
    assert (set(found), found[Advice.REPLICAS_OMIT].facts["reset"]) == ({Advice.REPLICAS_OMIT}, "1")

    box.apply(text_of(without), options)

    assert box.get(path_of(without))["spec"]["replicas"] == 5


@follows(Advice.REPLICAS_OMIT_NEW)
def omit_new_replicas(box: Box) -> None:
    change = box.plan_one(text_of(workload("fresh", replicas=3)), related=beside("fresh"))
    assert Advice.REPLICAS_OMIT_NEW in find_advice(change)

    without = workload("fresh")
    box.apply(text_of(without))
    scale = Request("PATCH", path_of(without) + "/scale", {}, MERGE_PATCH, {"spec": {"replicas": 4}})
    assert box.handle(scale).is_ok  # as an autoscaler does
    change = box.plan_one(text_of(without), related=beside("fresh"))

    assert (change.operation, find_advice(change)) == (Operation.UNCHANGED, {})
    assert box.get(path_of(without))["spec"]["replicas"] == 4


@follows(Advice.REPLICAS_HAND_OVER, Advice.REPLICAS_KEEP)
def hand_over_replicas(box: Box) -> None:
    wanted, without = workload("alone", replicas=3), workload("alone")
    box.apply(text_of(wanted))
    told = find_advice(box.plan_one(text_of(wanted), related=beside("alone")))
    assert told[Advice.REPLICAS_HAND_OVER].level is RiskLevel.MEDIUM
    dropped = box.plan_one(text_of(without), related=beside("alone"))
    risk = find_advice(dropped)[Advice.REPLICAS_KEEP]
    assert (risk.level, risk.facts["reset"]) == (RiskLevel.HIGH, "1")
    assert dropped.versions.after is not None
    assert dropped.versions.after["spec"]["replicas"] == 1

    kept = {**without, "spec": {**without["spec"], "replicas": int(risk.facts["live"])}}
    assert box.plan_one(text_of(kept)).operation is Operation.UNCHANGED  # Advice.REPLICAS_KEEP
    only = {**without, "spec": {"replicas": int(risk.facts["live"])}}
    box.apply(text_of(only), ApplyOptions(field_manager="handover-to-hpa"))
    expect_clean(box.plan_one(text_of(without), related=beside("alone")))
    box.apply(text_of(without))

    assert box.get(path_of(wanted))["spec"]["replicas"] == 3


@follows(Advice.REPLICAS_FORGET)
def forget_replicas(box: Box) -> None:
    wanted, without = workload("forgotten", replicas=3), workload("forgotten")
    box.apply(text_of(wanted), CLIENT)
    told = find_advice(box.plan_one(text_of(wanted), CLIENT, related=beside("forgotten")))
    assert Advice.REPLICAS_FORGET in told
    dropped = find_advice(box.plan_one(text_of(without), CLIENT, related=beside("forgotten")))
    assert dropped[Advice.REPLICAS_FORGET].level is RiskLevel.HIGH

    name = "kubectl.kubernetes.io/last-applied-configuration"
    applied = json.loads(box.get(path_of(wanted))["metadata"]["annotations"][name])
    del applied["spec"]["replicas"]
    edit = {"metadata": {"annotations": {name: json.dumps(applied)}}}
    assert box.handle(Request("PATCH", path_of(wanted), {}, MERGE_PATCH, edit)).is_ok
    expect_clean(box.plan_one(text_of(without), CLIENT, related=beside("forgotten")))
    box.apply(text_of(without), CLIENT)

    assert box.get(path_of(wanted))["spec"]["replicas"] == 3
    _forget_null(box)


def _forget_null(box: Box) -> None:
    """A null in last-applied counts: kubectl resets what the annotation names and the manifest no longer does."""
    wanted, without = workload("null-applied", replicas=None), workload("null-applied")
    box.apply(text_of(wanted), CLIENT)
    _scale(box, wanted, 5)

    again, dropped = (find_advice(box.plan_one(text_of(one), CLIENT)) for one in (wanted, without))
    assert set(again) == set(dropped) == {Advice.REPLICAS_FORGET, Advice.REPLICAS_KEEP}
    box.apply(text_of(without), CLIENT)

    assert box.get(path_of(wanted))["spec"]["replicas"] == 1


@follows(Advice.PUT_BACK)
def put_back(box: Box) -> None:
    box.apply(text_of(workload("kept", replicas=1)))
    wanted = workload("kept", replicas=2)
    wanted["spec"]["selector"]["matchLabels"]["tier"] = "web"
    wanted["spec"]["template"]["metadata"]["labels"]["tier"] = "web"
    change = box.plan_one(text_of(wanted))
    assert Advice.PUT_BACK in find_advice(change)
    assert change.operation is Operation.ERROR

    del wanted["spec"]["selector"]["matchLabels"]["tier"]
    expect_clean(box.plan_one(text_of(wanted)))
    box.apply(text_of(wanted))

    assert box.get(path_of(wanted))["spec"]["replicas"] == 2


@follows(Advice.RECREATE)
def recreate(box: Box) -> None:
    box.apply(text_of(workload("fixed")))
    wanted = workload("fixed")
    wanted["spec"]["selector"]["matchLabels"]["tier"] = "web"
    wanted["spec"]["template"]["metadata"]["labels"]["tier"] = "web"
    change = box.plan_one(text_of(wanted))
    assert Advice.RECREATE in find_advice(change)
    assert change.operation is Operation.ERROR

    assert box.handle(Request("DELETE", path_of(wanted))).is_ok
    box.apply(text_of(wanted))

    assert box.get(path_of(wanted))["spec"]["selector"]["matchLabels"] == {"app": "fixed", "tier": "web"}


@follows(Advice.APPLY_SERVER_SIDE)
def apply_server_side(box: Box) -> None:
    wanted = config_map("long", text="x" * 270_000)
    change = box.plan_one(text_of(wanted), CLIENT)
    assert Advice.APPLY_SERVER_SIDE in find_advice(change)
    assert change.operation is Operation.ERROR

    expect_clean(box.plan_one(text_of(wanted)))
    box.apply(text_of(wanted))

    assert len(box.get(path_of(wanted))["data"]["text"]) == 270_000
