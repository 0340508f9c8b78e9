"""Objects patched through a review on a real API server: what is left is what `kubectl patch` leaves."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.records.models import Plan
from applyviz.workflow.plans import changes, planner, revert
from tests.controlplane.comparison import JSONObject, compare, make_comparable, read_objects
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
MANAGER = "kubectl-patch"
OBJECTS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", args: [a, b], ports: [{containerPort: 80}, {containerPort: 81}]}
      - {name: side, image: "side:1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE, finalizers: [example.com/a, example.com/b]}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAMESPACE}
stringData: {password: first}
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: more, port: 81}]}
"""
WEB, SETTINGS, LOGIN, FRONT = "apps/v1/Deployment/web", "v1/ConfigMap/settings", "v1/Secret/login", "v1/Service/front"
CONTAINERS = "/spec/template/spec/containers"
CONDITION = {"type": "Progressing", "status": "True", "reason": "Told", "message": "by hand"}
CASES: dict[str, tuple[str, str, str, object]] = {
    "entry by its key": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "image": "web:2"}, {"name": "third", "image": "third:1"}]}}}}),
    "entry removed": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "side", "$patch": "delete"}]}}}}),
    "list replaced by a directive": (FRONT, "strategic", "", {"spec": {"ports": [
        {"$patch": "replace"}, {"name": "only", "port": 8080}]}}),
    "order of a list": (FRONT, "strategic", "", {"spec": {
        "$setElementOrder/ports": [{"port": 81}, {"port": 80}], "ports": [{"port": 80, "targetPort": 8080}]}}),
    "scalars of a set": (SETTINGS, "strategic", "", {"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["example.com/b"], "finalizers": ["example.com/c"]}}),
    "null removes": (SETTINGS, "strategic", "", {"data": {"a": None, "c": "3"}}),
    "strategic union": (WEB, "strategic", "", {"spec": {
        "strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    "merge replaces lists": (WEB, "merge", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "image": "web:3"}]}}}}),
    "merge of a Secret": (LOGIN, "merge", "", {"stringData": {"password": "second"}}),
    "merge without effect": (SETTINGS, "merge", "", {"data": {"a": "1"}}),
    "operations": (WEB, "json", "", [
        {"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "replace", "path": "/spec/replicas", "value": 4},
        {"op": "add", "path": f"{CONTAINERS}/0/args/-", "value": "c"}, {"op": "remove", "path": f"{CONTAINERS}/1"},
        {"op": "copy", "from": "/metadata/name", "path": "/spec/template/metadata/labels/copy"}]),
    "operations on a Secret": (LOGIN, "json", "", [{"op": "add", "path": "/data/more", "value": "bW9yZQ=="}]),
    "scale": (WEB, "merge", "scale", {"spec": {"replicas": 5}}),
    "scale to nothing": (WEB, "strategic", "scale", {"spec": {"replicas": 0}}),
    "scale by operation": (WEB, "json", "scale", [{"op": "replace", "path": "/spec/replicas", "value": 6}]),
    "status": (WEB, "merge", "status", {"status": {"replicas": 2, "conditions": [CONDITION]}}),
    "entry added by its key": (FRONT, "strategic", "", {"spec": {"ports": [{"name": "last", "port": 82}]}}),
    "port by its key": (FRONT, "strategic", "", {"spec": {"ports": [{"port": 80, "name": "web"}]}}),
    "port removed by its key": (FRONT, "strategic", "", {"spec": {"ports": [{"port": 81, "$patch": "delete"}]}}),
    "map replaced by a directive": (FRONT, "strategic", "", {"spec": {
        "selector": {"$patch": "replace", "app": "api"}}}),
    "map emptied by a directive": (SETTINGS, "strategic", "", {"data": {"$patch": "delete"}}),
    "map set to null": (SETTINGS, "strategic", "", {"data": None}),
    "null of what is not there": (SETTINGS, "strategic", "", {"data": {"none": None}}),
    "empty map": (SETTINGS, "strategic", "", {"data": {}}),
    "empty patch": (SETTINGS, "strategic", "", {}),
    "empty text": (SETTINGS, "strategic", "", {"data": {"a": ""}}),
    "label added": (WEB, "strategic", "", {"metadata": {"labels": {"tier": "front"}}}),
    "annotation added": (WEB, "strategic", "", {"metadata": {"annotations": {"example.com/note": "x"}}}),
    "annotation of the template": (WEB, "strategic", "", {"spec": {"template": {"metadata": {
        "annotations": {"example.com/restarted": "1"}}}}}),
    "default set to null": (WEB, "strategic", "", {"spec": {"revisionHistoryLimit": None}}),
    "count set to null": (WEB, "strategic", "", {"spec": {"replicas": None}}),
    "args replaced": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "args": ["c"]}]}}}}),
    "args removed": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "args": None}]}}}}),
    "container ports by key": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "ports": [{"containerPort": 82}, {"containerPort": 80, "name": "http"}]}]}}}}),
    "container port removed": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "ports": [{"containerPort": 81, "$patch": "delete"}]}]}}}}),
    "environment by name": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}}}}),
    "volume by name": (WEB, "strategic", "", {"spec": {"template": {"spec": {
        "volumes": [{"name": "tmp", "emptyDir": {}}]}}}}),
    "order of containers": (WEB, "strategic", "", {"spec": {"template": {"spec": {
        "$setElementOrder/containers": [{"name": "side"}, {"name": "web"}],
        "containers": [{"name": "web", "image": "web:5"}]}}}}),
    "containers replaced by a directive": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"$patch": "replace"}, {"name": "only", "image": "only:1"}]}}}}),
    "quantity in another spelling": (WEB, "strategic", "", {"spec": {"template": {"spec": {"containers": [
        {"name": "web", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}]}}}}),
    "finalizer added": (SETTINGS, "strategic", "", {"metadata": {"finalizers": ["example.com/c"]}}),
    "finalizers deleted and ordered": (SETTINGS, "strategic", "", {"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["example.com/a"],
        "$setElementOrder/finalizers": ["example.com/c", "example.com/b"], "finalizers": ["example.com/c"]}}),
    "data of a Secret": (LOGIN, "strategic", "", {"data": {"password": "c2Vjb25k"}}),
    "data of a Secret removed": (LOGIN, "strategic", "", {"data": {"password": None}}),
    "map becomes immutable": (SETTINGS, "strategic", "", {"immutable": True}),
    "merge adds and removes": (SETTINGS, "merge", "", {"data": {"a": None, "c": "3"}}),
    "merge of an empty list": (SETTINGS, "merge", "", {"metadata": {"finalizers": []}}),
    "merge sets a list": (SETTINGS, "merge", "", {"metadata": {"finalizers": ["example.com/z"]}}),
    "merge of a null map": (SETTINGS, "merge", "", {"data": None}),
    "merge of ports": (FRONT, "merge", "", {"spec": {"ports": [{"port": 80, "name": "only"}]}}),
    "merge of a type": (FRONT, "merge", "", {"spec": {"type": "NodePort"}}),
    "merge of a strategy": (WEB, "merge", "", {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}),
    "merge of directives as fields": (SETTINGS, "merge", "", {"metadata": {"labels": {"patch": "replace"}}}),
    "merge of two maps": (WEB, "merge", "", {"metadata": {"labels": {"a": "1"}}, "spec": {"paused": True}}),
    "operations on labels": (WEB, "json", "", [
        {"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},
        {"op": "add", "path": "/metadata/labels/example.com~1b", "value": "2"}]),
    "operation before a position": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/first"}]),
    "operation moves": (SETTINGS, "json", "", [{"op": "move", "from": "/data/a", "path": "/data/c"}]),
    "operation removes": (SETTINGS, "json", "", [{"op": "remove", "path": "/data/b"}]),
    "operation replaces a map": (SETTINGS, "json", "", [{"op": "replace", "path": "/data", "value": {"z": "9"}}]),
    "no operation": (SETTINGS, "json", "", []),
    "status by merge key": (WEB, "strategic", "status", {"status": {"conditions": [CONDITION]}}),
}  # fmt: skip
WITHOUT_EFFECT = (
    "merge without effect",
    "null of what is not there",
    "empty map",
    "empty patch",
    "default set to null",
    "no operation",
)


