"""Leaving objects out of a plan: nothing of them is sent, nothing is pruned, and what refers to them has a risk."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json
from applyviz.engine.planning.model.plan import Certainty, LeftOut, Operation, PlannedObject, PlannedSet
from applyviz.engine.planning.sets.left_out import list_referred
from applyviz.engine.requests import leaving_out
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.hooks import HELM_HOOK
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.planning.dangling import REFERS_TO_LEFT_OUT
from applyviz.engine.risks.sentences import describe_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_sets import DEFINITION, NAMESPACE, SET, THING, config, prune_by_allowlist

POD = """---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: a:1, envFrom: [{configMapRef: {name: a}}]}]
"""
A = "core/ConfigMap/default/a"


def without(*names: str, options: ApplyOptions | None = None) -> ApplyOptions:
    return replace(options or ApplyOptions(), left_out=names, left_out_reason="broken")


def find(plan: PlannedSet, name: str) -> PlannedObject:
    return {c.ref.name: c for c in plan.changes}[name]


def risks_of(plan: PlannedSet, name: str) -> list[tuple[RiskLevel, str]]:
    kind = REFERS_TO_LEFT_OUT
    return [(risk.level, describe_risk(risk)) for risk in find(plan, name).risks if risk.kind is kind]


@pytest.mark.parametrize("exists", [True, False])
def test_left_out_object_is_a_row_that_sends_nothing(exists):
    box = Box()
    if exists:
        box.apply(config("a"))
    box.asked.clear()

    plan = box.plan(config("a") + config("b"), without(A))

    left, other = find(plan, "a"), find(plan, "b")
    assert (left.operation, left.requests, left.left_out) == (Operation.LEFT_OUT, (), LeftOut("broken", exists))
    assert (left.certainty, left.versions.live, left.has_effect) == (Certainty.CONFIRMED, None, False)
    assert other.operation is Operation.CREATE
    assert change_from_json(change_to_json(left)) == left
    written = {request.path.rpartition("/")[2] for request in box.asked if request.is_write}
    assert written == {"b"}


def test_effect_of_a_left_out_object_is_the_same_whatever_is_live():
    box = Box()
    before = effect(box.plan_one(config("a"), without(A)))
    box.apply(config("a"))

    after = effect(box.plan_one(config("a"), without(A)))

    assert before == after
    assert (after["operation"], after["difference"], after["uid"]) == ("left-out", [], "")


@pytest.mark.parametrize(
    ("exists", "said"),
    [
        (True, "Pod web refers to ConfigMap a, which is left out: it does not change in the cluster."),
        (False, "Pod web refers to ConfigMap a, which is left out: it does not exist in the cluster."),
    ],
)
def test_object_that_refers_to_a_left_out_one_has_a_high_risk(exists, said):
    box = Box()
    if exists:
        box.apply(config("a"))

    plan = box.plan(config("a") + POD, without(A))

    assert risks_of(plan, "web") == [(RiskLevel.HIGH, said)]
    assert risks_of(plan, "a") == []
    assert risks_of(box.plan(config("a") + POD, without(A, "core/Pod/default/web")), "web") == []


def test_object_without_a_change_has_no_such_risk():
    box = Box()
    box.apply(config("a"))
    box.apply(POD)

    assert risks_of(box.plan(config("a") + POD, without(A)), "web") == []


def test_kinds_and_namespaces_that_are_left_out_are_not_created_by_the_set():
    left = "apiextensions.k8s.io/CustomResourceDefinition//things.example.org"
    plan = Box().plan(DEFINITION + "---\n" + THING, without(left))

    assert find(plan, "things.example.org").operation is Operation.LEFT_OUT
    assert find(plan, "t").operation is Operation.ERROR

    plan = Box().plan(NAMESPACE + config("c", "shop"), without("core/Namespace//shop"))
    assert find(plan, "c").operation is Operation.ERROR


def test_custom_resource_of_a_left_out_definition_has_the_risk():
    catalog = SourceChain(CRDSource([yaml.safe_load(DEFINITION)], origin=SchemaOrigin.CLUSTER_CRD), bundled())
    box = Box()
    box.apply(DEFINITION)

    plan = box.plan(
        DEFINITION + THING + config("a") + NAMESPACE,
        without("apiextensions.k8s.io/CustomResourceDefinition//things.example.org"),
        catalog=catalog,
    )

    ((level, said),) = risks_of(plan, "t")
    assert level is RiskLevel.HIGH
    assert said.startswith("Thing t refers to CustomResourceDefinition things.example.org, which is left out: it does")
    assert risks_of(plan, "a") == risks_of(plan, "shop") == []


def test_object_of_an_unknown_kind_can_be_left_out():
    plan = Box().plan(config("a") + "---\n" + THING, without("example.org/Thing/default/t"))

    left = find(plan, "t")
    assert (left.operation, left.left_out) == (Operation.LEFT_OUT, LeftOut("broken", None))


def test_unreadable_object_can_be_left_out():
    def refuse(request: Request) -> Answer | None:
        return Answer(403, {}) if request.path.endswith("configmaps/a") else None

    plan = Box(intercept=refuse).plan(config("a") + POD, without(A))

    assert find(plan, "a").left_out == LeftOut("broken", None)
    assert risks_of(plan, "web")[0][1].endswith("whether it exists in the cluster is unknown.")


@pytest.mark.parametrize("options", [prune_by_allowlist("core/v1/ConfigMap"), SET])
def test_nothing_is_pruned_while_an_object_is_left_out_and_no_problem_stops_the_plan(options):
    box = Box()
    box.apply(config("a") + config("b") + config("c"), options)

    plan = box.plan(config("a") + config("b"), without(A, options=options))

    assert Operation.PRUNE not in {change.operation for change in plan.changes}
    assert plan.problems == ()
    again = box.plan(config("a") + config("b"), options)
    assert find(again, "c").operation is Operation.PRUNE


def test_names_match_objects_with_and_without_their_namespace():
    documents = Box().plan(config("a")).changes
    ref = documents[0].ref._replace(namespace="")

    assert leaving_out.list_names(ref, "default") == (
        "core/ConfigMap//a", "ConfigMap//a", A, "ConfigMap/default/a",
    )  # fmt: skip
    assert leaving_out.is_left_out(ref, without("core/ConfigMap//a"))
    assert not leaving_out.is_left_out(ref, ApplyOptions())


def test_names_that_no_document_has_are_found():
    documents = parse_manifests(config("a").encode(), "a.yaml").documents
    assert leaving_out.find_unknown(documents, without(A, "core/ConfigMap/default/z")) == ("core/ConfigMap/default/z",)
    assert leaving_out.list_kept(documents, without(A)) == ()


def test_object_without_a_manifest_refers_to_nothing():
    plan = Box().plan(config("a") + POD, without(A))
    left, pod = find(plan, "a"), find(plan, "web")

    assert list_referred(pod, [left]) == (left,)
    assert list_referred(replace(pod, versions=replace(pod.versions, manifest=None)), [left]) == ()


def test_helm_hook_that_is_left_out_is_named_and_one_that_is_applied_is_a_high_risk():
    hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}\n---\n"
    box = Box()

    left, applied = find(box.plan(hook + config("b"), without(A)), "a"), find(box.plan(hook), "a")

    assert [(r.kind, r.level, describe_risk(r)) for r in left.risks] == [
        (
            HELM_HOOK,
            RiskLevel.INFO,
            "Helm runs this object as a hook (pre-upgrade). It is left out, so nothing runs it.",
        )
    ]
    assert (HELM_HOOK, RiskLevel.HIGH) in [(r.kind, r.level) for r in applied.risks]
