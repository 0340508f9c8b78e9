"""During a handover `replicas` is sampled every 50 ms, and it never leaves its value; an autoscaler then owns it.

A watch beside the samples shows every version of the object, so that no dip hides between two of them.
The control plane has its controllers: that of Deployments, which would act on a dip, and the autoscaler, which writes
the count once its own least number asks for more.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from applyviz.clusters import connect
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
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


@dataclass
class Observed:
    """Observations of `replicas`: samples with the moment of each, and each version that the server stored."""

    samples: list[tuple[float, object]] = field(default_factory=list)
    versions: list[JSONObject] = field(default_factory=list)

    @property
    def longest_gap(self) -> float:
        """The longest time between two samples, in seconds."""
        moments = [moment for moment, _ in self.samples]
        return max(after - before for before, after in pairwise(moments))

    @property
    def missed(self) -> list[tuple[int, int]]:
        """Generations between which a version is missing: each change of the spec counts one on."""
        found = [version["metadata"]["generation"] for version in self.versions]
        return [(before, after) for before, after in pairwise(found) if after - before > 1]

    def expect_always(self, value: int) -> None:
        """Fail if `replicas` ever had another value; between two samples, the versions would show it."""
        shown = [version["spec"].get("replicas") for version in self.versions]
        assert ({one for _, one in self.samples}, set(shown)) == ({value}, {value}), (self.samples, shown)
        assert self.missed == [], f"the longest gap between samples took {self.longest_gap:.2f} s"


def replay(product: Product, namespace: str, first: JSONObject) -> list[JSONObject]:
    """Watch the Deployment from a version on: each version up to the one that is live now; it must not be deleted."""
    last = read(product, namespace)["metadata"]["resourceVersion"]
    since = first["metadata"]["resourceVersion"]
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments?watch=1&fieldSelector=metadata.name%3Dweb"
    for seconds in (1, 2, 4, 8, 16, 32):
        query = f"&resourceVersion={since}&timeoutSeconds={seconds}"
        lines = product.plane.kubectl("get", "--raw", path + query).stdout.splitlines()
        events = [json.loads(line) for line in lines]
        assert {event["type"] for event in events} <= {"MODIFIED"}, events
        versions = [first, *(event["object"] for event in events)]
        if last in {version["metadata"]["resourceVersion"] for version in versions}:
            return versions
    raise AssertionError(f"the watch never showed version {last}")


@contextmanager
def observing(product: Product, namespace: str) -> Iterator[Observed]:
    """Read `replicas` every 50 ms in a separate thread, before the first and after the last act too; then replay."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    seen, stop = Observed(), threading.Event()
    reader = connect.open_reader(product.cluster)

    def sample() -> None:
        answer = reader.try_send(Request("GET", path, purpose="read"))
        value = answer.body.get("spec", {}).get("replicas") if answer.is_ok else answer.status
        seen.samples.append((time.monotonic(), value))

    def keep_sampling() -> None:
        due = time.monotonic()
        while not stop.wait(due - time.monotonic()):
            sample()
            due = max(due + SECONDS, time.monotonic())

    with reader:
        first = read(product, namespace)
        sample()
        thread = threading.Thread(target=keep_sampling)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()
        sample()
    seen.versions = replay(product, namespace, first)


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

    with observing(product, namespace) as seen:
        changed = {**FILES, "web.yaml": SCALED.replace("nginx:1", "nginx:2")}
        first = product.plan(changed, options)
        row = first.changes.get(kind="Deployment")
        asked = handovers.hand_over(
            first, changes.read_masked(row), [REPLICAS], manager="handover-to-hpa", by=product.alice
        )
        planner.make_plan(asked.pk)
        run(product, Plan.objects.get(pk=asked.pk))
        live = read(product, namespace)

    seen.expect_always(3)
    assert {(o.manager, o.operation) for o in read_owners(live).of(REPLICAS)} == owners
    least = ("patch", "hpa", "web", "-n", namespace, "--type=merge", "-p", '{"spec": {"minReplicas": 5}}')
    product.plane.kubectl(*least)
    live = wait_until_scaled(product, namespace)
    assert SCALED_BY in {(o.manager, o.operation, o.subresource) for o in read_owners(live).of(REPLICAS)}
    with observing(product, namespace) as seen:
        dropped = {**DROPPED, "web.yaml": DROPPED["web.yaml"].replace("nginx:1", "nginx:3")}
        product.apply({**dropped, "scaler.yaml": SCALER + "  minReplicas: 5\n"}, replace(options, takes_over=True))
    seen.expect_always(5)


def test_dip_is_seen_although_no_sample_shows_it(control_plane):
    product, namespace = Product(control_plane), "handover-dip"
    product.plane.kubectl("create", "namespace", namespace)
    product.plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=SCALED)

    with observing(product, namespace) as seen:
        for count in ("1", "3"):
            product.plane.kubectl("scale", "deployment", "web", "-n", namespace, f"--replicas={count}")
    seen.samples = [(moment, 3) for moment, _ in seen.samples]

    assert seen.missed == []
    with pytest.raises(AssertionError, match=r"\[3, 1, 3\]"):
        seen.expect_always(3)
    del seen.versions[1]
    assert len(seen.missed) == 1
