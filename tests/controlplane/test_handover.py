"""During a handover `replicas` is sampled every 50 ms, and it never leaves its value; an autoscaler then owns it.

The control plane has its controllers: that of Deployments, which would act on a dip, and the autoscaler, which writes
the count once its own least number asks for more.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from applyviz.clusters import connect
from applyviz.engine.objects.exchange import Request
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.requests.options import CLIENT_SIDE_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.enums import Outcome
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow import runs
from applyviz.workflow.plans import changes, handovers, planner
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.comparison import JSONObject
from tests.controlplane.product import Product
from tests.controlplane.takeover import wait_for_controllers

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
REPLICAS = ("f:spec", "f:replicas")
SECONDS = 0.05
SCALED_BY = ("kube-controller-manager", "Update", "scale")
SCALED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""
FILES = {"web.yaml": SCALED, "scaler.yaml": SCALER}
DROPPED = {"web.yaml": SCALED.replace("  replicas: 3\n", ""), "scaler.yaml": SCALER}


@contextmanager
def sampling(product: Product, namespace: str) -> Iterator[list[object]]:
    """Read `replicas` every 50 ms in a thread of its own; the list holds each value that was seen."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    seen: list[object] = []
    stop = threading.Event()
    reader = connect.open_reader(product.cluster)

    def sample() -> None:
        due = time.monotonic()
        while not stop.is_set():
            answer = reader.try_send(Request("GET", path, purpose="read"))
            seen.append(answer.body.get("spec", {}).get("replicas") if answer.is_ok else answer.status)
            due = max(due + SECONDS, time.monotonic())
            stop.wait(due - time.monotonic())

    with reader:
        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()


def run(product: Product, plan: Plan) -> ApplyRun:
    """Acknowledge, approve and run a plan; every object must come out as the plan said."""
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)
    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(started.pk)
    done = ApplyRun.objects.get(pk=started.pk)
    assert set(done.results.values_list("outcome", flat=True)) <= {Outcome.VERIFIED, Outcome.UNCHANGED}, done.error
    return done


def read(product: Product, namespace: str) -> JSONObject:
    """The live Deployment with its owners."""
    command = ("get", "deployment", "web", "-n", namespace, "-o", "json", "--show-managed-fields")
    found: JSONObject = json.loads(product.plane.kubectl(*command).stdout)
    return found


def wait_until_scaled(product: Product, namespace: str) -> JSONObject:
    """The Deployment once the autoscaler wrote its count."""
    for _ in range(120):
        live = read(product, namespace)
        if live["spec"]["replicas"] == 5:
            return live
        time.sleep(0.5)
    raise AssertionError("the autoscaler did not scale")


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "manager", "owners"),
    [
        (ApplyMode.SERVER, "applyviz", {("handover-to-hpa", "Apply")}),
        (ApplyMode.CLIENT, CLIENT_SIDE_MANAGER, {(CLIENT_SIDE_MANAGER, "Update")}),
    ],
)
def test_replicas_keep_their_value_at_every_moment(managed_plane, mode, manager, owners):
    product, namespace = Product(managed_plane), f"handover-{mode}"
    product.plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, field_manager=manager, namespace=namespace)
    product.apply(FILES, options)
    wait_for_controllers(product.plane, namespace)

    with sampling(product, namespace) as seen:
        changed = {**FILES, "web.yaml": SCALED.replace("nginx:1", "nginx:2")}
        first = product.plan(changed, options)
        row = first.changes.get(kind="Deployment")
        asked = handovers.hand_over(
            first, changes.read_masked(row), [REPLICAS], manager="handover-to-hpa", by=product.alice
        )
        planner.make_plan(asked.pk)
        run(product, Plan.objects.get(pk=asked.pk))
        live = read(product, namespace)

    assert (set(seen), len(seen) > 5) == ({3}, True)
    assert {(o.manager, o.operation) for o in read_owners(live).of(REPLICAS)} == owners
    least = ("patch", "hpa", "web", "-n", namespace, "--type=merge", "-p", '{"spec": {"minReplicas": 5}}')
    product.plane.kubectl(*least)
    live = wait_until_scaled(product, namespace)
    assert SCALED_BY in {(o.manager, o.operation, o.subresource) for o in read_owners(live).of(REPLICAS)}
    with sampling(product, namespace) as seen:
        dropped = {**DROPPED, "web.yaml": DROPPED["web.yaml"].replace("nginx:1", "nginx:3")}
        product.apply({**dropped, "scaler.yaml": SCALER + "  minReplicas: 5\n"}, replace(options, takes_over=True))
    assert set(seen) == {5}
