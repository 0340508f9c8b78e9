"""Runs of patch reviews: what is sent, what the object is then, what happened meanwhile, and what undoes it."""

import pytest
import yaml

from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.engine.risks.planning.ownership import PATCHES_APPLIED
from applyviz.records.enums import RunState
from applyviz.records.models import JournalEntry
from applyviz.workflow.plans import changes, planner, revert
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
PATCH = {"action": SetAction.PATCH}
WEB = "/apis/apps/v1/namespaces/default/deployments/web"


def deployment(replicas=3, image="nginx:1.25"):
    pods = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image}, {"name": "side", "image": "side:1"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pods}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})


def patch(body, patch_type="strategic", kind="apps/v1/Deployment", name="web", **more):
    api_version, _, kind = kind.rpartition("/")
    target = {"apiVersion": api_version, "kind": kind, "name": name}
    return yaml.safe_dump({"kind": "Patch", "target": target, "type": patch_type, "patch": body, **more})


def sent(run):
    return list(JournalEntry.objects.filter(result__run=run).values_list("method", "path"))


def risks_of(plan):
    return {risk.kind for row in plan.changes.all() for risk in changes.read_masked(row).risks}


IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}}}


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("body", "patch_type", "content_type"),
    [
        (IMAGE, "strategic", STRATEGIC_MERGE_PATCH),
        ({"spec": {"replicas": 5}}, "merge", MERGE_PATCH),
        ([{"op": "replace", "path": "/spec/replicas", "value": 5}], "json", JSON_PATCH),
    ],
)
def test_patch_is_sent_as_written_and_verified(team, body, patch_type, content_type):
    team.apply(deployment(), mode=ApplyMode.CLIENT)

    run = team.apply(patch(body, patch_type), **PATCH)

    assert (run.state, run.error, team.outcomes(run)) == (RunState.APPLIED, "", ["applied"])
    (write,) = [r for r in team.wire.writes if r.content_type == content_type and r.purpose == "patch"][-1:]
    kept = write.body[:-1] if isinstance(body, list) else {k: v for k, v in write.body.items() if k != "metadata"}
    assert kept == body
    live = team.live(WEB)
    if patch_type == "strategic":
        images = {c["name"]: c["image"] for c in live["spec"]["template"]["spec"]["containers"]}
        assert images == {"web": "nginx:1.27", "side": "side:1"}
    else:
        assert live["spec"]["replicas"] == 5


def test_scale_changes_the_replica_count_of_the_object(team):
    team.apply(deployment())

    plan = team.plan(patch({"spec": {"replicas": 5}}, "merge", subresource="scale"), **PATCH)
    row = plan.changes.get()
    run = team.work(team.start(plan))

    assert (row.operation, row.method) == ("update", "JSON merge patch")
    assert changes.read_masked(row).versions.after["spec"]["replicas"] == 5
    assert (run.state, run.error, team.outcomes(run)) == (RunState.APPLIED, "", ["applied"])
    assert team.live(WEB)["spec"]["replicas"] == 5
    assert sent(run) == [("PATCH", f"{WEB}/scale")]


@pytest.mark.long
def test_status_is_what_a_patch_of_the_status_writes(team):
    team.apply(deployment())
    body = {"status": {"replicas": 7, "conditions": [{"type": "Example", "status": "True"}]}}

    plan = team.plan(patch(body, "merge", subresource="status"), **PATCH)
    run = team.work(team.start(plan))

    assert plan.changes.get().operation == "update"
    assert (run.state, run.error, team.outcomes(run)) == (RunState.APPLIED, "", ["applied"])
    assert team.live(WEB)["status"]["replicas"] == 7
    assert sent(run) == [("PATCH", f"{WEB}/status")]


@pytest.mark.long
def test_patch_without_effect_sends_nothing(team):
    team.apply(deployment())

    row = team.plan(patch({"spec": {"replicas": 3}}), **PATCH).changes.get()

    assert (row.operation, row.has_effect, row.method) == ("unchanged", False, "strategic merge patch")


def test_object_that_changed_since_the_review_is_not_patched(team):
    team.apply(deployment())
    started = team.start(team.plan(patch({"spec": {"replicas": 5}}), **PATCH))
    team.edit(WEB, {"spec": {"replicas": 4}})

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])
    assert team.live(WEB)["spec"]["replicas"] == 4


@pytest.mark.core(1)
@pytest.mark.parametrize("fault", ["lose answer", "lose request"])
def test_operation_that_adds_an_entry_is_carried_out_once_when_its_answer_is_lost(team, fault):
    team.apply(deployment())
    path = "/spec/template/spec/containers/0/args"
    value = [{"op": "add", "path": path, "value": ["--x"]}, {"op": "add", "path": f"{path}/-", "value": "--y"}]
    started = team.start(team.plan(patch(value, "json"), **PATCH))
    seen = []

    def lose(request, number):
        seen.append(request)
        return fault if len(seen) == 1 else ""

    team.wire.fault = lose
    run = team.work(started)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    assert team.live(WEB)["spec"]["template"]["spec"]["containers"][0]["args"] == ["--x", "--y"]


