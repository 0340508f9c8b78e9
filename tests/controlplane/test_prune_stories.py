"""Stories of sets whose objects come and go: each step pruned by the real kubectl, and beside it by the product."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.product import Product
from tests.controlplane.stories import Files
from tests.controlplane.test_pruning import WATCHED, list_deletions

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
BY_LABEL = Prune(PruneMode.ALLOWLIST)
ONE, TWO = (Prune(PruneMode.APPLYSET, applyset=f"secrets/{name}") for name in ("one", "two"))
_PRUNED = re.compile(r"^(\S+) pruned(?: \(server dry run\))?$", re.MULTILINE)


def config(name: str, app: str = "shop", space: str = "SPACE", more: str = "") -> str:
    """A ConfigMap with a label; `SPACE` and `OTHER` stand for the namespaces of a side."""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {space}, "
        f"labels: {{app: {app}}}{more}}}\ndata: {{a: '1'}}\n"
    )


ROLE = (
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"
    "metadata: {name: reads, namespace: SPACE, labels: {app: shop}}\nrules: []\n"
)


@dataclass(frozen=True)
class Step:
    """One apply: its objects, and how it prunes; a selector selects what it applies too."""

    objects: Sequence[str]
    prune: Prune = BY_LABEL
    selector: str = "app=shop"

    def list_flags(self) -> tuple[str, ...]:
        """kubectl's flags for the step."""
        if self.prune.mode is PruneMode.APPLYSET:
            return ("--prune", f"--applyset={self.prune.applyset}")
        kinds = (f"--prune-allowlist={kind}" for kind in self.prune.allowlist)
        return ("--prune", *kinds, *(("-l", self.selector) if self.selector else ("--all",)))

    def choose_options(self, namespace: str) -> ApplyOptions:
        """The product's options for the step."""
        selector = self.selector if self.prune.mode is PruneMode.ALLOWLIST else ""
        prune = replace(self.prune, is_all=not selector and self.prune.mode is PruneMode.ALLOWLIST)
        return ApplyOptions(
            mode=ApplyMode.CLIENT,
            field_manager=CLIENT_SIDE_MANAGER,
            namespace=namespace,
            selector=selector,
            prune=prune,
        )


def _leave_alone(_plane: ControlPlane, _space: str) -> None:
    pass


@dataclass(frozen=True)
class PruneStory:
    """Steps, what happens before the last of them, and what the last one prunes, as `kind/name`."""

    name: str
    steps: Sequence[Step]
    pruned: frozenset[str] = frozenset()
    between: Callable[[ControlPlane, str], None] = field(default=_leave_alone)


def make_by_hand(plane: ControlPlane, space: str) -> None:
    """Create an object by hand, with the label of the set."""
    plane.kubectl("create", "configmap", "by-hand", "-n", space)
    plane.kubectl("label", "configmap", "by-hand", "-n", space, "app=shop")


def forget_annotation(plane: ControlPlane, space: str) -> None:
    """A member of the set loses last-applied, as after `kubectl replace`."""
    plane.kubectl("annotate", "configmap", "b", "-n", space, "kubectl.kubernetes.io/last-applied-configuration-")


def give_to_helm(plane: ControlPlane, space: str) -> None:
    """A member of the set is adopted by a Helm release."""
    plane.kubectl("annotate", "configmap", "b", "-n", space, "meta.helm.sh/release-name=web")


A, B, OF_OTHER = config("a"), config("b"), config("b", app="other")
STORIES = (
    PruneStory("create", [Step([A, B])], between=make_by_hand),
    PruneStory("drop", [Step([A, B]), Step([A])], frozenset({"configmap/b"})),
    PruneStory("rename", [Step([A, B]), Step([A, config("c")])], frozenset({"configmap/b"})),
    PruneStory("move-all", [Step([A]), Step([config("a", space="OTHER")])]),
    PruneStory("move-one", [Step([A, B]), Step([A, config("b", space="OTHER")])], frozenset({"configmap/b"})),
    PruneStory(
        "two-labels",
        [Step([A, B]), Step([config("c", app="other")], selector="app=other"), Step([A])],
        frozenset({"configmap/b"}),
    ),
    PruneStory("changed-selector", [Step([A, B]), Step([config("c", app="web")], selector="app=web")]),
    PruneStory("changed-label", [Step([A, B]), Step([A, OF_OTHER])], frozenset({"configmap/b"})),
    PruneStory("missing-annotation", [Step([A, B]), Step([A])], between=forget_annotation),
    PruneStory("another-owner", [Step([A, B]), Step([A])], frozenset({"configmap/b"}), between=give_to_helm),
    PruneStory("kind-not-listed", [Step([A, B, ROLE]), Step([A])], frozenset({"configmap/b"})),
    PruneStory(
        "all-of-one-kind",
        [Step([A, B, ROLE]), Step([A], Prune(PruneMode.ALLOWLIST, ("rbac.authorization.k8s.io/v1/Role",)), "")],
        frozenset({"role.rbac.authorization.k8s.io/reads"}),
    ),
    PruneStory("set-drop", [Step([A, B, ROLE], ONE), Step([A], ONE)], frozenset({"configmap/b", "role/reads"})),
    PruneStory("set-rename", [Step([A, B], ONE), Step([A, config("c")], ONE)], frozenset({"configmap/b"})),
    PruneStory("set-two", [Step([A, B], ONE), Step([B], TWO), Step([A], ONE)]),
    PruneStory("set-changed-parent", [Step([A, B], ONE), Step([A], TWO)]),
)


def write(step: Step, space: str) -> Files:
    """The objects of a step as files, for one side."""
    texts = (text.replace("SPACE", space).replace("OTHER", f"{space}-2") for text in step.objects)
    return {f"{number}.yaml": text for number, text in enumerate(texts)}


