"""Whether pods fit a ResourceQuota: what a plan says, and what the controllers of a real control plane then create."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan
from applyviz.workflow import runs
from applyviz.workflow.plans import plan_details
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
DEADLINE = 60.0
SPACE = "quota"


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> ControlPlane:
    """A control plane whose controllers create pods and count them against quotas."""
    managed_plane.kubectl("create", "namespace", SPACE)
    managed_plane.kubectl("create", "quota", "compute", "-n", SPACE, "--hard=requests.cpu=2,pods=4")
    return managed_plane


def _deployment(name: str, replicas: int, **requests: str) -> str:
    labels = {"app": name}
    container = {"name": "web", "image": "shop/web:1", "resources": {"requests": requests}}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    meta = {"name": name, "namespace": SPACE}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": body})


def _wait(plane: ControlPlane, name: str, is_met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The status of a Deployment once a condition is met, or as it is at the deadline."""
    until = time.monotonic() + DEADLINE
    while True:
        told = json.loads(plane.kubectl("get", "deployment", name, "-n", SPACE, "-o", "json").stdout)["status"]
        if is_met(told) or time.monotonic() > until:
            return told
        time.sleep(0.5)


def _wait_for_usage(plane: ControlPlane) -> None:
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        told = json.loads(plane.kubectl("get", "quota", "compute", "-n", SPACE, "-o", "json").stdout)
        if told["status"].get("used"):
            return
        time.sleep(0.2)
    pytest.fail("the quota controller counted nothing")


def _find(plan: Plan) -> dict[str, tuple[str, str, str, str]]:
    return {one.resource: (one.used, one.after, one.hard, one.fit) for one in plan_details.list_quotas(plan)}


def _run(product: Product, plan: Plan) -> None:
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)
    run = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(run.pk)


def test_plan_says_what_fits_and_the_control_plane_agrees(plane):
    _wait_for_usage(plane)
    product = Product(plane)
    options = ApplyOptions(namespace=SPACE)

    fits = product.plan({"web.yaml": _deployment("web", 2, cpu="500m")}, options)
    assert _find(fits) == {"pods": ("0", "2", "4", "fits"), "requests.cpu": ("0", "1", "2", "fits")}
    assert fits.changes.get().highest_risk != "high"
    _run(product, fits)
    assert _wait(plane, "web", lambda status: status.get("replicas") == 2)["replicas"] == 2

    too_many = product.plan({"web.yaml": _deployment("web", 5, cpu="500m")}, options)
    assert _find(too_many) == {"pods": ("2", "5", "4", "exceeds"), "requests.cpu": ("1", "2500m", "2", "exceeds")}
    assert too_many.changes.get().highest_risk == "high"
    _run(product, too_many)
    status = _wait(plane, "web", lambda status: status.get("replicas") == 4)
    assert status["replicas"] == 4, "the fifth pod is refused"
    failed = [one for one in status["conditions"] if one["type"] == "ReplicaFailure"]
    assert ["exceeded quota: compute" in one["message"] for one in failed] == [True]

    unset = product.plan({"bare.yaml": _deployment("bare", 1)}, options)
    assert _find(unset)["requests.cpu"][-1] == "unset"
    _run(product, unset)
    status = _wait(
        plane, "bare", lambda status: any(c["type"] == "ReplicaFailure" for c in status.get("conditions", ()))
    )
    refused = [one["message"] for one in status["conditions"] if one["type"] == "ReplicaFailure"]
    assert len(refused) == 1
    assert "requests.cpu" in refused[0] or "exceeded quota" in refused[0]
    assert not status.get("replicas")
