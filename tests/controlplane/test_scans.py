"""Live changes and drift on a real API server: what the product wrote is explained, what kubectl did is found."""

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import FindingSort
from applyviz.records.models import ClusterScan, JournalEntry, LiveFinding
from applyviz.workflow.clusters import cluster_access
from applyviz.workflow.live import adoption, inventory, scans
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]

SETTINGS = """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1", b: "2"}
"""
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.example/web:v1", resources: {limits: {cpu: 500m}}}]
"""


@pytest.fixture
def product(control_plane) -> Product:
    return Product(control_plane)


def look(product):
    scan = scans.request_scan(product.cluster, by=None)
    scans.scan_cluster(scan.pk)
    assert ClusterScan.objects.get(pk=scan.pk).problem == ""


def find(namespace):
    return list(LiveFinding.objects.filter(namespace=namespace, gone_at=None).order_by("sort", "name"))


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_scan_tells_runs_from_other_hands(product, mode):
    plane, namespace = product.plane, f"scan-{mode}"
    plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, namespace=namespace)
    product.apply({"settings.yaml": SETTINGS, "web.yaml": WEB}, options)
    look(product)
    untouched = [(f.sort, f.name, f.manager) for f in find(namespace) if f.sort != FindingSort.UNREVIEWED]

    plane.kubectl("-n", namespace, "set", "image", "deployment/web", "web=registry.example/web:v2")
    plane.kubectl("-n", namespace, "create", "configmap", "by-hand", "--from-literal=x=1")
    plane.kubectl("-n", namespace, "delete", "configmap", "settings")
    look(product)
    found = find(namespace)

    image = '.spec.template.spec.containers[name="web"].image'
    assert untouched == []
    assert [(f.name, f.manager, f.fields) for f in found if f.sort == FindingSort.CHANGED] == [
        ("web", "kubectl-set", [image])
    ]
    assert [f.fields for f in found if f.sort == FindingSort.DRIFTED] == [
        [{"path": image, "promised": "registry.example/web:v1", "live": "registry.example/web:v2"}]
    ]
    assert [f.name for f in found if f.sort == FindingSort.MISSING] == ["settings"]
    assert ("by-hand", "kubectl-create") in [(f.name, f.manager) for f in found if f.sort == FindingSort.UNREVIEWED]


def test_same_name_at_another_time_is_no_run(product):
    plane, namespace = product.plane, "scan-imposter"
    plane.kubectl("create", "namespace", namespace)
    product.apply({"settings.yaml": SETTINGS}, ApplyOptions(namespace=namespace))
    shift = timedelta(hours=1)
    for entry in JournalEntry.objects.all():
        JournalEntry.objects.filter(pk=entry.pk).update(
            sent_at=entry.sent_at - shift, answered_at=(entry.answered_at or timezone.now()) - shift
        )

    look(product)

    assert [(f.name, f.manager) for f in find(namespace) if f.sort == FindingSort.CHANGED] == [("settings", "applyviz")]


def test_state_rights_holdings_and_adoption_on_a_real_server(product):
    plane, namespace = product.plane, "scan-adopt"
    plane.kubectl("create", "namespace", namespace)
    plane.kubectl("-n", namespace, "create", "configmap", "by-hand", "--from-literal=x=1")
    state = cluster_access.read_state(product.cluster, for_user=product.alice, namespace=namespace)
    held = inventory.read_holdings(product.cluster, "kubectl-create", for_user=product.alice).objects
    where = {"group": "", "kind": "ConfigMap", "namespace": namespace, "name": "by-hand"}
    shown = adoption.read_adoption(product.cluster, **where, by=product.alice)

    assert (state.health, state.problem, bool(state.identity)) == (cluster_access.ClusterReadiness.READY, "", True)
    assert {verdict for row in state.rights for verdict in row.allowed} == {True}
    assert (".data.x" in next(h for h in held if h.ref.name == "by-hand").fields) is True
    assert shown.managers == ("kubectl-create",)
