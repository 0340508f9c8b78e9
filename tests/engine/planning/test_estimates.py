"""Does a plan without dry run say what the server would make of a write: defaults, empty values, refusals?"""

from __future__ import annotations

import pytest

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Order
from applyviz.engine.schema.model import KindSchema, Resource, SchemaOrigin
from applyviz.engine.schema.nodes import SchemaNode
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
SERVER = ApplyOptions()
BOTH = pytest.mark.parametrize("options", [CLIENT, SERVER], ids=["client", "server"])
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: made}\n---\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, labels: {}}
spec:
  minReadySeconds: 0
  paused: false
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeSelector: {}, containers: [{name: web, image: nginx}]}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: made}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: busybox}]}}}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 3, maximum: 9}
              color: {type: string}
---
"""
WIDGET = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\nspec: SPEC\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: '', ports: [{port: 80}]}\n"
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: all, namespace: NAMESPACE}
spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, adminAccess: true}}]}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"


def plan_all(text, options, box=None, **context):
    return (box or Box()).plan(text, options, server=EstimatingServer(), **context).changes


def plan_last(text, options, box=None, **context):
    return plan_all(text, options, box, **context)[-1]


def paths_of(change, *operations):
    return {render_path(f.path) for f in change.fields if f.operation in operations}


@BOTH
def test_empty_and_zero_values_are_not_promised(options):
    change = plan_last(NAMESPACE + DEPLOYMENT.replace("NAMESPACE", "made"), options)

    spec = change.versions.after["spec"]
    assert (change.operation, change.certainty) == (Operation.CREATE, Certainty.ESTIMATED)
    assert not {"minReadySeconds", "paused"} & set(spec)
    assert "labels" not in change.versions.after["metadata"]
    assert "nodeSelector" not in spec["template"]["spec"]
    assert ".spec.minReadySeconds" not in paths_of(change, FieldOperation.SET, FieldOperation.DEFAULTED)


@BOTH
def test_defaults_are_told_as_such(options):
    change = plan_last(NAMESPACE + DEPLOYMENT.replace("NAMESPACE", "made"), options)

    assert change.versions.after["spec"]["revisionHistoryLimit"] == 10
    assert ".spec.revisionHistoryLimit" in paths_of(change, FieldOperation.DEFAULTED)


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {SPEC, containers: [{name: c, image: i}]}\n"


@BOTH
def test_pod_of_a_class_of_its_cluster_leaves_out_what_the_class_decides(options):
    change = plan_last(POD.replace("SPEC", "priorityClassName: high"), options, can_dry_run=False)

    spec = change.versions.after["spec"]
    assert (change.operation, spec["restartPolicy"]) == (Operation.CREATE, "Always")
    assert not {"priority", "preemptionPolicy"} & set(spec)


@BOTH
def test_pod_without_a_class_has_no_priority_of_its_own(options):
    change = plan_last(POD.replace("SPEC", "priority: 5"), options, can_dry_run=False)

    assert (change.operation, change.versions.after) == (Operation.ERROR, None)
    assert "the integer value of priority (5) must not be provided in pod spec" in change.error


@BOTH
def test_job_is_planned_without_what_only_the_server_can_choose(options):
    after = plan_last(NAMESPACE + JOB, options).versions.after

    assert after["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/job-name": "once",
        "job-name": "once",
    }
    assert "selector" not in after["spec"]
    assert not {"uid", "creationTimestamp", "resourceVersion"} & set(after["metadata"])


@BOTH
def test_custom_resource_gets_the_defaults_of_the_definition_beside_it(options):
    change = plan_last(DEFINITION + WIDGET.replace("SPEC", "{color: red}"), options)

    assert change.versions.after["spec"] == {"color": "red", "size": 3}
    assert ".spec.size" in paths_of(change, FieldOperation.DEFAULTED)


@BOTH
def test_value_that_the_definition_beside_it_forbids_is_an_error(options):
    change = plan_last(DEFINITION + WIDGET.replace("SPEC", "{size: 10}"), options)

    assert change.operation is Operation.ERROR
    assert "spec.size in body should be less than or equal to 9" in change.error


@BOTH
def test_definition_and_namespace_do_not_exist_before_they_are_planned(options):
    config = CONFIG.replace("{name: a}", "{name: a, namespace: made}")
    text = WIDGET.replace("SPEC", "{}") + "---\n" + DEFINITION + config + "---\n" + NAMESPACE.replace("---\n", "")

    changes = plan_all(text, replace(options, order=Order.AS_GIVEN), can_dry_run=False)
    again = plan_all(text, replace(options, order=Order.AS_GIVEN), can_dry_run=False)

    assert {c.operation for c in (*changes, *again)} == {Operation.CREATE}
    assert changes[0].versions.after["spec"] == {"size": 3}


@BOTH
def test_claim_that_sees_devices_of_others_needs_a_marked_namespace(options):
    box = Box()
    box.apply(
        NAMESPACE.replace("made}\n---", "marked, labels: {resource.kubernetes.io/admin-access: 'true'}}\n---"), CLIENT
    )
    refused = plan_last(CLAIM.replace("NAMESPACE", "default"), options, box, can_dry_run=False)
    allowed = plan_last(CLAIM.replace("NAMESPACE", "marked"), options, box, can_dry_run=False)
    unknown = plan_last(NAMESPACE + CLAIM.replace("NAMESPACE", "made"), options, box, can_dry_run=False)

    assert (refused.operation, allowed.operation) == (Operation.ERROR, Operation.CREATE)
    assert "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label" in refused.error
    assert (unknown.operation, unknown.certainty) == (Operation.CREATE, Certainty.ESTIMATED)


@BOTH
def test_no_address_is_promised_for_an_empty_one(options):
    change = plan_last(SERVICE, options, can_dry_run=False)

    assert not {"clusterIP", "clusterIPs"} & {*change.versions.after["spec"]}
    assert paths_of(change, FieldOperation.ALLOCATED) == {".spec.clusterIP"}


def test_immutable_field_is_an_error_without_a_dry_run():
    box = Box()
    box.apply(DEPLOYMENT.replace("NAMESPACE", "default"), CLIENT)

    moved = DEPLOYMENT.replace("NAMESPACE", "default").replace("app: web", "app: new")
    change = plan_last(moved, CLIENT, box, can_dry_run=False)

    assert change.operation is Operation.ERROR
    assert "field is immutable" in change.error


def test_object_that_is_replaced_is_estimated_after_its_deletion():
    box = Box()
    box.apply(DEPLOYMENT.replace("NAMESPACE", "default"), CLIENT)

    moved = DEPLOYMENT.replace("NAMESPACE", "default").replace("app: web", "app: new")
    options = replace(CLIENT, is_replacing_on_error=True)
    change = plan_last(moved, options, box, can_dry_run=False)

    assert change.operation is Operation.REPLACE
    assert change.versions.after["spec"]["progressDeadlineSeconds"] == 600


def test_estimate_follows_a_dry_run_that_was_denied():
    def deny(request):
        message = 'cannot patch resource "deployments"'
        return Answer(403, {"kind": "Status", "message": message}) if request.is_dry_run else None

    change = plan_last(DEPLOYMENT.replace("NAMESPACE", "default"), SERVER, Box(intercept=deny))

    assert change.certainty is Certainty.ESTIMATED
    assert change.versions.after["spec"]["replicas"] == 1


class _Definitions:
    """Looks up nothing but objects that may hold anything."""

    def get_node(self, name: str) -> SchemaNode:
        return SchemaNode({"type": "object"}, self)


def published(gvk: GroupVersionKind, properties: dict, **more: bool) -> KindSchema:
    """A kind as the OpenAPI document of a cluster tells it."""
    shape = {"type": "object", "properties": {"metadata": {"$ref": "#/components/schemas/ObjectMeta"}, **properties}}
    return KindSchema(gvk, SchemaNode(shape, _Definitions()), SchemaOrigin.CLUSTER_OPENAPI, **more)


class Only:
    """A catalog of one kind."""

    def __init__(self, kind: KindSchema, plural: str) -> None:
        self._kind, self._resource = kind, Resource(kind.gvk, plural, True)

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        return self._kind if gvk == self._kind.gvk else None

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        return self._resource if gvk == self._kind.gvk else None

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        return self._resource

    def list_resources(self) -> tuple[Resource, ...]:
        return (self._resource,)


CONFIG_MAP, WIDGET_KIND = GroupVersionKind("", "v1", "ConfigMap"), GroupVersionKind("example.org", "v1", "Widget")
NEWER = Only(published(CONFIG_MAP, {"data": {"type": "object"}, "sealed": {"type": "boolean"}}), "configmaps")


def test_field_that_only_the_cluster_knows_is_no_error():
    change = plan_last(CONFIG + "sealed: true\n", CLIENT, catalog=NEWER, can_dry_run=False)

    assert change.operation is Operation.CREATE
    assert change.versions.after["sealed"] is True


def test_field_that_nobody_knows_is_an_error():
    change = plan_last(CONFIG + "closed: true\n", CLIENT, catalog=NEWER, can_dry_run=False)

    assert change.operation is Operation.ERROR
    assert 'unknown field "closed"' in change.error


def test_live_field_that_only_the_cluster_knows_is_kept():
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

    def show(request):
        return Answer(200, {**live, "sealed": True}) if request.method == "GET" else None

    box = Box(intercept=show)
    change = plan_last(CONFIG, CLIENT, box, catalog=NEWER, can_dry_run=False)

    assert change.versions.after["sealed"] is True


def test_kind_of_the_cluster_is_estimated_by_its_published_schema():
    shape = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
    kind = published(WIDGET_KIND, {"spec": shape}, is_custom=True, is_strategic=False)

    change = plan_last(WIDGET.replace("SPEC", "{}"), CLIENT, catalog=Only(kind, "widgets"), can_dry_run=False)

    assert change.versions.after["spec"] == {"size": 3}


def test_kind_without_schema_is_merged_only():
    kind = KindSchema(WIDGET_KIND, None, SchemaOrigin.NONE, is_custom=True, is_strategic=False)

    change = plan_last(WIDGET.replace("SPEC", "{}"), CLIENT, catalog=Only(kind, "widgets"), can_dry_run=False)

    assert change.versions.after["spec"] == {}


def test_live_object_that_is_none_of_its_kind_is_merged_only():
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": [1]}

    def show(request):
        return Answer(200, live) if request.method == "GET" else None

    change = plan_last(CONFIG, CLIENT, Box(intercept=show), can_dry_run=False)

    assert change.versions.after["data"] == {"x": "1"}


@BOTH
@pytest.mark.parametrize("name", ["uid", "resourceVersion"])
def test_manifest_that_is_bound_to_another_object_is_an_error(options, name):
    box = Box()
    box.apply(CONFIG, CLIENT)
    box.asked.clear()
    bound = CONFIG.replace("{name: a}", "{name: a, " + name + ": '99'}").replace("'1'", "'2'")

    change = plan_last(bound, options, box)

    assert change.operation is Operation.ERROR
    assert change.error.startswith(f"the manifest names {name} 99")
    assert not [r for r in box.asked if r.is_dry_run]


def test_manifest_that_is_bound_to_the_live_object_is_planned():
    box = Box()
    box.apply(CONFIG, CLIENT)
    version = box.get("/api/v1/namespaces/default/configmaps/a")["metadata"]["resourceVersion"]

    change = plan_last(CONFIG.replace("{name: a}", "{name: a, resourceVersion: '" + version + "'}"), SERVER, box)

    assert change.operation is Operation.UPDATE


def test_flow_of_kubectl_is_planned_from_the_live_object():
    box = Box()
    box.apply(CONFIG, SERVER)

    change = plan_last(CONFIG.replace("'1'", "'2'"), replace(SERVER, has_preconditions=False), box)

    assert change.operation is Operation.UPDATE
    assert change.versions.live["data"] == {"x": "1"}


def test_new_object_without_its_namespace_is_an_error():
    lost = CONFIG.replace("{name: a}", "{name: a, namespace: nowhere}")

    change = plan_last(lost, SERVER, can_dry_run=False)

    assert change.operation is Operation.ERROR
    assert change.error == 'namespaces "nowhere" not found'


def test_object_whose_owners_were_cleared_has_nothing_to_move():
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "uid": "u"}}

    def show(request):
        return Answer(200, live) if request.method == "GET" else None

    change = plan_last(CONFIG, replace(SERVER, field_manager="kubectl"), Box(intercept=show), can_dry_run=False)

    assert [r.purpose for r in change.requests] == ["apply"]


def test_replaced_object_says_nothing_of_the_uid_that_only_the_server_chooses():
    box = Box()
    job = JOB.replace("made", "default")
    box.apply(job, CLIENT)

    def refuse(request):
        body = {"kind": "Status", "reason": "Invalid", "message": "field is immutable"}
        return Answer(422, body) if request.is_dry_run and request.method == "PATCH" else None

    box.intercept = refuse
    change = plan_last(job.replace("Never", "OnFailure"), replace(CLIENT, is_replacing_on_error=True), box)

    assert change.operation is Operation.REPLACE
    assert ".spec.template.spec.restartPolicy" in paths_of(change, FieldOperation.CHANGED)
    assert not [f for f in change.fields if "controller-uid" in render_path(f.path) or "selector" in str(f.path)]
