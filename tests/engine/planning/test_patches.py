"""Plans of patches: what is asked and sent, what the object is then, why, and what a patch cannot do."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, Answer
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json, core_from_json
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.objects.patch_revert import revert_patch
from applyviz.engine.planning.simulation.kubectl import list_kubectl_writes, unbind
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.planning.ownership import PATCHES_APPLIED
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

PATCH = ApplyOptions(action=SetAction.PATCH, mode=ApplyMode.CLIENT)
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
MAP = "/api/v1/namespaces/default/configmaps/a"
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', z: '2'}}"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: a}]}
"""


@pytest.fixture
def box():
    box = Box()
    box.apply(CONFIG)
    box.apply(DEPLOYMENT)
    box.asked.clear()
    return box


def patch(body, patch_type="merge", target="v1/ConfigMap/a", **more):
    api_version, kind, name = target.rsplit("/", 2)
    named = {"apiVersion": api_version, "kind": kind, "name": name}
    return yaml.safe_dump({"kind": "Patch", "target": named, "type": patch_type, "patch": body, **more})


def of_web(body, patch_type="merge", **more):
    return patch(body, patch_type, "apps/v1/Deployment/web", **more)


def test_patch_is_read_dry_run_and_confirmed(box):
    change = box.plan_one(patch({"data": {"x": "3", "z": None}}), PATCH)

    assert [(r.method, r.is_dry_run) for r in box.asked] == [("GET", False), ("PATCH", True)]
    assert (change.operation, change.certainty, change.method) == (
        Operation.UPDATE, Certainty.CONFIRMED, "JSON merge patch"
    )  # fmt: skip
    assert change.versions.last_applied is None
    assert change.versions.after["data"] == {"x": "3"}
    reasons = {reason.path[-1]: reason for reason in change.fields if reason.path[0] == "f:data"}
    assert {name: (r.operation, r.reason, r.position.line) for name, r in reasons.items()} == {
        "f:x": (FieldOperation.CHANGED, Reason.PATCH_SETS, 4), "f:z": (FieldOperation.CLEARED, Reason.PATCH_REMOVES, 5)
    }  # fmt: skip
    assert {render_reason(r) for r in reasons.values()} == {"changed by the patch", "removed by the patch"}
    assert change_from_json(change_to_json(change)) == change


def test_fields_beside_the_patch_are_kept_and_equal_ones_match(box):
    change = box.plan_one(patch({"data": {"x": "1"}}), PATCH)

    assert (change.operation, change.requests) == (Operation.UNCHANGED, ())
    reasons = {reason.path[-1]: reason.reason for reason in change.fields if reason.path[0] == "f:data"}
    assert reasons == {"f:x": Reason.PATCH_EQUALS_LIVE, "f:z": Reason.NOT_IN_PATCH}


def test_json_patch_is_bound_by_an_operation_of_its_own(box):
    operations = [{"op": "add", "path": "/data/new", "value": "1"}]

    change = box.plan_one(patch(operations, "json"), PATCH)

    (request,) = change.requests
    assert request.content_type == JSON_PATCH
    assert request.body[:1] == operations
    assert request.body[1]["path"] == "/metadata/resourceVersion"
    assert unbind(request).body == operations
    assert request.placeholders[0].path == ("i:1", "f:value")


def test_json_patch_without_preconditions_is_sent_as_it_is(box):
    operations = [{"op": "add", "path": "/data/new", "value": "1"}]

    change = box.plan_one(patch(operations, "json"), replace(PATCH, has_preconditions=False))

    assert change.requests[0].body == operations


def send_with_kubectl(change):
    sent = list_kubectl_writes(change, options=PATCH, resource=bundled().list_resources()[0], kind=None)
    assert sent is not None
    return sent


def test_kubectl_sends_the_patch_unbound(box):
    change = box.plan_one(patch({"data": {"x": "3"}, "metadata": {"labels": {"a": "b"}}}), PATCH)

    (sent,) = send_with_kubectl(change)
    (plain,) = send_with_kubectl(box.plan_one(patch({"data": {"x": "3"}}), PATCH))

    assert sent.body == {"data": {"x": "3"}, "metadata": {"labels": {"a": "b"}}}
    assert plain.body == {"data": {"x": "3"}}
    assert sent.query == {"fieldManager": "applyviz"}
    assert (sent.content_type, sent.placeholders) == (MERGE_PATCH, ())
    assert unbind(replace(change.requests[0], body=None)).body is None


