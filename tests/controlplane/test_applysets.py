"""ApplySets in the cases between two tools, two sets and two versions: the product does what the real kubectl does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, PART_OF
from applyviz.engine.requests.applyset import KINDS, RESOURCES, TOOLING
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER
from applyviz.records.models import Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.plans import changes, planner, reviews
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.test_pruning import PARENT_KIND, kubectl_apply, list_names

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
ID = "applyset.kubernetes.io/id"


def config(*names: str, value: str = "1") -> Files:
    """ConfigMaps, one a file."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: 'VALUE'}\n"
    return {f"{name}.yaml": text.replace("NAME", name).replace("VALUE", value) for name in names}


def choose(mode: ApplyMode, namespace: str, parent: str = "secrets/one") -> ApplyOptions:
    """The options of a set; client-side, the product writes as kubectl does."""
    manager = CLIENT_SIDE_MANAGER if mode is ApplyMode.CLIENT else "applyviz"
    prune = Prune(PruneMode.APPLYSET, applyset=parent)
    return ApplyOptions(mode=mode, field_manager=manager, namespace=namespace, prune=prune)


def list_flags(mode: ApplyMode, parent: str = "secrets/one") -> tuple[str, ...]:
    """kubectl's flags for the same."""
    server_side = ("--server-side",) if mode is ApplyMode.SERVER else ()
    return ("--prune", f"--applyset={parent}", *server_side)


