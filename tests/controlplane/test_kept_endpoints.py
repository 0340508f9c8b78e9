"""What becomes of the endpoints of a Service that loses its selector: the fact behind the risk `endpoints-stay`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.controlplane.controlplane import ControlPlane

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
NAME = "kept-endpoints"
WHERE = ("-n", NAME)
SPEC = "spec: {selector: {app: a}, ports: [{port: 80}]}"
NODE = f"{{apiVersion: v1, kind: Node, metadata: {{name: {NAME}}}}}"
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}}, "
    f"spec: {{nodeName: {NAME}, containers: [{{name: a, image: a}}]}}}}"
)
READY = {
    "status": {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


@pytest.fixture
def plane(managed_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with a node while the test runs: a pod without one is in no slice."""
    managed_plane.kubectl("create", "namespace", NAME)
    managed_plane.kubectl("create", "-f", "-", stdin=NODE)
    yield managed_plane
    managed_plane.kubectl("delete", "node", NAME)


def wait_for_addresses(plane: ControlPlane, service: str, wanted: set[str]) -> None:
    """Until the slices of a Service have these addresses: without a selector, its Endpoints are mirrored in another."""
    words = ("get", "endpointslices", *WHERE, "-l", f"kubernetes.io/service-name={service}")
    until = time.monotonic() + 60
    shown = "jsonpath={.items[*].endpoints[*].addresses[*]}"
    while set(plane.kubectl(*words, "-o", shown).stdout.split()) != wanted:
        assert time.monotonic() < until, service
        time.sleep(0.2)


def test_service_without_a_selector_keeps_the_addresses_of_pods_that_are_gone(plane: ControlPlane):
    for name in ("kept", "updated"):
        service = f"{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, {SPEC}}}"
        plane.kubectl("apply", *WHERE, "-f", "-", stdin=service)
    plane.kubectl("apply", *WHERE, "-f", "-", stdin=POD)
    body = json.dumps(READY)
    plane.kubectl("patch", "pod", "a", *WHERE, "--subresource=status", "--type=merge", "-p", body)
    for name in ("kept", "updated"):
        wait_for_addresses(plane, name, {"10.1.2.3"})

    drop = json.dumps({"spec": {"selector": None}})
    plane.kubectl("patch", "service", "kept", *WHERE, "--type=merge", "-p", drop)
    plane.kubectl("delete", "pod", "a", *WHERE, "--force", "--grace-period=0")

    wait_for_addresses(plane, "updated", set())
    wait_for_addresses(plane, "kept", {"10.1.2.3"})
