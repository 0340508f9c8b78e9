"""What the product prunes is what the real kubectl prunes from the same files with the same flags."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, PART_OF
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.applyset import Parent
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.engine.requests.prune import DEFAULT_ALLOWLIST
from applyviz.engine.schema.model import Resource
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.product import Product
from tests.controlplane.stories import Files

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
WATCHED = "configmaps,secrets,services,deployments.apps,roles.rbac.authorization.k8s.io"
PARENT_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "bundles.prune.example.com",
        "labels": {"applyset.kubernetes.io/is-parent-type": "true"},
    },
    "spec": {
        "group": "prune.example.com",
        "names": {"plural": "bundles", "singular": "bundle", "kind": "Bundle", "listKind": "BundleList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def _object(kind: str, name: str, app: str = "shop") -> str:
    more = {
        "ConfigMap": "data: {a: '1'}",
        "Secret": "stringData: {a: '1'}",
        "Service": "spec: {ports: [{port: 80}], selector: {app: shop}}",
        "Role": "rules: []",
        "Deployment": (
            "spec: {selector: {matchLabels: {app: shop}}, template: {metadata: {labels: {app: shop}}, "
            "spec: {containers: [{name: web, image: 'nginx:1'}]}}}"
        ),
    }[kind]
    version = {"Role": "rbac.authorization.k8s.io/v1", "Deployment": "apps/v1"}.get(kind, "v1")
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, labels: {{app: {app}}}}}\n{more}\n"


FIRST: Files = {
    "a.yaml": _object("ConfigMap", "kept"),
    "b.yaml": _object("ConfigMap", "dropped"),
    "c.yaml": _object("Secret", "dropped"),
    "d.yaml": _object("Service", "dropped"),
    "e.yaml": _object("Deployment", "dropped"),
    "f.yaml": _object("Role", "dropped"),
    "g.yaml": _object("ConfigMap", "other", app="other"),
}
SECOND: Files = {"a.yaml": _object("ConfigMap", "kept"), "n.yaml": _object("ConfigMap", "new")}


@dataclass(frozen=True)
class Way:
    """One way to prune: kubectl's flags, and the product's options."""

    flags: tuple[str, ...]
    options: ApplyOptions

    def in_namespace(self, name: str) -> ApplyOptions:
        """The options for one namespace."""
        return replace(self.options, namespace=name)


CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager=CLIENT_SIDE_MANAGER)
BY_SELECTOR = Way(("--prune", "-l", "app=shop"), replace(CLIENT, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST)))
OF_TWO_KINDS = Way(
    ("--prune", "--all", "--prune-allowlist=core/v1/ConfigMap", "--prune-allowlist=apps/v1/Deployment"),
    replace(CLIENT, prune=Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap", "apps/v1/Deployment"), is_all=True)),
)
OF_A_ROLE = Way(
    ("--prune", "-l", "app in (shop, other)", "--prune-allowlist=rbac.authorization.k8s.io/v1/Role"),
    replace(
        CLIENT,
        selector="app in (shop, other)",
        prune=Prune(PruneMode.ALLOWLIST, ("rbac.authorization.k8s.io/v1/Role",)),
    ),
)

# kubectl has no deny list: it prunes the same where its allowlist lacks the kind.
WITHOUT_SECRETS = Way(
    (
        "--prune",
        "-l",
        "app=shop",
        *(f"--prune-allowlist={kind}" for kind in DEFAULT_ALLOWLIST if kind != "core/v1/Secret"),
    ),
    replace(CLIENT, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST, excepted=("core/Secret",))),
)


def kubectl_apply(plane: ControlPlane, files: Files, namespace: str, flags: Sequence[str]) -> str:
    """`kubectl apply` of a folder, with ApplySets allowed; return what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        words = ("apply", "-n", namespace, "-f", folder, *flags)
        return run_kubectl(plane.binaries.kubectl, plane.kubeconfig, *words, has_applysets=True).stdout


def list_names(plane: ControlPlane, namespace: str) -> set[str]:
    """Kind and name of everything in a namespace, with the certificate that the cluster puts there left out."""
    printed = plane.kubectl("get", WATCHED, "-n", namespace, "-o", "name").stdout.split()
    return {name for name in printed if not name.endswith("/kube-root-ca.crt")}


def read_parent(plane: ControlPlane, kind: str, namespace: str) -> tuple[dict[str, str], int, set[str]]:
    """The annotations of the parent of a set, the number of its members, and the managers of its fields."""
    parent = json.loads(
        plane.kubectl("get", f"{kind}/parent", "-n", namespace, "-o", "json", "--show-managed-fields").stdout
    )
    labels = parent["metadata"]["labels"]
    identity = labels["applyset.kubernetes.io/id"]
    members = plane.kubectl("get", WATCHED, "-n", namespace, "-l", f"{PART_OF}={identity}", "-o", "name").stdout.split()
    managers = {entry["manager"] for entry in parent["metadata"]["managedFields"]}
    return parent["metadata"]["annotations"], len(members), managers


def list_deletions(plan) -> set[tuple[str, str]]:
    """Kind and name of each object that a plan deletes."""
    return set(plan.changes.filter(operation="prune").values_list("kind", "name"))