def list_members(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """Each ConfigMap with the name of the set that it belongs to."""

    def read(kind: str) -> list[dict[str, Any]]:
        found = json.loads(plane.kubectl("get", kind, "-n", namespace, "-o", "json").stdout)["items"]
        return [one["metadata"] for one in found if one["metadata"]["name"] != "kube-root-ca.crt"]

    sets = {one.get("labels", {}).get(ID, ""): one["name"] for one in read("secrets")}
    return {one["name"]: sets.get(one.get("labels", {}).get(PART_OF, "none"), "") for one in read("configmaps")}


def make_namespaces(plane: ControlPlane, word: str) -> tuple[str, str]:
    """A namespace for kubectl, and one for the product."""
    names = f"theirs-{word}", f"mine-{word}"
    for name in names:
        plane.kubectl("create", "namespace", name)
    return names


@pytest.mark.parametrize("mode", ApplyMode)
def test_objects_that_exist_are_adopted_and_nothing_is_deleted(control_plane, mode):
    product = Product(control_plane)
    theirs, mine = make_namespaces(control_plane, f"adopted-{mode.value}")
    for namespace in (theirs, mine):
        kubectl_apply(control_plane, config("a", "b", "beside"), namespace, ())

    kubectl_apply(control_plane, config("a", "b"), theirs, list_flags(mode))
    product.apply(config("a", "b"), choose(mode, mine))

    assert (
        list_members(control_plane, mine)
        == list_members(control_plane, theirs)
        == {"a": "one", "b": "one", "beside": ""}
    )


@pytest.mark.parametrize("mode", ApplyMode)
def test_object_of_two_sets_belongs_to_the_one_that_applied_it_last(control_plane, mode):
    product = Product(control_plane)
    theirs, mine = make_namespaces(control_plane, f"two-{mode.value}")
    steps = (
        ("secrets/one", config("a", "both")),
        ("secrets/two", config("b", "both", value="2")),
        ("secrets/one", config("a", value="3")),  # the other set keeps what it took
        ("secrets/one", config("a", "both", value="4")),
        ("secrets/two", config("b", value="5")),
    )
    for number, (parent, files) in enumerate(steps):
        kubectl_apply(control_plane, files, theirs, list_flags(mode, parent))
        plan = product.plan(files, choose(mode, mine, parent))
        product.run(plan)

        found = list_members(control_plane, mine)
        assert found == list_members(control_plane, theirs), number
        assert "both" in found
        risks = {(row.name, risk.kind) for row in plan.changes.all() for risk in changes.read_masked(row).risks}
        assert (("both", BELONGS_TO_OTHER) in risks) is (number in (1, 3)), number


@dataclass(frozen=True)
class Case:
    """A parent that neither may use, by what is wrong with it, and what the product says."""

    name: str
    annotations: Mapping[str, str | None]
    says: str
    labels: Mapping[str, str | None] | None = None


CASES = (
    Case("tooling", {TOOLING: "helm/v3"}, 'is managed by tooling "helm"'),
    Case("no tooling", {TOOLING: None}, "is missing annotation"),
    Case("another id", {}, "has no label", {ID: "applyset-other-v1"}),
    Case("no kinds", {KINDS: None}, "to be set on all ApplySet parent objects"),
    Case("unknown kind", {KINDS: "ConfigMap,Widget.nowhere.example.com"}, "could not find mapping"),
)


def spoil(plane: ControlPlane, case: Case, namespace: str) -> None:
    """Change the parent of a set."""
    metadata = {"annotations": case.annotations, **({"labels": case.labels} if case.labels else {})}
    patch = json.dumps({"metadata": metadata})
    plane.kubectl("patch", "secret", "one", "-n", namespace, "--type=merge", "-p", patch)


def plan_with_problems(product: Product, files: Files, options: ApplyOptions) -> Plan:
    """A plan that may have problems."""
    bundle = SourceBundle(tuple(BundledFile(name, text.encode()) for name, text in files.items()))
    review = reviews.create_review(
        by=product.alice,
        title="Set",
        reason="",
        ticket="",
        cluster=product.cluster,
        options=options,
        bundle=bundle,
    )
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def refuse_by_kubectl(plane: ControlPlane, text: str, namespace: str, flags: tuple[str, ...]) -> str:
    """What kubectl says when it refuses the set."""
    words = ("apply", "-n", namespace, "-f", "-", *flags)
    done = run_kubectl(plane.binaries.kubectl, plane.kubeconfig, *words, stdin=text, check=False, has_applysets=True)
    assert done.returncode != 0, done.stdout
    return done.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parent_that_kubectl_refuses_is_refused_and_nothing_is_planned(control_plane, case):
    product, mode = Product(control_plane), ApplyMode.SERVER
    theirs, mine = make_namespaces(control_plane, f"spoiled-{case.name.replace(' ', '-')}")
    kubectl_apply(control_plane, config("a", "b"), theirs, list_flags(mode))
    product.apply(config("a", "b"), choose(mode, mine))
    for namespace in (theirs, mine):
        spoil(control_plane, case, namespace)

    said = refuse_by_kubectl(control_plane, config("a")["a.yaml"], theirs, list_flags(mode))
    plan = plan_with_problems(product, config("a"), choose(mode, mine))

    reasons = " ".join(problem["reason"] for problem in plan.problems)
    assert case.says in reasons, (reasons, said)
    assert not plan.changes.exists()
    assert set(list_names(control_plane, mine)) == set(list_names(control_plane, theirs))


def test_kinds_of_the_older_annotation_are_read_as_kubectl_reads_them(control_plane):
    product, mode = Product(control_plane), ApplyMode.CLIENT
    theirs, mine = make_namespaces(control_plane, "legacy")
    kubectl_apply(control_plane, config("a", "b"), theirs, list_flags(mode))
    product.apply(config("a", "b"), choose(mode, mine))
    for namespace in (theirs, mine):
        spoil(control_plane, Case("", {KINDS: None, RESOURCES: "configmaps"}, ""), namespace)

    kubectl_apply(control_plane, config("a"), theirs, list_flags(mode))
    product.apply(config("a"), choose(mode, mine))

    assert list_members(control_plane, mine) == list_members(control_plane, theirs) == {"a": "one"}


def write_kind(name: str, *, is_parent: bool) -> str:
    """A custom kind, with or without the label that allows it to be a parent."""
    spec = json.loads(json.dumps(PARENT_KIND["spec"]).replace("bundle", name).replace("Bundle", name.title()))
    labels = {"applyset.kubernetes.io/is-parent-type": "true"} if is_parent else {}
    metadata = {"name": f"{name}s.prune.example.com", "labels": labels}
    return json.dumps({**PARENT_KIND, "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("name", "is_parent", "says"),
    [("crate", False, "is not permitted as an ApplySet parent"), ("shelf", True, "cannot be created automatically")],
    ids=["kind without the label", "parent that does not exist"],
)
def test_custom_parent_that_kubectl_refuses_is_refused(control_plane, name, is_parent, says):
    product, parent = Product(control_plane), f"{name}s.prune.example.com/one"
    theirs, mine = make_namespaces(control_plane, f"custom-{name}")
    control_plane.kubectl("apply", "-f", "-", stdin=write_kind(name, is_parent=is_parent))
    control_plane.kubectl("wait", "--for=condition=Established", f"crd/{name}s.prune.example.com")

    said = refuse_by_kubectl(control_plane, config("a")["a.yaml"], theirs, list_flags(ApplyMode.SERVER, parent))
    plan = plan_with_problems(product, config("a"), choose(ApplyMode.SERVER, mine, parent))

    reasons = " ".join(problem["reason"] for problem in plan.problems)
    assert says in reasons, (reasons, said)
    assert not plan.changes.exists()


def test_manifest_that_names_a_set_is_refused(control_plane):
    product = Product(control_plane)
    theirs, mine = make_namespaces(control_plane, "named")
    text = config("a")["a.yaml"].replace("{name: a}", f"{{name: a, labels: {{{PART_OF}: applyset-x-v1}}}}")

    said = refuse_by_kubectl(control_plane, text, theirs, list_flags(ApplyMode.SERVER))
    plan = plan_with_problems(product, {"a.yaml": text}, choose(ApplyMode.SERVER, mine))

    assert "already set in input data" in said
    assert "already set in input data" in " ".join(problem["reason"] for problem in plan.problems)