@pytest.mark.parametrize("can_dry_run", [True, False])
@pytest.mark.parametrize(
    "given",
    [of_web({"spec": {"replicas": 5}}, subresource="scale"),
     of_web([{"op": "replace", "path": "/spec/replicas", "value": 5}], "json", subresource="scale")],
)  # fmt: skip
def test_scale_shows_the_object_with_its_count(box, given, can_dry_run):
    change = box.plan_one(given, PATCH, can_dry_run=can_dry_run)

    assert (change.operation, change.subresource) == (Operation.UPDATE, "scale")
    assert change.versions.after["kind"] == "Deployment"
    assert change.versions.after["spec"]["replicas"] == 5
    assert change.requests[0].path == f"{WEB}/scale"
    assert core_from_json(change_to_json(change)).subresource == "scale"


def test_scale_without_a_count_is_zero(box):
    change = box.plan_one(of_web([{"op": "remove", "path": "/spec/replicas"}], "json", subresource="scale"), PATCH)

    assert change.versions.after["spec"]["replicas"] == 0


def test_count_without_an_owner_gets_none_and_zero_has_none(box):
    def owners():
        return [e["manager"] for e in box.get(WEB)["metadata"]["managedFields"] if "f:replicas" in str(e)]

    for count in (0, 4):
        plan = box.plan(of_web({"spec": {"replicas": count}}, subresource="scale"), PATCH)
        (change,) = plan.changes
        planned = change.versions.after["metadata"]["managedFields"]
        box.run(plan)
        assert ("f:replicas" in str(planned), owners()) == (False, [])


@pytest.mark.parametrize("can_dry_run", [True, False])
def test_operation_that_does_not_apply_is_named_where_the_server_names_none(box, can_dry_run):
    text = of_web([{"op": "test", "path": "/spec/replicas", "value": 9}], "json")

    change = box.plan_one(text, PATCH, server=EstimatingServer(), can_dry_run=can_dry_run)

    assert "/spec/replicas" in change.error
    assert change.error.endswith("(the server rejected our request due to an error in our request)")


@pytest.mark.parametrize("can_dry_run", [True, False])
def test_status_counts_only_where_the_patch_writes_it(box, can_dry_run):
    body = {"status": {"replicas": 7}, "spec": {"replicas": 9}}

    change = box.plan_one(of_web(body, subresource="status"), PATCH, can_dry_run=can_dry_run)
    main = box.plan_one(of_web({"status": {"replicas": 7}}), PATCH, can_dry_run=can_dry_run)

    assert change.operation is Operation.UPDATE
    assert change.versions.after["spec"]["replicas"] == 3
    assert ["status", "replicas"] in [entry["path"] for entry in effect(change)["difference"]]
    assert main.operation is Operation.UNCHANGED


def find_error(change):
    assert (change.operation, change.requests) == (Operation.ERROR, ())
    return change.error


def test_what_a_patch_cannot_do_is_an_error(box):
    assert "not found" in find_error(box.plan_one(patch({}, target="v1/ConfigMap/none"), PATCH))
    assert 'no matches for kind "Widget"' in find_error(box.plan_one(patch({}, target="e.com/v1/Widget/a"), PATCH))
    assert "must be of kind Patch" in find_error(box.plan_one(CONFIG, PATCH))
    assert "only a review with the operation Patch" in find_error(box.plan_one(patch({})))
    assert "no subresource status" in find_error(box.plan_one(patch({}, subresource="status"), PATCH))


def test_patch_of_a_definition_or_a_namespace_creates_nothing(box):
    name = "apiextensions.k8s.io/v1/CustomResourceDefinition/widgets.e.com"
    texts = [patch({"spec": {"group": "e.com"}}, target=name), patch({}, target="v1/Namespace/new")]

    plan = box.plan("---\n".join(texts), PATCH)

    assert [("not found" in find_error(change), change.risks) for change in plan.changes] == [(True, ())] * 2
    assert plan.problems == ()


