"""Deletions with real controllers: the page names and counts exactly the objects that are gone afterwards."""

from __future__ import annotations

import json
import time

import pytest
from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import (
    ApplyMode,
    ApplyOptions,
    Propagation,
    Prune,
    PruneMode,
    Replacement,
    SetAction,
)
from applyviz.engine.risks.sentences import describe_risk
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.plans import changes
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: hook, namespace: NAMESPACE}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: create, image: "hook:VALUE"}]
"""


def list_pods(plane, namespace: str) -> dict[str, str]:
    """The image and owner of each pod that is not being deleted."""
    found = json.loads(plane.kubectl("get", "pods", "-n", namespace, "-o", "json").stdout)["items"]
    there = [one for one in found if "deletionTimestamp" not in one["metadata"]]
    owned = {one["metadata"]["name"]: len(one["metadata"].get("ownerReferences", ())) for one in there}
    images = {one["metadata"]["name"]: one["spec"]["containers"][0]["image"] for one in there}
    return {name: f"{image} {owned[name]}" for name, image in images.items()}


def wait_for_pods(plane, namespace: str, wanted: list[str]) -> list[str]:
    until = time.monotonic() + 60
    while (found := sorted(list_pods(plane, namespace).values())) != wanted and time.monotonic() < until:
        time.sleep(0.5)
    return found


def say(plan, name: str) -> dict[str, list[str]]:
    """Return the sentences of an object's risks by risk kind."""
    told: dict[str, list[str]] = {}
    for row in plan.changes.filter(name=name):
        for risk in changes.read_masked(row).risks:
            told.setdefault(risk.kind.slug, []).append(describe_risk(risk))
    return told


@pytest.mark.parametrize("propagation", Propagation)
def test_pods_of_a_replaced_job_go_or_stay_as_with_kubectl(managed_plane, propagation):
    plane, word = managed_plane, propagation.value.lower()
    theirs, mine = f"theirs-pods-{word}", f"mine-pods-{word}"
    for namespace in (theirs, mine):
        plane.kubectl("create", "namespace", namespace)
        plane.kubectl("apply", "-f", "-", stdin=JOB.replace("NAMESPACE", namespace).replace("VALUE", "1"))
        assert wait_for_pods(plane, namespace, ["hook:1 1"] * 2) == ["hook:1 1"] * 2
    second = JOB.replace("VALUE", "2")
    force = ("replace", "--force", f"--cascade={word}", "-f", "-")
    plane.kubectl(*force, stdin=second.replace("NAMESPACE", theirs))
    options = ApplyOptions(
        mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply", namespace=mine, propagation=propagation,
        replacement=Replacement(kinds=("batch/Job",)),
    )  # fmt: skip
    product = Product(plane)

    plan = product.plan({"job.yaml": second.replace("NAMESPACE", mine)}, options)
    (told,) = say(plan, "hook")["dependents"]
    product.run(plan)

    old = ["hook:1 0"] * 2 if propagation is Propagation.ORPHAN else []
    rest = wait_for_pods(plane, theirs, [*old, *["hook:2 1"] * 2])
    assert wait_for_pods(plane, mine, rest) == rest == [*old, *["hook:2 1"] * 2]
    assert ("stay" in told, told.count("Pod hook-")) == (propagation is Propagation.ORPHAN, 2)


def test_held_replacement_ends_at_its_deadline_and_the_page_says_what_holds_it(managed_plane, client):
    plane, namespace = managed_plane, "mine-held-replacement"
    plane.kubectl("create", "namespace", namespace)
    held = JOB.replace("{name: hook", "{name: hook, finalizers: [example.com/hold]").replace("NAMESPACE", namespace)
    plane.kubectl("apply", "-f", "-", stdin=held.replace("VALUE", "1"))
    product = Product(plane)
    options = ApplyOptions(namespace=namespace, deletion_seconds=3, replacement=Replacement(kinds=("batch/Job",)))
    plan = product.plan({"job.yaml": held.replace("VALUE", "2")}, options)
    assert "example.com/hold" in say(plan, "hook")["finalizers"][0]
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)

    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(started.pk)

    run = ApplyRun.objects.get(pk=started.pk)
    (result,) = run.results.all()
    assert (run.state, result.outcome) == (RunState.FAILED, Outcome.UNKNOWN)
    assert "example.com/hold" in result.detail
    client.force_login(product.alice)
    page = client.get(reverse("runs:show-run", args=[run.number])).content.decode()
    assert "example.com/hold" in page
    plane.kubectl("patch", "job", "hook", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    plane.kubectl("wait", "--for=delete", "job/hook", "-n", namespace, "--timeout=60s")
    product.apply({"job.yaml": held.replace("VALUE", "2").replace(", finalizers: [example.com/hold]", "")}, options)


KIND = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.reach.example.org}
spec:
  group: reach.example.org
  names: {plural: crates, singular: crate, kind: Crate, listKind: CrateList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CRATE = "apiVersion: reach.example.org/v1\nkind: Crate\nmetadata: {name: NAME, namespace: SPACE}\n"


def test_namespace_and_definition_count_what_they_take_along(managed_plane):
    plane, product = managed_plane, Product(managed_plane)
    plane.kubectl("apply", "-f", "-", stdin=KIND)
    plane.kubectl("wait", "--for=condition=Established", "crd/crates.reach.example.org")
    spaces = "mine-taken-along", "mine-not-taken"
    for space in spaces:
        plane.kubectl("create", "namespace", space)
        for name in ("one", "two"):
            plane.kubectl("apply", "-f", "-", stdin=CRATE.replace("NAME", name).replace("SPACE", space))
    plane.kubectl("create", "secret", "generic", "login", "-n", spaces[0])
    plane.kubectl("apply", "-f", "-", stdin=JOB.replace("NAMESPACE", spaces[0]).replace("VALUE", "1"))
    wait_for_pods(plane, spaces[0], ["hook:1 1"] * 2)
    time.sleep(1)
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {spaces[0]}}}\n"
    options = ApplyOptions(action=SetAction.DELETE, deletion_seconds=60)

    plan = product.plan({"all.yaml": f"{text}---\n{KIND}"}, options)
    space, kind = (say(plan, name)["dependents"] for name in (spaces[0], "crates.reach.example.org"))
    for count in ("2 Crate", "2 Pod", "1 Job", "1 Secret", "1 ServiceAccount", "1 ConfigMap"):
        assert count in space[0]
    assert "currently 4 Crate" in kind[0]
    product.run(plan)

    assert plane.kubectl("get", "namespace", spaces[0], "--ignore-not-found").stdout == ""
    assert "crates" not in plane.kubectl("api-resources", "--api-group=reach.example.org", "-o", "name").stdout