@pytest.fixture
def product(control_plane) -> Product:
    return Product(control_plane)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    "way", [BY_SELECTOR, OF_TWO_KINDS, OF_A_ROLE, WITHOUT_SECRETS], ids=["selector", "two-kinds", "role", "except"]
)
def test_product_prunes_by_allowlist_what_kubectl_prunes(product, way, request):
    plane, told = product.plane, request.node.callspec.id
    theirs, ours = f"kubectl-prune-{told}", f"product-prune-{told}"
    for namespace in (theirs, ours):
        plane.kubectl("create", "namespace", namespace)
        kubectl_apply(plane, FIRST, namespace, ())
        plane.kubectl("create", "configmap", "by-hand", "-n", namespace)
        plane.kubectl("label", "configmap", "by-hand", "-n", namespace, "app=shop")
    before = list_names(plane, ours)

    plan = product.plan(SECOND, way.in_namespace(ours))
    kubectl_apply(plane, SECOND, theirs, way.flags)
    product.apply(SECOND, way.in_namespace(ours))

    assert list_names(plane, ours) == list_names(plane, theirs) != before
    gone = {(name.partition(".")[0].partition("/")[0], name.rpartition("/")[2]) for name in before} - {
        (name.partition(".")[0].partition("/")[0], name.rpartition("/")[2]) for name in list_names(plane, theirs)
    }
    assert {(kind.lower(), name) for kind, name in list_deletions(plan)} == gone


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("kind", ["secret", "configmap", "bundles.prune.example.com"])
def test_product_keeps_an_applyset_as_kubectl_does(product, kind, mode, request):
    plane, told = product.plane, f"{kind.partition('.')[0]}-{mode}"
    theirs, ours = f"kubectl-set-{told}", f"product-set-{told}"
    parent = f"{'secrets' if kind == 'secret' else 'configmaps' if kind == 'configmap' else kind}/parent"
    options = ApplyOptions(mode=mode, namespace=ours, prune=Prune(PruneMode.APPLYSET, applyset=parent))
    flags = ["--prune", f"--applyset={parent}", *(["--server-side"] if mode is ApplyMode.SERVER else [])]
    if kind not in ("secret", "configmap"):
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(PARENT_KIND))
        plane.kubectl("wait", "--for=condition=Established", "crd/bundles.prune.example.com")
    for namespace in (theirs, ours):
        plane.kubectl("create", "namespace", namespace)
        if kind not in ("secret", "configmap"):
            make_custom_parent(plane, namespace)

    kubectl_apply(plane, FIRST, theirs, flags)
    product.apply(FIRST, options)
    first = read_parent(plane, kind, theirs), read_parent(plane, kind, ours)
    plan = product.plan(SECOND, options)
    product.apply(SECOND, options)
    kubectl_apply(plane, SECOND, theirs, flags)

    assert first[0] == first[1]
    assert read_parent(plane, kind, ours) == read_parent(plane, kind, theirs)
    assert list_names(plane, ours) == list_names(plane, theirs)
    assert len(list_deletions(plan)) == 6
    again = product.plan(SECOND, options)
    assert set(again.changes.values_list("operation", flat=True)) == {"unchanged"}


@pytest.mark.core(1)
def test_member_of_an_excepted_kind_stays_and_kubectl_still_prunes_it(product):
    plane, ours = product.plane, "product-set-except"
    prune = Prune(PruneMode.APPLYSET, applyset="secrets/parent", excepted=("core/Service",))
    options = ApplyOptions(mode=ApplyMode.SERVER, namespace=ours, prune=prune)
    flags = ["--prune", "--applyset=secrets/parent", "--server-side", "--force-conflicts"]
    plane.kubectl("create", "namespace", ours)
    product.apply(FIRST, options)

    plan = product.plan(SECOND, options)
    product.apply(SECOND, options)

    assert ("Service", "dropped") not in list_deletions(plan)
    assert len(list_deletions(plan)) == 5
    assert "service/dropped" in list_names(plane, ours)
    kinds = read_parent(plane, "secret", ours)[0]["applyset.kubernetes.io/contains-group-kinds"]
    assert kinds == "ConfigMap,Service"
    kubectl_apply(plane, SECOND, ours, flags)
    assert "service/dropped" not in list_names(plane, ours)


def make_custom_parent(plane: ControlPlane, namespace: str) -> None:
    """A custom parent must exist beforehand, with its id and the tool that keeps it."""
    resource = Resource(GroupVersionKind("prune.example.com", "v1", "Bundle"), "bundles", is_namespaced=True)
    found = Parent(resource, namespace, "parent")
    body = {
        "apiVersion": "prune.example.com/v1",
        "kind": "Bundle",
        "metadata": {
            "name": "parent",
            "namespace": namespace,
            "labels": {"applyset.kubernetes.io/id": found.id},
            "annotations": {
                "applyset.kubernetes.io/tooling": "kubectl/v1.36.3",
                "applyset.kubernetes.io/contains-group-kinds": "",
                "applyset.kubernetes.io/additional-namespaces": "",
            },
        },
    }
    plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