def version(name, field, *, is_stored):
    """Return a version of a custom kind whose Scale counts this field."""
    scale = {"specReplicasPath": f".spec.{field}", "statusReplicasPath": ".status.size"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": name, "served": True, "storage": is_stored}
    return {**served, "subresources": {"scale": scale}, "schema": schema}


def test_definition_that_cannot_be_read_leaves_the_count_of_a_custom_kind_unknown(box):
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.e.com"},
        "spec": {
            "group": "e.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v0", "old", is_stored=False), version("v1", "size", is_stored=True)],
        },
    }
    catalog = SourceChain(CRDSource([definition]), bundled())
    text = patch({"spec": {"replicas": 4}}, target="e.com/v1/Widget/w", subresource="scale")
    box.apply(yaml.safe_dump(definition))
    widget = {"apiVersion": "e.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    box.apply(f"{yaml.safe_dump(definition)}---\n{yaml.safe_dump(widget)}")

    change = box.plan_one(text, PATCH, catalog=catalog)
    without = box.plan_one(patch({}, target="e.com/v1/Widget/w", subresource="scale"), PATCH, catalog=catalog)
    box.intercept = lambda r: Answer(403, {}) if "customresourcedefinitions" in r.path else None
    hidden = box.plan_one(text, PATCH, catalog=catalog)

    assert (change.versions.after["spec"], change.versions.manifest["spec"]) == ({"size": 4}, {"size": 4})
    assert (without.operation, "spec" in without.versions.manifest) == (Operation.UNCHANGED, False)
    assert find_error(hidden) == "the definition of Widget cannot be read, so its replica count is unknown"


def list_applied(change):
    return [render_risk(risk) for risk in change.risks if risk.kind is PATCHES_APPLIED]


def test_risk_names_the_fields_that_others_apply_and_who_applies_them(box):
    box.apply(CONFIG, ApplyOptions(field_manager="helm"))
    box.apply(CONFIG, ApplyOptions(mode=ApplyMode.CLIENT, takes_client_side=False))
    body = {"data": {"x": "3", "z": "3", "new": "1"}}

    assert list_applied(box.plan_one(patch(body), PATCH)) == [
        "The patch changes data.x, data.z, which helm, client-side apply applied from a manifest: the next apply "
        "of that manifest sets the former values again, or conflicts."
    ]
    assert list_applied(box.plan_one(patch({"data": {"new": "1"}}), PATCH)) == []


def test_risk_counts_the_fields_beyond_three_and_leaves_out_ones_own():
    box = Box()
    box.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1', c: '1', d: '1'}}",
              ApplyOptions(field_manager="helm"))  # fmt: skip

    (text,) = list_applied(box.plan_one(patch({"data": dict.fromkeys("abcd", "2")}), PATCH))
    own = box.plan_one(patch({"data": {"a": "2"}}), replace(PATCH, field_manager="helm"))

    assert "data.a, data.b, data.c, 1 more" in text
    assert list_applied(own) == []


def test_annotation_that_cannot_be_read_is_no_last_applied(box):
    box.apply(CONFIG, ApplyOptions(mode=ApplyMode.CLIENT))
    name = "kubectl.kubernetes.io/last-applied-configuration"
    broken = box.plan(patch({"metadata": {"annotations": {name: "{"}}}), PATCH)
    box.run(broken)

    change = box.plan_one(patch({"data": {"x": "3"}}), PATCH)

    assert change.operation is Operation.UPDATE
    assert NO_LAST_APPLIED not in {risk.kind for risk in change.risks}


def revert(change):
    return revert_patch(change, manager="applyviz", kind=bundled().find_kind(change.ref.gvk))


def test_revert_is_the_difference_back(box):
    more = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b"}]}}}}

    found = revert(box.plan_one(of_web(more, "strategic"), PATCH))

    assert found.document["type"] == "strategic"
    assert found.document["target"] == {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"
    }  # fmt: skip
    containers = found.document["patch"]["spec"]["template"]["spec"]["containers"]
    assert containers == [{"name": "b", "$patch": "delete"}]
    assert found.notes == ("Deployment default/web: applyviz keeps the ownership of the fields that it changed",)


def test_revert_of_a_status_or_a_scale_goes_the_same_way(box):
    status = revert(box.plan_one(of_web({"status": {"replicas": 7}}, subresource="status"), PATCH)).document
    scale = revert(box.plan_one(of_web({"spec": {"replicas": 5}}, subresource="scale"), PATCH)).document

    assert (status["subresource"], status["patch"]) == ("status", {"status": {"replicas": None}})
    assert (scale["subresource"], scale["patch"]) == ("scale", {"spec": {"replicas": 3}})


def test_revert_of_an_unknown_kind_is_a_merge_patch_and_of_nothing_is_nothing(box):
    change = box.plan_one(patch({"data": {"x": "3"}}), PATCH)
    versions = replace(change.versions, after=change.versions.live)

    assert revert_patch(change, manager="m", kind=None).document["type"] == "merge"
    assert revert(replace(change, versions=versions)).document is None
    assert revert(replace(change, operation=Operation.UNCHANGED)).document is None
    cluster_scoped = replace(change, ref=change.ref._replace(namespace=""))
    assert "namespace" not in revert(cluster_scoped).document["target"]


@pytest.mark.parametrize("count", [5, 0])
def test_scale_that_the_server_model_answers_is_the_whole_object_with_its_count(box, count):
    given = of_web({"spec": {"replicas": count}}, subresource="scale")

    change = box.plan_one(given, PATCH, can_dry_run=False, server=EstimatingServer())

    assert change.certainty is Certainty.ESTIMATED
    assert change.versions.after["kind"] == "Deployment"
    assert change.versions.after["spec"]["replicas"] == count