FOR_GOOD = "map becomes immutable"
"""The server refuses every way back."""


def test_there_are_sixty_cases():
    assert len(CASES) >= 60


def write(name: str, namespace: str) -> str:
    """The patch of a case as a document."""
    target, patch_type, subresource, body = CASES[name]
    api_version, kind, object_name = target.rsplit("/", 2)
    document = {
        "kind": "Patch",
        "target": {"apiVersion": api_version, "kind": kind, "name": object_name, "namespace": namespace},
        "type": patch_type,
        "patch": body,
        **({"subresource": subresource} if subresource else {}),
    }
    return yaml.safe_dump(document, sort_keys=False)


def fill(plane: ControlPlane, namespace: str, mode: ApplyMode) -> dict[str, str]:
    """Apply the objects as a team would, before anything is patched."""
    plane.kubectl("create", "namespace", namespace)
    text = OBJECTS.replace("NAMESPACE", namespace)
    plane.kubectl("apply", *(["--server-side"] if mode is ApplyMode.SERVER else []), "-f", "-", stdin=text)
    return {"objects.yaml": text}


def patch_with_kubectl(plane: ControlPlane, name: str, namespace: str) -> None:
    target, patch_type, subresource, body = CASES[name]
    _, kind, object_name = target.rsplit("/", 2)
    more = [f"--subresource={subresource}"] if subresource else []
    plane.kubectl(
        *("patch", kind.lower(), object_name, "-n", namespace, f"--type={patch_type}", "-p", json.dumps(body)), *more
    )


