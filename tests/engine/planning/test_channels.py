"""Is a channel planned addon by addon, and an addon pruned and recorded only when everything of it is planned?"""

from __future__ import annotations

import json

import yaml

from applyviz.engine.channels.model import Addon, AddonAction, AddonPlan, AddonReason, ChannelPlan, PrunedKind
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, PlanProblem
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.channels import plan_record
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.flow import run_flow
from applyviz.engine.requests.options import ApplyOptions, Order
from applyviz.engine.schema.builtin import bundled
from tests.engine.planning.cluster import NOW, Box

KOPS = ApplyOptions(field_manager="kops", namespace="default")
CONFIGS = PrunedKind("", "ConfigMap", ("default",), "app=web")


def config(name, namespace="default", **labels):
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "web", **labels}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}) + "---\n"


def namespace(name):
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) + "---\n"


def addon(name, **fields):
    return Addon(name, file=f"{name}.yaml", **{"namespace": "default", **fields})


def channel_of(*addons):
    chosen = (AddonPlan(one, AddonAction.INSTALL, AddonReason.NOT_INSTALLED) for one in addons)
    return ChannelPlan("channel.yaml", "channel.yaml", "v1.36.3", tuple(chosen))


def plan(box, texts, *addons, problems=(), order=Order.DEPENDENCY, left_out=(), **context):
    documents = [d for name, text in texts.items() for d in parse_manifests(text.encode(), f"{name}.yaml").documents]
    options = replace(KOPS, channel=channel_of(*addons), order=order, left_out=left_out)
    surroundings = replace(PlanningContext(bundled(), NOW), **context)
    planner = SetPlanner(documents, options=options, context=surroundings, problems=problems)
    list(drive(planner, box.send_all))
    return planner.plan()


def rows(made):
    return [(c.addon, c.operation.value, c.ref.name, c.step) for c in made.changes]


def reasons(made):
    return [problem.reason for problem in made.problems]


def test_addons_follow_each_other_and_each_ends_with_its_record():
    box = Box()

    made = plan(box, {"a": config("a"), "b": config("b")}, addon("a", id="1"), addon("b"))
    box.run(made)

    assert rows(made) == [
        ("a", "create", "a", 0),
        ("a", "update", "default", 1),
        ("b", "create", "b", 2),
        ("b", "update", "default", 3),
    ]
    assert made.problems == ()
    live = box.get("/api/v1/namespaces/default")["metadata"]
    assert json.loads(live["annotations"]["addons.k8s.io/a"])["id"] == "1"
    first, second = made.changes[1], made.changes[3]
    assert (first.is_record, first.method, first.versions.last_applied) == (True, "strategic merge patch", None)
    assert first.certainty.value == "confirmed"
    assert second.certainty_reason == "it builds on another write of the same plan"
    assert {risk.kind.slug for risk in first.risks} & {"no-last-applied", "namespace"} == set()


def test_record_that_is_there_already_writes_nothing():
    box, one = Box(), addon("a")
    box.run(plan(box, {"a": config("a")}, one))

    flow = plan_record(one, channel_of(one), options=KOPS, context=PlanningContext(bundled(), NOW))
    change = run_flow(flow, box.send)

    assert (change.operation, change.requests) == (Operation.UNCHANGED, ())


def test_record_needs_its_namespace():
    made = plan(Box(), {"a": config("a")}, addon("a", namespace="gone"))

    record = made.changes[-1]
    assert (record.operation, record.ref.name) == (Operation.ERROR, "gone")
    assert "not found" in record.error


def test_record_goes_to_a_namespace_that_its_addon_creates():
    made = plan(Box(), {"a": namespace("new")}, addon("a", namespace="new"), can_dry_run=False)

    assert rows(made) == [("a", "create", "new", 0), ("a", "update", "new", 1)]


def test_objects_that_left_an_addon_are_pruned_before_its_record():
    box = Box()
    box.apply(config("kept") + config("gone") + config("other", app="other"))

    made = plan(box, {"a": config("kept")}, addon("a", prune=(CONFIGS, CONFIGS)))

    assert rows(made)[1:] == [("a", "prune", "gone", 1), ("a", "update", "default", 2)]


def test_object_that_two_addons_select_is_deleted_once():
    box = Box()
    box.apply(config("gone"))

    made = plan(box, {}, addon("a", prune=(CONFIGS,)), addon("b", prune=(CONFIGS,)))

    assert [row[:3] for row in rows(made)] == [
        ("a", "prune", "gone"),
        ("a", "update", "default"),
        ("b", "update", "default"),
    ]


def test_field_selector_and_kinds_without_namespace_are_searched_everywhere():
    box = Box()
    kinds = (
        PrunedKind("", "ConfigMap", (), "app=x", "metadata.name=a"),
        PrunedKind("", "Namespace", ("default",), "x=y"),
    )

    plan(box, {}, addon("a", prune=kinds))

    lists = [(r.path, dict(r.query)) for r in box.asked if r.purpose == "list"]
    assert lists == [
        ("/api/v1/configmaps", {"labelSelector": "app=x", "fieldSelector": "metadata.name=a"}),
        ("/api/v1/namespaces", {"labelSelector": "x=y"}),
    ]