@pytest.mark.long
def test_write_between_read_and_patch_is_not_overwritten(team):
    team.apply(config_map(a="1"))
    value = [{"op": "replace", "path": "/data/a", "value": "2"}]
    started = team.start(team.plan(patch(value, "json", "v1/ConfigMap", "settings"), **PATCH))

    def interfere(request, number):
        team.wire.fault = lambda request, number: ""
        team.edit(SETTINGS, {"data": {"a": "3"}})
        return ""

    team.wire.fault = interfere
    run = team.work(started)

    assert run.state == RunState.STALE
    assert team.live()["data"] == {"a": "3"}


def error_of(plan):
    return plan.changes.get().error


def test_object_that_does_not_exist_is_an_error(team):
    plan = team.plan(patch({"spec": {"replicas": 5}}), **PATCH)

    assert error_of(plan) == 'deployments.apps "web" not found'
    assert plan.changes.get().operation == "error"


def test_manifest_in_a_patch_review_and_patch_in_an_apply_are_errors(team):
    assert "must be of kind Patch, without apiVersion" in error_of(team.plan(config_map(a="1"), **PATCH))
    assert (
        error_of(team.plan(patch({}))) == "the document is a patch, which only a review with the operation Patch sends"
    )
    assert error_of(team.plan(patch({}), action=SetAction.DELETE)).startswith("the document is a patch")


@pytest.mark.long
def test_kind_without_the_subresource_is_an_error(team):
    team.apply(config_map(a="1"))

    plan = team.plan(patch({"data": {"a": "2"}}, "merge", "v1/ConfigMap", "settings", subresource="scale"), **PATCH)

    assert error_of(plan) == "configmaps have no subresource scale"


def test_problems_of_a_patch_name_file_line_and_field(team):
    text = "kind: Patch\ntarget: {apiVersion: apps/v1, kind: Deployment}\ntype: yaml\npatch: 5\n"

    plan = team.plan(text, patch({"spec": {"replicas": 5}}), **PATCH)

    assert [(p["file"], p["line"], p["reason"]) for p in plan.problems] == [
        ("0.yaml", 2, "target.name is missing"),
        ("0.yaml", 3, "type must be one of strategic, merge, json"),
        ("0.yaml", 4, "patch must be a map of fields; a list of operations has type json"),
    ]


@pytest.mark.long
def test_patch_of_fields_that_others_apply_is_a_risk(team):
    team.apply(deployment(), field_manager="helm")
    team.apply(deployment(), mode=ApplyMode.CLIENT, takes_client_side=False)

    plan = team.plan(patch({"spec": {"replicas": 5}}), **PATCH)

    (risk,) = [r for r in changes.read_masked(plan.changes.get()).risks if r.kind is PATCHES_APPLIED]
    assert risk.facts == {"fields": "spec.replicas", "owners": "helm, client-side apply"}


@pytest.mark.core(1)
@pytest.mark.parametrize("more", [{}, {"subresource": "scale"}])
def test_revert_patches_the_former_values_back(team, more):
    team.apply(deployment())
    run = team.apply(patch({"spec": {"replicas": 5}}, "merge", **more), **PATCH)
    team.edit(WEB, {"metadata": {"labels": {"of": "others"}}})

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    back = team.work(team.start(review.plans.get()))

    assert (back.state, team.outcomes(back)) == (RunState.APPLIED, ["applied"])
    live = team.live(WEB)
    assert (live["spec"]["replicas"], live["metadata"]["labels"]) == (3, {"of": "others"})


@pytest.mark.long
def test_revert_of_a_strategic_patch_keeps_entries_that_others_added(team):
    team.apply(deployment())
    run = team.apply(patch(IMAGE), **PATCH)
    more = [{"name": "third", "image": "third:1"}]
    body = {"spec": {"template": {"spec": {"containers": more}}}}
    team.send(Request("PATCH", WEB, {"fieldManager": "kubectl"}, STRATEGIC_MERGE_PATCH, body))

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    team.work(team.start(review.plans.get()))

    images = {c["name"]: c["image"] for c in team.live(WEB)["spec"]["template"]["spec"]["containers"]}
    assert images == {"web": "nginx:1.25", "side": "side:1", "third": "third:1"}


@pytest.mark.long
def test_custom_resource_takes_no_strategic_patch(team):
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                                "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            },
                        }
                    },
                }
            ],
        },
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    team.apply(yaml.safe_dump(definition), yaml.safe_dump(widget))
    of_widget = {"kind": "example.com/v1/Widget", "name": "w"}

    refused = team.plan(patch({"spec": {"size": 2}}, **of_widget), **PATCH)
    scaled = team.apply(patch({"spec": {"replicas": 4}}, "merge", **of_widget, subresource="scale"), **PATCH)

    assert "application/strategic-merge-patch+json" in error_of(refused) or "media types" in error_of(refused)
    assert (scaled.state, team.outcomes(scaled)) == (RunState.APPLIED, ["applied"])
    assert team.live("/apis/example.com/v1/namespaces/default/widgets/w")["spec"] == {"size": 4}