def read(plane: ControlPlane, files: dict[str, str], namespace: str) -> dict[str, JSONObject]:
    return make_comparable(read_objects(plane, files, namespace), {namespace: "same"})


def options_in(namespace: str) -> ApplyOptions:
    return ApplyOptions(action=SetAction.PATCH, namespace=namespace, field_manager=MANAGER)


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("name", CASES)
def test_patched_object_is_what_kubectl_leaves(control_plane, name, mode):
    word = f"{name.replace(' ', '-').lower()}-{mode.value}"
    theirs, mine = f"theirs-{word}", f"mine-{word}"
    files = fill(control_plane, theirs, mode)
    patch_with_kubectl(control_plane, name, theirs)
    expected = read(control_plane, files, theirs)
    files = fill(control_plane, mine, mode)
    before = read(control_plane, files, mine)
    product = Product(control_plane)

    plan = product.plan({"patch.yaml": write(name, mine)}, options_in(mine))
    (row,) = plan.changes.all()
    assert (row.operation == Operation.UNCHANGED, row.certainty) == (name in WITHOUT_EFFECT, Certainty.CONFIRMED)
    if name in WITHOUT_EFFECT:
        assert compare(before, expected) == []
        return
    product.run(plan)

    assert compare(read(control_plane, files, mine), expected) == []


def strip_owners(objects: dict[str, JSONObject]) -> dict[str, JSONObject]:
    for each in objects.values():
        for name in ("managedFields", "generation"):
            each["metadata"].pop(name, None)
    return objects


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in CASES if name not in (*WITHOUT_EFFECT, FOR_GOOD)])
def test_revert_of_a_patch_brings_the_values_back(control_plane, name):
    mine = f"back-{name.replace(' ', '-').lower()}"
    files = fill(control_plane, mine, ApplyMode.CLIENT)
    before = strip_owners(read(control_plane, files, mine))
    product = Product(control_plane)
    run = product.apply({"patch.yaml": write(name, mine)}, options_in(mine))

    plan = revert.prepare_revert(run, by=product.alice)().plans.get()
    planner.make_plan(plan.pk)
    product.run(Plan.objects.get(pk=plan.pk))

    assert compare(strip_owners(read(control_plane, files, mine)), before) == []


BAD: dict[str, tuple[str, str, object, str]] = {
    "unknown field": (WEB, "strategic", {"spec": {"replica": 3}}, "replica"),
    "immutable field": (WEB, "merge", {"spec": {"selector": {"matchLabels": {"app": "x"}}}}, "immutable"),
    "test that fails": (WEB, "json", [{"op": "test", "path": "/spec/replicas", "value": 9}], "/spec/replicas"),
    "path that is not there": (WEB, "json", [{"op": "remove", "path": "/spec/none"}], "/spec/none"),
    "object that is not there": ("v1/ConfigMap/none", "merge", {"data": {"a": "1"}}, "not found"),
}


@pytest.mark.core(1)
@pytest.mark.parametrize("name", BAD)
def test_patch_that_the_server_refuses_is_an_error_and_nothing_is_sent(control_plane, name, monkeypatch):
    mine = f"bad-{name.replace(' ', '-')}"
    fill(control_plane, mine, ApplyMode.CLIENT)
    target, patch_type, body, word = BAD[name]
    monkeypatch.setitem(CASES, name, (target, patch_type, "", body))

    (row,) = Product(control_plane).plan({"patch.yaml": write(name, mine)}, options_in(mine)).changes.all()

    change = changes.read_masked(row)
    assert (change.operation, change.has_effect) == (Operation.ERROR, False)
    assert word in change.error
