"""How far a prune reaches beside the real kubectl: the same objects go, and the page names those that stay."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.applyset import Parent
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.engine.schema.model import Resource
from applyviz.workflow.plans.left_behind import list_staying
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.product import Product
from tests.controlplane.test_prune_stories import (
    BY_LABEL,
    ONE,
    TWO,
    A,
    B,
    Step,
    _leave_alone,
    _list_plan,
    _shorten,
    apply_with_kubectl,
    config,
    read_pruned,
    read_sides,
    write,
)

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
WIDE = Prune(PruneMode.APPLYSET, applyset="fleets.reach.example.com/SPACE")
FLEETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "fleets.reach.example.com", "labels": {"applyset.kubernetes.io/is-parent-type": "true"}},
    "spec": {
        "group": "reach.example.com",
        "names": {"plural": "fleets", "singular": "fleet", "kind": "Fleet", "listKind": "FleetList"},
        "scope": "Cluster",
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip
CLUSTER_ROLE = (
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: SPACE-reads, labels: {app: shop}}\n"
    "rules: []\n"
)
HPA = (
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
    "metadata: {name: scaler, namespace: SPACE, labels: {app: shop}}\n"
    "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
)
OTHER_B = config("b", space="OTHER")


@dataclass(frozen=True)
class Reach:
    """Steps; what the last one prunes; and what it misses, each with the reason on the page."""

    name: str
    steps: Sequence[Step]
    pruned: frozenset[str] = frozenset()
    missed: Mapping[str, str] = field(default_factory=dict)
    between: Callable[[ControlPlane, str], None] = _leave_alone


def make_parent(plane: ControlPlane, space: str) -> None:
    """A parent without a namespace, which kubectl does not create."""
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(FLEETS))
    plane.kubectl("wait", "--for=condition=Established", "crd/fleets.reach.example.com")
    resource = Resource(GroupVersionKind("reach.example.com", "v1", "Fleet"), "fleets", is_namespaced=False)
    metadata = {
        "name": space,
        "labels": {"applyset.kubernetes.io/id": Parent(resource, "", space).id},
        "annotations": {
            "applyset.kubernetes.io/tooling": "kubectl/v1.36.3",
            "applyset.kubernetes.io/contains-group-kinds": "",
            "applyset.kubernetes.io/additional-namespaces": "",
        },
    }
    plane.kubectl(
        "create",
        "-f",
        "-",
        stdin=json.dumps({"apiVersion": "reach.example.com/v1", "kind": "Fleet", "metadata": metadata}),
    )


def create_again(plane: ControlPlane, space: str) -> None:
    """A member is deleted and created by hand, with its label."""
    plane.kubectl("delete", "configmap", "b", "-n", space)
    plane.kubectl("create", "configmap", "b", "-n", space)
    plane.kubectl("label", "configmap", "b", "-n", space, "app=shop")


def unlabel(plane: ControlPlane, space: str) -> None:
    """A member loses the label of the selector."""
    plane.kubectl("label", "configmap", "b", "-n", space, "app-")


def leave_set(plane: ControlPlane, space: str) -> None:
    """A member loses the label of its ApplySet."""
    plane.kubectl("label", "configmap", "b", "-n", space, "applyset.kubernetes.io/part-of-")


ONLY_CONFIG = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",))
STORIES = (
    Reach("space-gone", [Step([A, OTHER_B]), Step([A])], missed={"ConfigMap/b": "namespace"}),
    Reach("set-space-gone", [Step([A, OTHER_B], WIDE), Step([A], WIDE)], frozenset({"configmap/b"})),
    Reach("all-one-space", [Step([A, B, OTHER_B]), Step([A], ONLY_CONFIG, "")], frozenset({"configmap/b"}),
          missed={"ConfigMap/b": "namespace"}),
    Reach("by-hand-again", [Step([A, B]), Step([A])], missed={"ConfigMap/b": "not-applied"}, between=create_again),
    Reach("label-lost", [Step([A, B]), Step([A])], missed={"ConfigMap/b": "selector"}, between=unlabel),
    Reach("set-label-lost", [Step([A, B], ONE), Step([A], ONE)], missed={"ConfigMap/b": "no-member"},
          between=leave_set),
    Reach("kind-beside", [Step([A, HPA]), Step([A])], missed={"HorizontalPodAutoscaler/scaler": "kind"}),
    Reach("kind-of-old-version",
          [Step([A, HPA]), Step([A], Prune(PruneMode.ALLOWLIST, ("autoscaling/v1/HorizontalPodAutoscaler",)))],
          frozenset({"horizontalpodautoscaler.autoscaling/scaler"})),
    Reach("selector-of-sets", [Step([A, B]), Step([A], selector="app in (shop, web), app notin (x)")],
          frozenset({"configmap/b"})),
    Reach("set-takes-all", [Step([A, B], ONE), Step([A, B], TWO), Step([A], ONE)],
          missed={"ConfigMap/b": "no-member"}),
    Reach("set-of-two-drops", [Step([A], ONE), Step([B], TWO), Step([config("c")], ONE)], frozenset({"configmap/a"})),
    Reach("set-adopts", [Step([A, B]), Step([A, B], ONE), Step([A], ONE)], frozenset({"configmap/b"})),
    Reach("label-to-set", [Step([A, B]), Step([A], ONE)], missed={"ConfigMap/b": "no-member"}),
    Reach("set-to-label", [Step([A, B], ONE), Step([A])], frozenset({"configmap/b"})),
    Reach("wide", [Step([A, OTHER_B, CLUSTER_ROLE], WIDE), Step([A], WIDE)],
          frozenset({"configmap/b", "clusterrole/SPACE-reads"})),
    Reach("narrow-with-wide-member", [Step([A, CLUSTER_ROLE], ONE), Step([A], ONE)],
          frozenset({"clusterrole/SPACE-reads"})),
)  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_what_goes_is_what_kubectl_prunes_and_what_stays_is_named(control_plane, story):
    plane, product = control_plane, Product(control_plane)
    theirs, mine = f"theirs-reach-{story.name}", f"mine-reach-{story.name}"
    for space in (theirs, mine):
        for namespace in (space, f"{space}-2"):
            plane.kubectl("create", "namespace", namespace)
        if story.steps[0].prune is WIDE:
            make_parent(plane, space)

    stays: dict[str, str] = {}
    for step in story.steps:
        if step is story.steps[-1]:
            story.between(plane, theirs)
            story.between(plane, mine)
        printed = apply(plane, put(step, theirs), theirs, is_named=step.prune.mode is PruneMode.APPLYSET)
        plan = product.plan(write(step, mine), put(step, mine).choose_options(mine))
        if plan.changes.filter(has_effect=True).exists():
            product.run(plan)
        assert read_sides(plane, mine) == read_sides(plane, theirs), step
        expected = story.pruned if step is story.steps[-1] else frozenset()
        pruned = {name.replace(theirs, "SPACE") for name in read_pruned(printed)}
        planned = {(kind, name.replace(mine, "SPACE")) for kind, name in _list_plan(plan)}
        assert planned == _shorten(expected) == _shorten(frozenset(pruned)), printed
        named = list_staying(plan, for_user=product.alice)
        stays = {f"{one.ref.gvk.kind}/{one.ref.name}": one.why.value for one in named}
    assert stays == story.missed


def apply(plane: ControlPlane, step: Step, space: str, *, is_named: bool) -> str:
    """Return the output of kubectl; `-n` goes only with a namespaced parent, because kubectl refuses it otherwise."""
    named = ("-n", space) if is_named and step.prune.applyset.startswith("secrets/") else ()
    text = "---\n".join(write(step, space).values())
    words = ("apply", *named, "-f", "-", *step.list_flags())
    return run_kubectl(plane.binaries.kubectl, plane.kubeconfig, *words, stdin=text, has_applysets=True).stdout


def put(step: Step, space: str) -> Step:
    """Return the step with a separate parent for each side."""
    if "SPACE" not in step.prune.applyset:
        return step
    return Step(step.objects, Prune(PruneMode.APPLYSET, applyset=step.prune.applyset.replace("SPACE", space)))


def test_all_without_a_list_reaches_namespaces_as_kubectl_says(control_plane):
    plane, product = control_plane, Product(control_plane)
    plane.kubectl("create", "namespace", "reach-all")
    for name in ("reach-all-applied", "reach-all-more"):
        plane.kubectl("apply", "-f", "-", stdin=f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
    plane.kubectl("apply", "-f", "-", stdin=config("gone", space="reach-all"))
    step = Step([config("a")], BY_LABEL, "")

    tried = apply_with_kubectl(plane, step, "reach-all", "--dry-run=server", names_space=True)
    plan = product.plan(write(step, "reach-all"), step.choose_options("reach-all"))

    assert {"namespace/reach-all-applied", "namespace/reach-all-more", "configmap/gone"} <= read_pruned(tried)
    assert _list_plan(plan) == _shorten(read_pruned(tried))


@pytest.mark.parametrize("entry", ["ConfigMap", "core/v1/Nothing", "v1/ConfigMap", "core/v2/ConfigMap"])
def test_list_that_kubectl_refuses_is_refused(control_plane, entry):
    plane, product = control_plane, Product(control_plane)
    space = "reach-list-" + entry.lower().replace("/", "-")
    plane.kubectl("create", "namespace", space)
    step = Step([A], Prune(PruneMode.ALLOWLIST, (entry,)))
    with pytest.raises(AssertionError, match="error: ") as refused:
        apply_with_kubectl(plane, step, space)
    told = str(refused.value).partition("error: ")[2]
    with pytest.raises(AssertionError, match=re.escape(told)):
        product.plan(write(step, space), step.choose_options(space))
