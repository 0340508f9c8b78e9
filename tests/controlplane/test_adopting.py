"""Live objects of a real API server that no review explains become one review, by the page and by the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.models import Plan, Review
from applyviz.workflow.plans import planner
from tests.controlplane.product import Product
from tests.web.api.test_api import Program

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
"""
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
NAMES = ("configmap/settings", "deployment.apps/web", "service/web")
ADDRESS = "/clusters/real/adopt/"


class Adopted:
    """Three objects that kubectl made in three ways."""

    def __init__(self, product: Product, namespace: str) -> None:
        self.product, self.namespace = product, namespace
        plane = product.plane
        plane.kubectl("create", "namespace", namespace)
        plane.kubectl("create", "configmap", "settings", "--from-literal=a=1", "-n", namespace)
        plane.kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "-n", namespace)
        plane.kubectl("apply", "-f", "-", "-n", namespace, stdin=SERVICE)
        kinds = ("core/ConfigMap", "apps/Deployment", "core/Service")
        self.names = [f"{kind}/{namespace}/{name.partition('/')[2]}" for kind, name in zip(kinds, NAMES, strict=True)]
        self.before = [self.read(name) for name in NAMES]

    def read(self, name: str) -> dict[str, Any]:
        words = ("get", name, "-n", self.namespace, "--show-managed-fields", "-o", "json")
        found: dict[str, Any] = json.loads(self.product.plane.kubectl(*words).stdout)
        return found

    def run(self) -> Plan:
        """Plan, approve and run the review of them."""
        review = Review.objects.get()
        planner.make_plan(review.plans.get().pk)
        self.product.run(review.plans.get())
        return review.plans.get()

    def compare(self) -> list[set[str]]:
        """No value changed; the annotations of each object and the managers that own it, without controllers."""
        found = []
        for name, before in zip(NAMES, self.before, strict=True):
            after = self.read(name)
            assert {n: after.get(n) for n in ("spec", "data")} == {n: before.get(n) for n in ("spec", "data")}
            entries = after["metadata"]["managedFields"]
            owners = {f"{e['manager']} {e['operation']}" for e in entries if not e.get("subresource")}
            found.append(
                owners | ({"last-applied"} if ANNOTATION in after["metadata"].get("annotations", {}) else set())
            )
        return found


@pytest.fixture
def product(control_plane) -> Product:
    return Product(control_plane)


def test_ticked_objects_become_one_review_that_changes_no_value(product):
    live = Adopted(product, "adopted-by-page")
    author = Client()
    author.force_login(product.alice)
    page = author.get(reverse("clusters:show-objects", args=["real"]), {"q": live.namespace}).content.decode()
    assert [name for name in live.names if f'name="objects" value="{name}"' not in page] == []
    gone = [*live.names, f"core/ConfigMap/{live.namespace}/gone"]
    form = {"title": "Ours now", "mode": "server", "field_manager": "applyviz"}
    answer = author.post(ADDRESS, {**form, "objects": gone})
    assert (answer.status_code, Review.objects.count()) == (409, 0)
    assert "ConfigMap gone" in answer.content.decode()

    assert author.post(ADDRESS, {**form, "objects": live.names}).status_code == 302
    live.run()

    assert [("applyviz Apply" in owners) for owners in live.compare()] == [True] * 3


def test_named_objects_get_the_annotation_of_client_side_apply(product):
    live = Adopted(product, "adopted-by-program")
    given = {"title": "Ours now", "objects": live.names, "mode": "client", "field_manager": "kubectl-client-side-apply"}
    program = Program(product.alice)
    refused = program.post("clusters/real/adopt/", {**given, "objects": [f"apps/Widget/{live.namespace}/x"]})
    assert (refused.status_code, Review.objects.count()) == (404, 0)
    assert "does not serve Widget" in refused.json()["error"]["message"]

    assert program.post("clusters/real/adopt/", given).status_code == 201
    live.run()

    assert [("last-applied" in owners) for owners in live.compare()] == [True] * 3