def test_namespace_stays_until_the_finalizers_of_what_is_in_it_are_removed(managed_plane):
    plane, product, space = managed_plane, Product(managed_plane), "mine-held"
    plane.kubectl("create", "namespace", space)
    held = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {space}, finalizers: [example.com/hold]}}\n"
    )
    plane.kubectl("apply", "-f", "-", stdin=held)
    plane.kubectl("apply", "-f", "-", stdin=JOB.replace("NAMESPACE", space).replace("VALUE", "1"))
    wait_for_pods(plane, space, ["hook:1 1"] * 2)
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {space}}}\n"
    plan = product.plan({"all.yaml": text}, ApplyOptions(action=SetAction.DELETE, deletion_seconds=20))
    told = [one for one in say(plan, space)["finalizers"] if "goes with it" in one]
    assert told == [
        f"Namespace {space} stays until the finalizers of what goes with it are removed: "
        "example.com/hold (1 ConfigMap). Controllers have to remove them: if one is not running, the deletion never "
        "ends."
    ]
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)

    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(started.pk)

    assert ApplyRun.objects.get(pk=started.pk).results.get().outcome == Outcome.UNKNOWN
    left = plane.kubectl("get", "configmap,job,pod", "-n", space, "-o", "name").stdout.split()
    assert left == ["configmap/a"]
    plane.kubectl("patch", "configmap", "a", "-n", space, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    plane.kubectl("wait", "--for=delete", f"namespace/{space}", "--timeout=60s")


GUARDED = """apiVersion: v1
kind: Service
metadata: {name: served, namespace: SPACE, labels: {app: guarded}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: read, namespace: SPACE, labels: {app: guarded}}
data: {a: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: helmed, namespace: SPACE, labels: {app: guarded}, annotations: {meta.helm.sh/release-name: shop}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: argued
  namespace: SPACE
  labels: {app: guarded}
  annotations: {argocd.argoproj.io/tracking-id: "shop:/ConfigMap:x/y"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fluxed, namespace: SPACE, labels: {app: guarded, kustomize.toolkit.fluxcd.io/name: shop}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound, namespace: SPACE, labels: {app: guarded}}
spec: {storageClassName: "", volumeName: SPACE, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: SPACE-inner, labels: {app: guarded}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: SPACE, labels: {app: guarded}}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  hostPath: {path: /data}
  persistentVolumeReclaimPolicy: Retain
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: SPACE, labels: {app: guarded}}
"""
BESIDE = """apiVersion: v1
kind: Pod
metadata: {name: reader, namespace: SPACE}
spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: read}}]}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: served-1, namespace: SPACE, labels: {kubernetes.io/service-name: served}}
addressType: IPv4
ports: []
endpoints: [{addresses: [10.1.0.1], conditions: {ready: true}}]
"""


def test_every_guard_rail_stands_before_a_prune(managed_plane):
    plane, product, space = managed_plane, Product(managed_plane), "mine-guarded"
    plane.kubectl("create", "namespace", space)
    files = {"set/all.yaml": GUARDED.replace("SPACE", space), "beside/x.yaml": ""}
    options = ApplyOptions(
        mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply", namespace=space,
        selector="app=guarded", prune=Prune(PruneMode.ALLOWLIST),
    )  # fmt: skip
    product.apply(files, options)
    plane.kubectl("apply", "-f", "-", stdin=BESIDE.replace("SPACE", space))
    plane.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/bound", "-n", space, "--timeout=60s")
    kept = GUARDED.replace("SPACE", space).split("---\n")[-1]

    plan = product.plan({"set/all.yaml": kept}, options)

    assert dict(plan.changes.values_list("name", "operation")) == {
        "kept": Operation.UNCHANGED, **dict.fromkeys(
            ("served", "read", "helmed", "argued", "fluxed", "bound", f"{space}-inner", space), Operation.PRUNE)
    }  # fmt: skip
    names = ("served", "read", "helmed", "argued", "fluxed", "bound", space, "kept", f"{space}-inner")
    told = {name: say(plan, name) for name in names}
    assert "Helm release shop" in told["helmed"]["belongs-to-other"][0]
    assert "Argo CD application shop" in told["argued"]["belongs-to-other"][0]
    assert "Flux kustomization shop" in told["fluxed"]["belongs-to-other"][0]
    assert "ready endpoints (1)" in told["served"]["in-use"][0]
    assert "reclaim policy is Retain" in told["bound"]["in-use"][0]
    assert "Pod/reader refers to ConfigMap/read, which this plan deletes" in told["read"]["dangling-reference"][0]
    shares = [line for each in told.values() for line in each.get("prune-share", [])]
    assert len(shares) == 4, shares
