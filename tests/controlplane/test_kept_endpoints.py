"""The endpoints of a Service that loses or gains its selector: the facts behind two risks of traffic."""

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
GAINING = """
{apiVersion: v1, kind: Service, metadata: {name: gaining}, spec: {ports: [{port: 80}]}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: gaining}
subsets: [{addresses: [{ip: 10.9.9.9}], ports: [{port: 80}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: gaining-by-hand
  labels: {kubernetes.io/service-name: gaining, endpointslice.kubernetes.io/managed-by: hand}
addressType: IPv4
ports: [{port: 80}]
endpoints: [{addresses: [10.8.8.8]}]
"""
READY = {
    "status": {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with a node while the tests run: a pod without one is in no slice."""
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


def test_service_that_gains_a_selector_loses_the_addresses_of_its_endpoints_and_no_slice_of_others(
    plane: ControlPlane,
):
    plane.kubectl("apply", *WHERE, "-f", "-", stdin=GAINING)
    wait_for_addresses(plane, "gaining", {"10.9.9.9", "10.8.8.8"})

    select = json.dumps({"spec": {"selector": {"app": "none"}}})
    plane.kubectl("patch", "service", "gaining", *WHERE, "--type=merge", "-p", select)

    wait_for_addresses(plane, "gaining", {"10.8.8.8"})
    shown = plane.kubectl("get", "endpoints", "gaining", *WHERE, "-o", "jsonpath={.subsets}").stdout
    assert shown == ""
