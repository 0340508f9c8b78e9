"""Is a set planned side by side, with what it brings itself, and is what it drops deleted?"""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Order, Prune, PruneMode
from applyviz.engine.risks.pruning import PRUNE_SHARE
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from tests.engine.planning.cluster import NOW, Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT)


def config(name: str, namespace: str = "default", value: str = "1") -> str:
    return (
        "---\napiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: {name}, namespace: {namespace}, labels: {{app: shop}}}}\ndata: {{x: '{value}'}}\n"
    )


NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
DEFINITION = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}
"""
THING = "---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t, namespace: default}\nspec: {a: x}\n"


def summary(plan):
    return [(c.ref.name, c.operation.value, c.step) for c in plan.changes]


def test_objects_in_a_new_namespace_are_planned_with_it():
    plan = Box().plan(config("a", "shop") + NAMESPACE)

    assert summary(plan) == [("shop", "create", 0), ("a", "create", 1)]
    assert plan.changes[1].certainty is Certainty.ESTIMATED
    assert plan.changes[1].certainty_reason == "namespace shop is created by the same set"


def test_object_in_a_namespace_that_nobody_makes_is_an_error():
    (change,) = Box().plan(config("a", "nowhere")).changes

    assert (change.operation, change.error) == (Operation.ERROR, 'namespaces "nowhere" not found')


def test_custom_resource_is_planned_with_its_definition():
    box = Box()
    plan = box.plan(THING + DEFINITION)

    assert summary(plan) == [("things.example.org", "create", 0), ("t", "create", 1)]
    thing = plan.changes[1]
    assert (thing.schema_origin, thing.certainty_reason) == (
        SchemaOrigin.SOURCE_CRD,
        "kind Thing is defined by the same set",
    )
    assert not [r for r in box.asked if "/example.org/" in r.path]


def test_custom_resource_is_planned_with_its_changed_definition():
    box = Box()
    box.run(box.plan(THING + DEFINITION))
    served = SourceChain(CRDSource([yaml.safe_load(DEFINITION)], origin=SchemaOrigin.CLUSTER_CRD), bundled())
    grown = DEFINITION.replace("a: {type: string}", "a: {type: string}, b: {type: string}")

    _, thing = box.plan(grown + THING.replace("{a: x}", "{a: x, b: z}"), catalog=served).changes

    assert (thing.operation, thing.certainty, thing.certainty_reason) == (
        Operation.UPDATE,
        Certainty.ESTIMATED,
        "kind Thing is redefined by the same set",
    )
    assert thing.versions.after["spec"] == {"a": "x", "b": "z"}


def test_plan_of_a_new_kind_runs_in_its_order():
    box = Box()
    box.run(box.plan(THING + DEFINITION))

    assert box.get("/apis/example.org/v1/namespaces/default/things/t")["spec"] == {"a": "x"}


def test_object_named_twice_is_a_problem_and_the_others_go_on():
    plan = Box().plan(config("a") + config("b") + config("a", value="2"))

    assert [c.ref.name for c in plan.changes] == ["a", "b"]
    assert [str(p.reason) for p in plan.problems] == [
        "ConfigMap default/a is named twice in this set, first at app.yaml:2:1: this one is left out"
    ]
    assert plan.problems[0].position.line == 12


def test_selector_chooses_documents():
    other = config("b").replace("shop", "other")

    plan = Box().plan(config("a") + other, ApplyOptions(selector="app=shop"))

    assert [c.ref.name for c in plan.changes] == ["a"]


def test_as_given_order_keeps_each_object_a_step():
    plan = Box().plan(config("b") + config("a"), ApplyOptions(order=Order.AS_GIVEN))

    assert summary(plan) == [("b", "create", 0), ("a", "create", 1)]


def test_planner_asks_for_all_objects_at_once_and_gives_each_when_it_is_ready():
    box = Box()
    documents = parse_manifests((config("a") + config("b")).encode(), "app.yaml").documents
    planner = SetPlanner(documents, options=ApplyOptions(), context=PlanningContext(bundled(), NOW, can_dry_run=False))

    asks = list(planner.asks())
    planner.answer(asks[1].key, box.send(asks[1].request))

    assert [a.request.path.rpartition("/")[2] for a in asks] == ["a", "b"]
    assert [c.ref.name for c in planner.take_ready()] == ["b"]
    assert not planner.is_done
    with pytest.raises(PlanError, match="1 objects are not planned yet"):
        planner.plan()


def test_change_that_asks_again_keeps_its_place():
    box = Box()
    box.apply(config("a") + config("b"))
    documents = parse_manifests((config("a") + config("b")).encode(), "app.yaml").documents
    planner = SetPlanner(documents, options=ApplyOptions(), context=PlanningContext(bundled(), NOW))

    first = next(planner.asks())
    planner.answer(first.key, box.send(first.request))

    asks = [(ask.request.method, ask.request.path.rpartition("/")[2]) for ask in planner.asks()]
    assert asks == [("PATCH", "a"), ("GET", "b")]


def test_planner_refuses_answers_that_nothing_asked_for():
    planner = SetPlanner((), options=ApplyOptions(), context=PlanningContext(bundled(), NOW))

    with pytest.raises(PlanError, match="nothing was asked under 7"):
        planner.answer(7, Answer(200, {}))


def test_drive_asks_in_batches():
    box, batches = Box(), []

    def send_all(requests):
        batches.append(len(requests))
        return box.send_all(requests)

    text = "".join(config(f"c{n}") for n in range(5))
    planner = SetPlanner(
        parse_manifests(text.encode(), "app.yaml").documents,
        options=ApplyOptions(),
        context=PlanningContext(bundled(), NOW, can_dry_run=False),
    )

    ready = list(drive(planner, send_all, batch=2))

    assert (len(ready), batches) == (5, [2, 2, 1])


def prune_by_allowlist(*allowlist: str, mode: ApplyMode = ApplyMode.CLIENT) -> ApplyOptions:
    return ApplyOptions(mode=mode, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST, allowlist))


def test_allowlist_prune_deletes_what_the_set_dropped():
    box = Box()
    box.apply(config("a") + config("b"), CLIENT)

    plan = box.plan(config("a"), prune_by_allowlist("core/v1/ConfigMap"))

    assert summary(plan) == [("a", "unchanged", 0), ("b", "prune", 1)]
    pruned = plan.changes[1]
    assert (pruned.method, pruned.certainty, pruned.versions.after) == ("delete", Certainty.CONFIRMED, None)
    assert set(pruned.requests[0].body["preconditions"]) == {"uid", "resourceVersion"}
    box.run(plan)
    assert box.send(pruned.requests[0]).status == 404


def test_allowlist_prune_spares_what_was_not_applied():
    box = Box()
    box.apply(config("b"), ApplyOptions())

    plan = box.plan(config("a"), prune_by_allowlist("core/v1/ConfigMap"))

    assert summary(plan) == [("a", "create", 0)]


def test_nothing_is_pruned_while_an_object_is_in_error():
    box = Box()
    box.apply(config("b"), CLIENT)

    plan = box.plan(config("a", "nowhere"), prune_by_allowlist("core/v1/ConfigMap"))

    assert summary(plan) == [("a", "error", 0)]
    assert [p.reason for p in plan.problems] == [
        "nothing is pruned while something of the set is in error: ConfigMap nowhere/a"
    ]


def test_allowlist_that_names_no_kind_is_a_problem():
    plan = Box().plan(config("a"), prune_by_allowlist("core/v1/Nothing"))

    assert [p.reason for p in plan.problems] == ['no matches for kind "Nothing" in version "v1"']


def test_pruning_much_is_a_risk():
    box = Box()
    box.apply("".join(config(f"c{n}") for n in range(4)), CLIENT)

    plan = box.plan(config("c0"), prune_by_allowlist("core/v1/ConfigMap"))

    shares = [h for c in plan.changes for h in c.risks if h.kind is PRUNE_SHARE]
    assert [h.facts for h in shares] == [{"pruned": "3", "members": "4"}]


SET = ApplyOptions(prune=Prune(PruneMode.APPLYSET, applyset="shop"))


def test_applyset_writes_its_parent_before_and_labels_its_members():
    box = Box()
    plan = box.plan(config("a"), SET)
    box.run(plan)

    assert summary(plan) == [("shop", "create", 0), ("a", "create", 1)]
    parent = box.get("/api/v1/namespaces/default/secrets/shop")["metadata"]
    member = box.get("/api/v1/namespaces/default/configmaps/a")["metadata"]
    assert parent["annotations"] == {
        "applyset.kubernetes.io/tooling": "kubectl/v1.36.3",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap",
        "applyset.kubernetes.io/additional-namespaces": "",
    }
    assert member["labels"]["applyset.kubernetes.io/part-of"] == parent["labels"]["applyset.kubernetes.io/id"]


def test_applyset_prunes_and_then_forgets_kinds():
    box = Box()
    service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"
    box.apply(config("a") + service, SET)

    plan = box.plan(config("a"), SET)
    box.run(plan)

    assert summary(plan) == [
        ("shop", "unchanged", 0),
        ("a", "unchanged", 1),
        ("s", "prune", 2),
        ("shop", "update", 3),
    ]
    annotations = box.get("/api/v1/namespaces/default/secrets/shop")["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"


def test_applyset_that_changes_both_ways_builds_its_second_write_on_the_first():
    box = Box()
    box.apply(config("a"), SET)
    account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s, namespace: default}\n"

    plan = box.plan(account, SET)
    box.run(plan)

    assert summary(plan) == [("shop", "update", 0), ("s", "create", 1), ("a", "prune", 2), ("shop", "update", 3)]
    annotations = box.get("/api/v1/namespaces/default/secrets/shop")["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ServiceAccount"


def test_member_that_names_another_set_is_a_problem():
    labelled = config("a").replace("app: shop", "applyset.kubernetes.io/part-of: other")

    plan = Box().plan(labelled + config("b"), SET)

    assert plan.problems[0].reason == 'ApplySet label "applyset.kubernetes.io/part-of" already set in input data'
    assert [c.ref.name for c in plan.changes] == ["shop", "b"]


def test_parent_of_another_tool_stops_the_set():
    box = Box()
    box.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\n", ApplyOptions())

    plan = box.plan(config("a"), SET)

    assert plan.changes == ()
    assert 'missing annotation "applyset.kubernetes.io/tooling"' in plan.problems[0].reason


def test_unknown_kind_of_parent_stops_the_set():
    options = ApplyOptions(prune=Prune(PruneMode.APPLYSET, applyset="nothings/shop"))

    plan = Box().plan(config("a"), options)

    assert (plan.changes, plan.problems[0].reason) == (
        (),
        'invalid parent reference "nothings/shop": no matches for nothings',
    )


def test_prune_without_a_dry_run_is_calculated():
    box = Box()
    box.apply(config("a") + config("b"), CLIENT)

    plan = box.plan(config("a"), prune_by_allowlist("core/v1/ConfigMap"), can_dry_run=False)

    assert [(c.ref.name, c.certainty, c.certainty_reason) for c in plan.changes[1:]] == [
        ("b", Certainty.ESTIMATED, "no dry run was asked for")
    ]


@pytest.mark.parametrize(
    ("status", "message", "operation"),
    [
        (403, 'configmaps "b" is forbidden: User "alice" cannot delete resource "configmaps"', Operation.PRUNE),
        (403, "deletion is protected", Operation.ERROR),
    ],
)
def test_prune_that_may_not_be(status, message, operation):
    box = Box()
    box.apply(config("a") + config("b"), CLIENT)
    refusal = Answer(status, {"kind": "Status", "message": message})
    box.intercept = lambda request: refusal if request.method == "DELETE" else None

    change = box.plan(config("a"), prune_by_allowlist("core/v1/ConfigMap")).changes[1]

    assert change.operation is operation
    assert message in (change.error or change.certainty_reason)


def test_prune_of_an_object_with_a_broken_annotation_has_no_last_applied():
    box = Box()
    broken = config("b").replace(
        "labels:", 'annotations: {kubectl.kubernetes.io/last-applied-configuration: "{"}, labels:'
    )
    box.apply(broken, ApplyOptions())

    change = box.plan(config("a"), prune_by_allowlist("core/v1/ConfigMap")).changes[1]

    assert (change.operation, change.versions.last_applied) == (Operation.PRUNE, None)


def test_unknown_kind_in_an_applyset_is_an_error_and_prunes_nothing():
    thing = "---\napiVersion: x.example.org/v1\nkind: Thing\nmetadata: {name: t}\n"

    plan = Box().plan(config("a") + thing, SET)

    assert [(c.ref.name, c.operation) for c in plan.changes] == [
        ("shop", Operation.CREATE),
        ("a", Operation.CREATE),
        ("t", Operation.ERROR),
    ]


def test_planner_forgets_its_results():
    box = Box()
    documents = parse_manifests((config("a") + config("b")).encode(), "app.yaml").documents
    planner = SetPlanner(documents, options=CLIENT, context=PlanningContext(bundled(), NOW))
    found = list(drive(planner, lambda requests: map(box.send, requests)))

    planner.forget()

    assert (len(found), planner.is_done, planner.plan().changes) == (2, True, ())
