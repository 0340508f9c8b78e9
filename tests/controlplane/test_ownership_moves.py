"""Ownership moves on a real API server, against what the real kubectl left behind: what was said is what then is.

Each step plans, approves and runs; values and owners of every field must be those that the plan stated, and a second
plan of the same files has nothing to do (`takeover.py`).
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from applyviz.clusters import connect
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.models import Plan
from applyviz.workflow.plans import changes, handovers, planner, revert
from tests.controlplane.product import Product
from tests.controlplane.takeover import Takeover, install

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
CLIENT_MANAGER = "kubectl-client-side-apply"
REPLICAS, PAUSED = ("f:spec", "f:replicas"), ("f:spec", "f:paused")
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 3
  minReadySeconds: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""
FILES = {"web.yaml": WEB}


def read(product: Product, namespace: str) -> dict[str, Any]:
    """The live Deployment with its owners."""
    command = ("get", "deployment", "web", "-n", namespace, "-o", "json", "--show-managed-fields")
    found: dict[str, Any] = json.loads(product.plane.kubectl(*command).stdout)
    return found


def owners_of(live: dict[str, Any]) -> set[tuple[str, str]]:
    """The managers of the object itself, with their operations."""
    entries = live["metadata"]["managedFields"]
    return {(e["manager"], e["operation"]) for e in entries if e.get("subresource") != "status"}


def patch(product: Product, namespace: str, manager: str, body: dict[str, Any]) -> None:
    """Another tool writes fields with kubectl."""
    command = ("patch", "deployment", "web", "-n", namespace, "--type=merge", f"--field-manager={manager}")
    product.plane.kubectl(*command, "-p", json.dumps(body))


def leave_five_managers(product: Product, namespace: str) -> None:
    """An object that was created, cleared, applied by somebody, applied client-side, edited, set, changed by helm."""
    plane = product.plane
    plane.kubectl("create", "namespace", namespace)
    install(plane, {"web.yaml": WEB.replace("  minReadySeconds: 5\n", "")}, namespace)
    clear = ("patch", "deployment", "web", "-n", namespace, "--type=merge", "-p", '{"metadata":{"managedFields":[{}]}}')
    plane.kubectl(*clear)
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"first": "1"}}}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"  # kubectl would migrate before-first-apply too
    with closing(connect.open_transport(product.cluster)) as transport:
        assert transport.send(Request("PATCH", path, {"fieldManager": "first"}, APPLY_PATCH, body)).is_ok
    install(plane, {"web.yaml": WEB.replace("nginx:1", "nginx:2")}, namespace)
    patch(product, namespace, "kubectl-edit", {"spec": {"replicas": 4, "progressDeadlineSeconds": 300}})
    plane.kubectl("set", "image", "deployment/web", "web=nginx:3", "-n", namespace)
    patch(product, namespace, "helm", {"metadata": {"labels": {"tier": "helm"}}})
    found = {name for name, _ in owners_of(read(product, namespace))}
    assert found >= {CLIENT_MANAGER, "kubectl-edit", "kubectl-set", "helm", "before-first-apply"}, found


def test_five_managers_give_up_their_fields_at_once(control_plane):
    product, namespace = Product(control_plane), "five-managers"
    leave_five_managers(product, namespace)
    names = ("kubectl-edit", "kubectl-set", "helm", "before-first-apply")

    step = Takeover(product).bring("five", FILES, ApplyOptions(namespace=namespace, takes_from=names))

    assert step.faults == []
    live = read(product, namespace)
    assert (live["spec"]["replicas"], live["metadata"]["labels"]["tier"]) == (3, "front")
    assert live["spec"]["progressDeadlineSeconds"] == 300  # by hand, and not in the manifest: it stays theirs
    owners = read_owners(live)
    for path in (REPLICAS, ("f:metadata", "f:labels", "f:tier"), ("f:spec", "f:minReadySeconds")):
        assert {(o.manager, o.operation) for o in owners.of(path)} == {("applyviz", "Apply")}
    assert {("kubectl-set", "Update"), ("helm", "Update"), (CLIENT_MANAGER, "Update")} & owners_of(live) == set()


@pytest.mark.long
def test_way_back_writes_last_applied_and_leaves_no_apply_entry_of_the_named(control_plane):
    product, namespace = Product(control_plane), "way-back"
    product.plane.kubectl("create", "namespace", namespace)
    product.apply(FILES, ApplyOptions(namespace=namespace))
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"paused": True}}
    for manager in ("other", "third"):
        apply = ("apply", "--server-side", f"--field-manager={manager}", "-n", namespace, "-f", "-")
        product.plane.kubectl(*apply, stdin=json.dumps(body))
    options = ApplyOptions(
        mode=ApplyMode.CLIENT, field_manager=CLIENT_MANAGER, namespace=namespace, takes_from=("applyviz", "other")
    )

    paused = {"web.yaml": WEB.replace("spec:\n  rep", "spec:\n  paused: true\n  rep")}

    step = Takeover(product).bring("back", paused, options)

    assert step.faults == []
    live = read(product, namespace)
    assert owners_of(live) == {(CLIENT_MANAGER, "Update"), ("third", "Apply")}
    assert "kubectl.kubernetes.io/last-applied-configuration" in live["metadata"]["annotations"]
    left = product.plane.kubectl("diff", "-n", namespace, "-f", "-", stdin=WEB, check=False)
    assert "paused" in left.stdout  # the next client-side apply removes what the manifest drops


@pytest.mark.long
@pytest.mark.parametrize(("mode", "manager"), [(ApplyMode.SERVER, "applyviz"), (ApplyMode.CLIENT, CLIENT_MANAGER)])
def test_hand_edits_are_taken_into_the_file(control_plane, mode, manager):
    product, namespace = Product(control_plane), f"taken-{mode}"
    product.plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, field_manager=manager, namespace=namespace)
    product.apply(FILES, options)
    patch(product, namespace, "kubectl-edit", {"spec": {"replicas": 5, "progressDeadlineSeconds": 300}})
    first = product.plan(FILES, options)
    change = changes.read_masked(first.changes.get())
    offered = [one.path for one in handovers.list_live_fields(first, change)]
    assert set(offered) == {REPLICAS, ("f:spec", "f:progressDeadlineSeconds")}
    asked = handovers.take_fields(first, change, offered, by=product.alice)
    planner.make_plan(asked.pk)
    made = Plan.objects.get(pk=asked.pk)
    (row,) = made.changes.all()
    text = changes.open_sealed(row).patch.text
    Takeover(product).run(made)

    live = read(product, namespace)
    assert (live["spec"]["replicas"], live["spec"]["progressDeadlineSeconds"]) == (5, 300)
    if mode is ApplyMode.SERVER:
        found = read_owners(live)
        assert {(o.manager, o.operation) for path in offered for o in found.of(path)} == {(manager, "Apply")}
    edited = {"web.yaml": apply_patch(WEB, text)}
    assert {row.operation for row in product.plan(edited, options).changes.all()} == {"unchanged"}


def apply_patch(text: str, patched: str) -> str:
    """Carry out a unified patch of one file."""
    lines, found = text.splitlines(keepends=True), []
    body, at = patched.splitlines(keepends=True)[2:], 0
    for line in body:
        if line.startswith("@@"):
            start = int(line.split()[1][1:].partition(",")[0]) - 1
            found += lines[at:start]
            at = start
        elif line.startswith("+"):
            found.append(line[1:])
        else:
            assert lines[at] == line[1:]
            found += [] if line.startswith("-") else [lines[at]]
            at += 1
    return "".join(found + lines[at:])


@pytest.mark.core(1)
@pytest.mark.parametrize("is_scaled", [False, True])
def test_handover_is_reverted_and_what_somebody_scaled_meanwhile_is_a_conflict(control_plane, is_scaled):
    product, namespace = Product(control_plane), f"reverted-{is_scaled}".lower()
    product.plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(namespace=namespace)
    product.apply(FILES, options)
    first = product.plan(FILES, options)
    asked = handovers.hand_over(
        first, changes.read_masked(first.changes.get()), [REPLICAS], manager="handover-to-hpa", by=product.alice
    )
    planner.make_plan(asked.pk)
    run = Takeover(product).run(Plan.objects.get(pk=asked.pk))
    if is_scaled:
        product.plane.kubectl("scale", "deployment", "web", "-n", namespace, "--replicas", "7")

    review = revert.prepare_revert(run, by=product.alice)()
    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()

    if is_scaled:
        assert [c.manager for c in changes.open_sealed(plan.changes.get()).conflicts] == ["kubectl"]
        return
    Takeover(product).run(plan)
    live = read(product, namespace)
    assert live["spec"]["replicas"] == 3
    assert {(o.manager, o.operation) for o in read_owners(live).of(REPLICAS)} == {("applyviz", "Apply")}
    assert "handover-to-hpa" not in {name for name, _ in owners_of(live)}


@pytest.mark.long
@pytest.mark.parametrize("manager", ["kubectl", "shop-team"])
def test_owners_after_an_upgrade_are_those_that_kubectl_leaves(control_plane, manager):
    """Fields of client-side kubectl move, those of helm stay; last-applied is in step for the manager kubectl."""
    product = Product(control_plane)
    found = {}
    for who in ("theirs", "mine"):
        namespace = f"{who}-upgraded-{manager}"
        product.plane.kubectl("create", "namespace", namespace)
        install(product.plane, FILES, namespace)
        patch(product, namespace, "helm", {"metadata": {"annotations": {"example.com/by": "helm"}}})
        changed = WEB.replace("nginx:1", "nginx:2")
        if who == "mine":
            options = ApplyOptions(field_manager=manager, namespace=namespace)
            assert Takeover(product).bring("upgrade", {"web.yaml": changed}, options).faults == []
        else:
            more = ("--force-conflicts", f"--field-manager={manager}", "-n", namespace, "-f", "-")
            product.plane.kubectl("apply", "--server-side", *more, stdin=changed)
        live = read(product, namespace)
        found[who] = {
            (entry.owner.manager, entry.owner.operation): {render_path(path) for path in entry.fields}
            for entry in read_owners(live).entries
        }
        record = live["metadata"].get("annotations", {}).get(LAST_APPLIED, "").replace(namespace, "NAMESPACE")
        found[who][("last-applied", "")] = {record}

    assert found["mine"] == found["theirs"]
    assert (("kubectl-last-applied", "Apply") in found["mine"]) is (manager == "kubectl")
