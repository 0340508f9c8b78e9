"""Odd patches beside the real `kubectl patch`: the same object, or the same refusal, confirmed and estimated."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.clusters import connect, discovery
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.sandbox.api.estimates import EstimatingServer
from applyviz.workflow.plans import changes
from tests.controlplane.comparison import compare, make_comparable, read_objects
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.test_patching import CONTAINERS, FRONT, LOGIN, OBJECTS, SETTINGS, WEB, options_in

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
WIDGET = "patching.example.com/v1/Widget/part"
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.patching.example.com}
spec:
  group: patching.example.com
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              count: {type: integer, minimum: 0}
              size: {type: string, default: small}
              words: {type: array, items: {type: string}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, weight: {type: integer}}
          status:
            type: object
            properties: {count: {type: integer}, phase: {type: string}}
"""
PART = """---
apiVersion: patching.example.com/v1
kind: Widget
metadata: {name: part, namespace: NAMESPACE, labels: {a: "1"}}
spec: {count: 2, words: [one, two], parts: [{name: p, weight: 1}, {name: q, weight: 2}]}
"""


def pod(**spec: object) -> dict[str, object]:
    """A patch of the pod template."""
    return {"spec": {"template": {"spec": spec}}}


ACCEPTED: dict[str, tuple[str, str, str, object]] = {
    "replacement of nothing adds": (SETTINGS, "json", "", [{"op": "replace", "path": "/data/x", "value": "1"}]),
    "two deleted and one added": (WEB, "strategic", "", pod(containers=[
        {"name": "web", "$patch": "delete"}, {"name": "side", "$patch": "delete"},
        {"name": "new", "image": "new:1"}])),
    "deleted entry that is not there": (WEB, "strategic", "", pod(containers=[{"name": "none", "$patch": "delete"}])),
    "order with a new entry": (WEB, "strategic", "", pod(**{
        "$setElementOrder/containers": [{"name": "new"}, {"name": "side"}, {"name": "web"}],
        "containers": [{"name": "new", "image": "new:1"}]})),
    "order alone": (WEB, "strategic", "", pod(**{
        "$setElementOrder/containers": [{"name": "side"}, {"name": "web"}]})),
    "delete from a list that lacks the value": (SETTINGS, "strategic", "", {"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["example.com/none"]}}),
    "list set to null": (SETTINGS, "strategic", "", {"metadata": {"finalizers": None}}),
    "same value twice": (SETTINGS, "strategic", "", {"metadata": {"finalizers": ["example.com/c", "example.com/c"]}}),
    "keys kept of a strategy": (WEB, "strategic", "", {"spec": {"strategy": {
        "$retainKeys": ["type", "rollingUpdate"], "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}}}),
    "null in an entry": (WEB, "strategic", "", pod(containers=[{"name": "web", "ports": None}])),
    "selector value removed": (FRONT, "strategic", "", {"spec": {"selector": {"app": None}}}),
    "port of another protocol": (FRONT, "strategic", "", {"spec": {"ports": [
        {"port": 80, "protocol": "UDP", "name": "udp"}]}}),
    "wrong name but right target": (SETTINGS, "strategic", "", {"metadata": {"name": "settings"}, "data": {"k": "1"}}),
    "tildes and slashes": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "1", "c": "2"}},
        {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "4"},
        {"op": "test", "path": "/metadata/annotations/c~0d", "value": None},
        {"op": "move", "from": "/metadata/annotations/a~1b", "path": "/metadata/annotations/x.y~1z"}]),
    "end of a list": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/z"},
        {"op": "add", "path": "/metadata/finalizers/3", "value": "example.com/y"}]),
    "negative position": (SETTINGS, "json", "", [{"op": "remove", "path": "/metadata/finalizers/-1"}]),
    "negative position to add at": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/finalizers/-1", "value": "example.com/z"}]),
    "move within a list": (WEB, "json", "", [{"op": "move", "from": f"{CONTAINERS}/1", "path": f"{CONTAINERS}/0"}]),
    "copy of a container": (WEB, "json", "", [
        {"op": "copy", "from": f"{CONTAINERS}/0", "path": f"{CONTAINERS}/-"},
        {"op": "replace", "path": f"{CONTAINERS}/2/name", "value": "twin"}]),
    "test of an object": (WEB, "json", "", [
        {"op": "test", "path": f"{CONTAINERS}/0/ports/0", "value": {"protocol": "TCP", "containerPort": 80}},
        {"op": "replace", "path": "/spec/replicas", "value": 1}]),
    "test of nothing": (SETTINGS, "json", "", [
        {"op": "test", "path": "/data/none", "value": None}, {"op": "add", "path": "/data/none", "value": "1"}]),
    "empty text by operation": (SETTINGS, "json", "", [{"op": "replace", "path": "/data/a", "value": ""}]),
    "null by operation": (SETTINGS, "json", "", [{"op": "add", "path": "/data/b", "value": None}]),
    "merge on a custom resource": (WIDGET, "merge", "", {"spec": {"words": ["z"], "parts": [{"name": "p"}]}}),
    "null brings the default": (WIDGET, "merge", "", {"spec": {"size": None, "count": None}}),
    "operations on a custom resource": (WIDGET, "json", "", [
        {"op": "copy", "from": "/spec/parts/0", "path": "/spec/parts/-"},
        {"op": "replace", "path": "/spec/parts/2/name", "value": "r"},
        {"op": "move", "from": "/spec/words/1", "path": "/spec/words/0"}]),
    "status of a custom resource": (WIDGET, "merge", "status", {"status": {"phase": "Ready"}, "spec": {"count": 9}}),
    "spec of a custom resource leaves status": (WIDGET, "merge", "", {"status": {"phase": "x"}, "spec": {"count": 9}}),
    "scale of a custom resource": (WIDGET, "merge", "scale", {"spec": {"replicas": 7}}),
    "scale of a custom resource by operation": (WIDGET, "json", "scale", [
        {"op": "test", "path": "/spec/replicas", "value": 2}, {"op": "replace", "path": "/spec/replicas", "value": 3}]),
    "status by operation": (WEB, "json", "status", [{"op": "add", "path": "/status/replicas", "value": 3}]),
    "status patch with a spec": (WEB, "strategic", "status", {"spec": {"replicas": 9}, "status": {"replicas": 1}}),
    "labels through status": (WEB, "merge", "status", {"metadata": {"labels": {"b": "2"}}, "status": {"replicas": 1}}),
    "plain text of a Secret": (LOGIN, "strategic", "", {"stringData": {"more": "x"}, "data": {"b": "eA=="}}),
}  # fmt: skip
REFUSED: dict[str, tuple[str, str, str, object, str]] = {
    "entry replaced whole": (WEB, "strategic", "", pod(containers=[
        {"name": "web", "$patch": "replace", "image": "web:9"}]), "containers: Required value"),
    "annotation that is none": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/annotations/c~0d", "value": "2"}], "c~d"),
    "text for a number": (WEB, "strategic", "", {"spec": {"replicas": "three"}}, "replicas"),
    "number for a text": (SETTINGS, "merge", "", {"data": {"a": 1}}, "data"),
    "map for a list": (WEB, "strategic", "", pod(containers={"name": "web"}), "containers"),
    "list for a map": (SETTINGS, "strategic", "", {"data": ["a"]}, "data"),
    "entry without its key": (WEB, "strategic", "", pod(containers=[{"image": "x"}]), "name"),
    "directive that is none": (WEB, "strategic", "", pod(containers=[{"name": "web", "$patch": "remove"}]), "remove"),
    "order that lacks an entry": (WEB, "strategic", "", pod(**{
        "$setElementOrder/containers": [{"name": "side"}], "containers": [{"name": "web", "image": "x"}]}), "order"),
    "keys that lack a field": (WEB, "strategic", "", {"spec": {"strategy": {
        "$retainKeys": ["type"], "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}}}, "retainKeys"),
    "position that is none": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/finalizers/9", "value": "example.com/z"}], "/metadata/finalizers/9"),
    "addition below nothing": (SETTINGS, "json", "", [
        {"op": "add", "path": "/metadata/labels/a", "value": "1"}], "/metadata/labels/a"),
    "move from nothing": (SETTINGS, "json", "", [{"op": "move", "from": "/data/x", "path": "/data/y"}], "/data/x"),
    "strategic on a custom resource": (WIDGET, "strategic", "", {"spec": {"count": 1}}, "unknown format"),
    "below the least": (WIDGET, "merge", "", {"spec": {"count": -1}}, "greater than or equal to 0"),
    "same key twice": (WIDGET, "merge", "", {"spec": {"parts": [{"name": "p"}, {"name": "p"}]}}, "Duplicate"),
    "wrong type in a custom resource": (WIDGET, "merge", "", {"spec": {"count": "many"}}, "integer"),
    "another name": (SETTINGS, "merge", "", {"metadata": {"name": "other"}}, "name"),
    "another namespace": (SETTINGS, "merge", "", {"metadata": {"namespace": "other"}}, "namespace"),
    "another kind": (SETTINGS, "merge", "", {"kind": "Service"}, "Service"),
    "stale version": (SETTINGS, "merge", "", {"metadata": {"resourceVersion": "1"}}, "resourceVersion"),
    "negative scale": (WEB, "merge", "scale", {"spec": {"replicas": -1}}, "greater than or equal to 0"),
    "secret that is not base64": (LOGIN, "merge", "", {"data": {"a": "%"}}, ""),
    "label that is none": (SETTINGS, "merge", "", {"metadata": {"labels": {"a": "b c"}}}, "a"),
    "subresource that is none": (SETTINGS, "merge", "status", {"status": {}}, "status"),
}  # fmt: skip


def document(target: str, patch_type: str, subresource: str, body: object, namespace: str) -> str:
    api_version, kind, name = target.rsplit("/", 2)
    found = {"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace}
    more = {"subresource": subresource} if subresource else {}
    return yaml.safe_dump({"kind": "Patch", "target": found, "type": patch_type, "patch": body, **more})


def patch(plane: ControlPlane, target: str, patch_type: str, subresource: str, body: object, namespace: str):
    _, kind, name = target.rsplit("/", 2)
    more = [f"--subresource={subresource}"] if subresource else []
    words = ("patch", kind.lower(), name, "-n", namespace, f"--type={patch_type}", "-p", json.dumps(body), *more)
    return plane.kubectl(*words, check=False)


@pytest.fixture(scope="module")
def plane(control_plane):
    control_plane.kubectl("apply", "-f", "-", stdin=DEFINITION)
    control_plane.kubectl("wait", "--for=condition=Established", "crd/widgets.patching.example.com")
    return control_plane


def fill(plane: ControlPlane, namespace: str) -> dict[str, str]:
    plane.kubectl("create", "namespace", namespace)
    text = (OBJECTS + PART).replace("NAMESPACE", namespace)
    plane.kubectl("apply", "-f", "-", stdin=text)
    return {"objects.yaml": text}


def read(plane, files, namespace):
    return make_comparable(read_objects(plane, files, namespace), {namespace: "same"})


def estimate(product: Product, text: str, namespace: str):
    """The plan of a patch without any dry run."""
    reader = connect.open_reader(product.cluster)
    documents = take_patches_apart(parse_manifests(text.encode(), "patch.yaml")).documents
    context = PlanningContext(
        discovery.load_catalog(reader), "2026-06-01T00:00:00Z", server=EstimatingServer(), can_dry_run=False
    )
    planner = SetPlanner(documents, options=options_in(namespace), context=context)
    list(drive(planner, lambda requests: [reader.try_send(r) for r in requests]))
    (change,) = planner.plan().changes
    return change


@pytest.mark.long
@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_patch_leaves_what_kubectl_leaves(plane, name):
    word = name.lower().replace(" ", "-")
    theirs, mine = f"odd-theirs-{word}", f"odd-mine-{word}"
    files, own = fill(plane, theirs), fill(plane, mine)
    done = patch(plane, *ACCEPTED[name], theirs)
    assert done.returncode == 0, done.stderr
    product, text = Product(plane), document(*ACCEPTED[name], mine)
    expected = read(plane, files, theirs)

    guess = estimate(product, text, mine)
    plan = product.plan({"patch.yaml": text}, options_in(mine))
    (row,) = plan.changes.all()
    assert (row.error, row.certainty) == ("", Certainty.CONFIRMED)
    if row.operation != Operation.UNCHANGED:
        product.run(plan)

    assert compare(read(plane, own, mine), expected) == []
    key = "{} {}".format(*ACCEPTED[name][0].rsplit("/", 2)[1:])
    after = make_comparable({key: guess.versions.after or {"metadata": {}, "kind": "none"}}, {mine: "same"})
    for each in (after[key], expected[key]):
        each["metadata"].pop("generation", None)
    assert compare(after, {key: expected[key]}) == [], guess.error


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_odd_patch_is_refused_as_kubectl_is(plane, name):
    mine = f"bad-{name.lower().replace(' ', '-')}"
    own = fill(plane, mine)
    case, told = REFUSED[name][:4], REFUSED[name][4]
    before = read(plane, own, mine)
    done = patch(plane, *case, mine)
    assert done.returncode != 0, done.stdout
    product, text = Product(plane), document(*case, mine)

    (row,) = product.plan({"patch.yaml": text}, options_in(mine)).changes.all()
    change = changes.read_masked(row)
    guess = estimate(product, text, mine)

    assert (change.operation, change.has_effect, told in change.error) == (Operation.ERROR, False, True)
    assert read(plane, own, mine) == before
    assert (guess.operation, told in guess.error) == (Operation.ERROR, True)