def apply_with_kubectl(plane: ControlPlane, step: Step, space: str, *more: str, names_space: bool = False) -> str:
    """Return the output of kubectl; `-n` is given only to sets with a parent, because kubectl then refuses others."""
    text = "---\n".join(write(step, space).values())
    named = ("-n", space) if names_space or step.prune.mode is PruneMode.APPLYSET else ()
    words = ("apply", *named, "-f", "-", *step.list_flags(), *more)
    return run_kubectl(plane.binaries.kubectl, plane.kubeconfig, *words, stdin=text, has_applysets=True).stdout


def read_sides(plane: ControlPlane, space: str) -> Mapping[str, frozenset[str]]:
    """Return the objects in both namespaces of a side, by the word for the namespace."""
    found: dict[str, frozenset[str]] = {}
    for word, namespace in (("SPACE", space), ("OTHER", f"{space}-2")):
        printed = plane.kubectl("get", WATCHED, "-n", namespace, "-o", "name").stdout.split()
        found[word] = frozenset(name for name in printed if not name.endswith("/kube-root-ca.crt"))
    return found


def read_pruned(printed: str) -> frozenset[str]:
    """The objects that kubectl says it pruned."""
    return frozenset(_PRUNED.findall(printed))


def _list_plan(plan: object) -> frozenset[tuple[str, str]]:
    return frozenset((kind.lower(), name) for kind, name in list_deletions(plan))


def _shorten(names: frozenset[str]) -> frozenset[tuple[str, str]]:
    return frozenset((name.partition("/")[0].partition(".")[0], name.partition("/")[2]) for name in names)


@pytest.mark.core(1)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_plan_and_run_prune_what_kubectl_prunes(control_plane, story):
    plane, product = control_plane, Product(control_plane)
    theirs, mine = f"theirs-{story.name}", f"mine-{story.name}"
    for space in (theirs, mine):
        for namespace in (space, f"{space}-2"):
            plane.kubectl("create", "namespace", namespace)

    for step in story.steps:
        if step is story.steps[-1]:
            story.between(plane, theirs)
            story.between(plane, mine)
        tried = read_pruned(apply_with_kubectl(plane, step, theirs, "--dry-run=server"))
        printed = apply_with_kubectl(plane, step, theirs)
        plan = product.plan(write(step, mine), step.choose_options(mine))
        if plan.changes.filter(has_effect=True).exists():
            product.run(plan)
        assert read_sides(plane, mine) == read_sides(plane, theirs), step
        expected = story.pruned if step is story.steps[-1] else frozenset()
        assert _list_plan(plan) == _shorten(expected) == _shorten(read_pruned(printed)) == _shorten(tried), printed


_SPACE_OF_SET = """apiVersion: v1
kind: Namespace
metadata: {name: NAME, labels: {app: LABEL}}
"""


def apply_namespace(plane: ControlPlane, name: str, label: str) -> None:
    """Apply a namespace with a label."""
    plane.kubectl("apply", "-f", "-", stdin=_SPACE_OF_SET.replace("NAME", name).replace("LABEL", label))


@pytest.mark.long
def test_namespaces_are_pruned_although_one_namespace_is_named(managed_plane):
    """#108161, #110905: `-n` limits nothing of a cluster-scoped kind, and the plan says so before."""
    plane, product = managed_plane, Product(managed_plane)
    for side in ("theirs", "mine"):
        plane.kubectl("create", "namespace", f"{side}-scope")
        apply_namespace(plane, f"{side}-scope-gone", f"{side}-scope")
    theirs, mine = (
        Step([config("a", app=f"{side}-scope")], selector=f"app={side}-scope") for side in ("theirs", "mine")
    )

    printed = apply_with_kubectl(plane, theirs, "theirs-scope", names_space=True)
    plan = product.plan(write(mine, "mine-scope"), mine.choose_options("mine-scope"))

    assert read_pruned(printed) == {"namespace/theirs-scope-gone"}
    assert list_deletions(plan) == {("Namespace", "mine-scope-gone")}
    product.run(plan)
    assert plane.kubectl("get", "namespace", "mine-scope-gone", "--ignore-not-found").stdout == ""


def test_namespace_that_may_not_be_deleted_is_known_before(control_plane):
    """#66430: kubectl prunes until the server refuses one object; a plan shows the refusal before anything is sent."""
    plane, product = control_plane, Product(control_plane)
    plane.kubectl("create", "namespace", "mine-system")
    plane.kubectl("create", "namespace", "theirs-system")
    label = "of-system"
    mark = json.dumps({"metadata": {
        "labels": {"app": label}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    }})  # fmt: skip
    clean = mark.replace(f'"{label}"', "null").replace('"{}"', "null")
    step = Step([config("a", app=label)], selector=f"app={label}")
    plane.kubectl("patch", "namespace", "kube-system", "--type=merge", "-p", mark)
    try:
        for side in ("theirs-system", "mine-system"):
            objects = "---\n".join(write(Step([*step.objects, config("b", app=label)]), side).values())
            plane.kubectl("apply", "-f", "-", stdin=objects)
        with pytest.raises(AssertionError, match="may not be deleted"):
            apply_with_kubectl(plane, step, "theirs-system")
        plan = product.plan(write(step, "mine-system"), step.choose_options("mine-system"))
        rows = {(row.kind, row.name): (row.operation, row.error) for row in plan.changes.all()}
    finally:
        plane.kubectl("patch", "namespace", "kube-system", "--type=merge", "-p", clean)

    assert rows["Namespace", "kube-system"][0] == "error"
    assert "may not be deleted" in rows["Namespace", "kube-system"][1]
