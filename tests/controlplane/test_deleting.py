"""Objects deleted through a review on a real API server: what is left is what `kubectl delete -f` leaves."""

from __future__ import annotations

import json
import time

import pytest

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, SetAction
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
SECONDS = 60


def config(namespace: str, name: str, more: str = "") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}{more}}}\ndata: {{x: '1'}}\n"
    )


def fill(plane, namespace: str) -> str:
    """Create an owner with a dependent and an object that stays; return the manifests to delete, one of them absent."""
    plane.kubectl("create", "namespace", namespace)
    owner = config(namespace, "owner")
    plane.kubectl(
        "apply", "-f", "-", stdin=f"{owner}---\n{config(namespace, 'plain')}---\n{config(namespace, 'stays')}"
    )
    uid = plane.kubectl("get", "configmap", "owner", "-n", namespace, "-o", "jsonpath={.metadata.uid}").stdout
    reference = f"{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, blockOwnerDeletion: true}}"
    plane.kubectl("apply", "-f", "-", stdin=config(namespace, "dependent", f", ownerReferences: [{reference}]"))
    return f"{owner}---\n{config(namespace, 'plain')}---\n{config(namespace, 'absent')}"


def read_rest(plane, namespace: str) -> dict[str, int]:
    """The ConfigMaps that are left, with the number of their owners."""
    found = json.loads(plane.kubectl("get", "configmaps", "-n", namespace, "-o", "json").stdout)["items"]
    named = {one["metadata"]["name"]: len(one["metadata"].get("ownerReferences", ())) for one in found}
    return {name: count for name, count in named.items() if name != "kube-root-ca.crt"}


def wait_for(plane, namespace: str, names: set[str]) -> dict[str, int]:
    """Return the remaining objects, once the garbage collector is done."""
    until = time.monotonic() + SECONDS
    while set(found := read_rest(plane, namespace)) != names and time.monotonic() < until:
        time.sleep(0.5)
    return found


@pytest.mark.core(1)
@pytest.mark.parametrize("propagation", Propagation)
def test_rest_is_what_kubectl_leaves(managed_plane, propagation):
    plane, word = managed_plane, propagation.value.lower()
    theirs, mine = f"theirs-delete-{word}", f"mine-delete-{word}"
    plane.kubectl(
        "delete", "--ignore-not-found", f"--cascade={word}", f"--timeout={SECONDS}s", "-f", "-",
        stdin=fill(plane, theirs),
    )  # fmt: skip
    text = fill(plane, mine)
    options = ApplyOptions(namespace=mine, action=SetAction.DELETE, propagation=propagation, deletion_seconds=SECONDS)

    run = Product(plane).apply({"all.yaml": text}, options)

    rows = dict(run.plan.changes.values_list("name", "operation"))
    assert rows == {"owner": Operation.DELETE, "plain": Operation.DELETE, "absent": Operation.NOT_FOUND}
    names = {"dependent", "stays"} if propagation is Propagation.ORPHAN else {"stays"}
    assert wait_for(plane, mine, names) == wait_for(plane, theirs, names)
    assert set(read_rest(plane, mine)) == names


@pytest.mark.long
def test_namespace_takes_everything_with_it(managed_plane):
    namespace = "mine-delete-namespace"
    fill(managed_plane, namespace)
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"
    options = ApplyOptions(action=SetAction.DELETE, deletion_seconds=SECONDS)

    Product(managed_plane).apply({"all.yaml": f"{text}---\n{config(namespace, 'plain')}"}, options)

    answer = managed_plane.kubectl("get", "namespace", namespace, "--ignore-not-found", "-o", "name")
    assert answer.stdout == ""


def test_finalizer_holds_the_object_and_the_run_names_it(managed_plane):
    namespace, plane = "mine-delete-held", managed_plane
    plane.kubectl("create", "namespace", namespace)
    text = config(namespace, "held", ", finalizers: [example.com/hold]")
    plane.kubectl("apply", "-f", "-", stdin=text)
    product = Product(plane)
    plan = product.plan({"all.yaml": text}, ApplyOptions(action=SetAction.DELETE, deletion_seconds=1))
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)

    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(started.pk)

    run = ApplyRun.objects.get(pk=started.pk)
    (result,) = run.results.all()
    assert (run.state, result.outcome) == (RunState.FAILED, Outcome.UNKNOWN)
    assert "finalizers: example.com/hold" in result.detail
    plane.kubectl(
        "patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}'
    )


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_write_that_removes_the_last_finalizer_is_planned_and_run_as_a_deletion(control_plane, mode):
    namespace, plane = f"mine-ended-{mode.value}", control_plane
    plane.kubectl("create", "namespace", namespace)
    product, options = Product(plane), ApplyOptions(mode, namespace=namespace)
    product.apply({"all.yaml": config(namespace, "held", ", finalizers: [example.com/hold]")}, options)
    plane.kubectl("delete", "configmap", "held", "-n", namespace, "--wait=false")

    run = product.apply({"all.yaml": config(namespace, "held")}, options)

    assert dict(run.plan.changes.values_list("name", "operation")) == {"held": Operation.DELETE}
    assert set(run.results.values_list("outcome", "detail")) == {(Outcome.DELETED, "it is gone")}
    assert "held" not in read_rest(plane, namespace)