def test_kind_that_is_not_served_keeps_nothing_else_from_being_pruned():
    box = Box()
    box.apply(config("gone"))
    kinds = (PrunedKind("example.com", "Thing"), PrunedKind("", "Thing"), CONFIGS)

    made = plan(box, {"a": config("a")}, addon("a", prune=kinds))

    assert [row[:3] for row in rows(made)] == [
        ("a", "create", "a"),
        ("a", "prune", "gone"),
        ("a", "update", "default"),
    ]
    assert reasons(made) == []


def test_kind_whose_list_is_not_found_or_refused():
    box = Box()

    def answer(status):
        def intercept(request):
            body = {"reason": "NotFound" if status == 404 else "Forbidden", "message": "no"}
            return Answer(status, body) if request.purpose == "list" else None

        return intercept

    box.intercept = answer(404)
    missing = plan(box, {"a": config("a")}, addon("a", prune=(CONFIGS,)))
    box.intercept = answer(403)
    refused = plan(box, {"a": config("a")}, addon("a", prune=(CONFIGS,)))

    assert ([row[1] for row in rows(missing)], reasons(missing)) == (["create", "update"], [])
    assert [row[1] for row in rows(refused)] == ["create"]
    assert reasons(refused) == ["addon a is not pruned and not recorded: no"]


def test_addon_with_an_object_in_error_is_neither_pruned_nor_recorded():
    box = Box()
    box.apply(config("gone"))
    wrong = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n---\n"

    made = plan(box, {"a": config("a") + wrong, "b": config("b")}, addon("a", prune=(CONFIGS,)), addon("b"))

    assert {row[2] for row in rows(made)} == {"a", "x", "b", "default"}
    assert reasons(made) == ["addon a is not pruned and not recorded as installed: Thing x is in error"]


def test_addon_with_a_left_out_object_is_neither_pruned_nor_recorded_and_no_problem():
    box = Box()
    box.apply(config("gone"))
    addons = (addon("a", prune=(CONFIGS,)), addon("b"))

    made = plan(box, {"a": config("a"), "b": config("b")}, *addons, left_out=("core/ConfigMap/default/a",))

    assert [row[:3] for row in rows(made)] == [("a", "left-out", "a"), ("b", "create", "b"), ("b", "update", "default")]
    assert reasons(made) == []


def test_addon_with_an_unreadable_part_is_not_recorded():
    problem = PlanProblem("apiVersion not set", SourcePosition("a.yaml", 3))

    made = plan(Box(), {"a": config("a")}, addon("a"), problems=(problem,))

    assert [row[:3] for row in rows(made)] == [("a", "create", "a")]
    assert reasons(made)[1] == "addon a is not pruned and not recorded as installed: a part of a.yaml is in error"


def test_addon_whose_deletion_is_refused_is_not_recorded():
    box = Box()
    box.apply(config("gone"))

    def refuse(request):
        return Answer(403, {"reason": "Forbidden", "message": "no"}) if request.method == "DELETE" else None

    box.intercept = refuse
    made = plan(box, {}, addon("a", prune=(CONFIGS,)), addon("b"))

    assert [row[:3] for row in rows(made)] == [("a", "error", "gone"), ("b", "update", "default")]
    assert reasons(made) == ["addon a is not recorded as installed: ConfigMap default/gone cannot be deleted"]


def test_addon_comes_after_those_that_create_its_kinds_and_namespaces():
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n---\n"
    texts = {"a": thing + config("a", "new"), "b": yaml.safe_dump(definition), "c": namespace("new")}

    made = plan(Box(), texts, addon("a"), addon("b"), addon("c"))

    assert list(dict.fromkeys(row[0] for row in rows(made))) == ["b", "c", "a"]


def test_addons_that_need_each_other_keep_their_order():
    texts = {"a": namespace("one") + config("a", "two"), "b": namespace("two") + config("b", "one")}

    made = plan(Box(), texts, addon("a"), addon("b"))

    assert list(dict.fromkeys(row[0] for row in rows(made))) == ["a", "b"]


def test_objects_as_given_are_a_step_each():
    texts = {"a": config("z") + namespace("new")}

    made = plan(Box(), texts, addon("a"), order=Order.AS_GIVEN)

    assert rows(made) == [
        ("a", "create", "z", 0),
        ("a", "create", "new", 1),
        ("a", "update", "default", 2),
    ]


def test_two_addons_of_one_file_are_both_recorded():
    shared = {"a": config("a")}

    made = plan(Box(), shared, addon("a"), replace(addon("b"), file="a.yaml"))

    assert [row[:3] for row in rows(made)] == [
        ("a", "create", "a"),
        ("a", "update", "default"),
        ("b", "update", "default"),
    ]


def test_nothing_is_planned_when_every_addon_is_skipped():
    made = plan(Box(), {})

    assert (made.changes, made.problems) == ((), ())


def test_manifests_of_no_addon_come_last():
    made = plan(Box(), {"plain": config("plain"), "a": config("a")}, addon("a"))

    assert rows(made) == [("a", "create", "a", 0), ("a", "update", "default", 1), ("", "create", "plain", 2)]


def test_manifests_of_no_addon_come_before_the_addon_that_needs_them():
    made = plan(Box(), {"plain": namespace("new"), "a": config("a", "new")}, addon("a"))

    assert [row[:3] for row in rows(made)] == [
        ("", "create", "new"),
        ("a", "create", "a"),
        ("a", "update", "default"),
    ]
