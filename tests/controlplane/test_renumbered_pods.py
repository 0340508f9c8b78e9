"""The pods and claims that a StatefulSet gives up when its numbers change: the facts behind two risks.

The risks are `pods-renumbered` and `ends-objects`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.controlplane.controlplane import ControlPlane

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
WHERE = ("-n", "renumbered")
SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {name}}}
spec:
  serviceName: s
  replicas: 3
  podManagementPolicy: Parallel
  {more}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{terminationGracePeriodSeconds: 0, containers: [{{name: c, image: "c:1"}}]}}
  volumeClaimTemplates:
  - metadata: {{name: d}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"""
RETENTION = "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}"


class Change(NamedTuple):
    """A StatefulSet of three pods, a change, and the numbers of the pods and of the claims that are left."""

    spec: str
    change: Mapping[str, object]
    pods: set[int]
    claims: set[int]


CHANGES = {
    "later": Change("", {"ordinals": {"start": 2}}, {2, 3, 4}, {0, 1, 2, 3, 4}),
    "earlier": Change("ordinals: {start: 5}", {"ordinals": None}, {0, 1, 2}, {0, 1, 2, 5, 6, 7}),
    "fewer": Change("", {"replicas": 2, "ordinals": {"start": 1}}, {1, 2}, {0, 1, 2}),
    "more": Change("ordinals: {start: 1}", {"replicas": 4, "ordinals": {"start": 0}}, {0, 1, 2, 3}, {0, 1, 2, 3}),
    "cleaned": Change(RETENTION, {"ordinals": {"start": 2}}, {2, 3, 4}, {2, 3, 4}),
    "scaled": Change(RETENTION, {"replicas": 1}, {0}, {0}),
    "at-once": Change("", {"replicas": 1, "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}, {0}, {0}),
    "retained": Change("", {"replicas": 1}, {0}, {0, 1, 2}),
    "kept": Change(
        RETENTION, {"replicas": 1, "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Retain"}}, {0}, {0, 1, 2}
    ),
}


def list_numbers(plane: ControlPlane, resource: str, name: str) -> set[int]:
    """Return the numbers of the pods or claims of a StatefulSet."""
    found = plane.kubectl("get", resource, *WHERE, "-l", f"app={name}", "-o", "name").stdout.split()
    return {int(one.rpartition("-")[2]) for one in found}


def wait_for(plane: ControlPlane, name: str, pods: set[int], claims: set[int]) -> None:
    """Wait until exactly these pods and claims are there."""
    until = time.monotonic() + 60
    while (found := (list_numbers(plane, "pods", name), list_numbers(plane, "pvc", name))) != (pods, claims):
        assert time.monotonic() < until, (name, found)
        time.sleep(0.2)


def test_pods_and_claims_go_with_their_numbers(managed_plane: ControlPlane):
    managed_plane.kubectl("create", "namespace", WHERE[1])
    for name, change in CHANGES.items():
        managed_plane.kubectl("apply", *WHERE, "-f", "-", stdin=SET.format(name=name, more=change.spec))
    for name, change in CHANGES.items():
        first = 5 if "5" in change.spec else 1 if "1" in change.spec else 0
        numbers = {first, first + 1, first + 2}
        wait_for(managed_plane, name, numbers, numbers)
        managed_plane.kubectl("patch", "sts", name, *WHERE, "--type=merge", "-p", json.dumps({"spec": change.change}))

    for name, change in CHANGES.items():
        wait_for(managed_plane, name, change.pods, change.claims)


def make_ready(plane: ControlPlane, name: str) -> None:
    """Say that every pod of a StatefulSet is ready, as a kubelet would."""
    body = json.dumps({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    for number in list_numbers(plane, "pods", name):
        words = ("patch", "pod", f"{name}-{number}", *WHERE, "--subresource=status", "--type=merge", "-p", body)
        plane.kubectl(*words, check=False)


def test_partition_counts_from_the_first_number(managed_plane: ControlPlane):
    managed_plane.kubectl("create", "namespace", WHERE[1], check=False)
    more = "ordinals: {start: 5}\n  updateStrategy: {rollingUpdate: {partition: 1}}"
    text = SET.format(name="parted", more=more)
    managed_plane.kubectl("apply", *WHERE, "-f", "-", stdin=text)
    wait_for(managed_plane, "parted", {5, 6, 7}, {5, 6, 7})
    managed_plane.kubectl("apply", *WHERE, "-f", "-", stdin=text.replace("c:1", "c:2"))
    images = ("get", "pods", *WHERE, "-l", "app=parted", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    until = time.monotonic() + 60
    while managed_plane.kubectl(*images).stdout != "c:1 c:2 c:2":
        assert time.monotonic() < until, managed_plane.kubectl(*images).stdout
        make_ready(managed_plane, "parted")
        time.sleep(0.2)
    time.sleep(2)
    make_ready(managed_plane, "parted")

    assert managed_plane.kubectl(*images).stdout == "c:1 c:2 c:2"
