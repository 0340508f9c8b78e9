"""The pods that the Job controller deletes when a Job changes: the facts behind the risk `job-pods-deleted`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.controlplane.controlplane import ControlPlane

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
WHERE = ("-n", "job-pods")
POD = "{spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}"
JOB = "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{parallelism: 3, {more}template: {pod}}}}}"
COUNTED = "completions: 9, "
INDEXED = f"{COUNTED}completionMode: Indexed, "


class Change(NamedTuple):
    """A Job of three pods: its kind, how a pod ended before, the change, and how many pods are active then."""

    spec: str
    ended: str
    change: Mapping[str, object]
    left: int


CHANGES = {
    "counted": Change(COUNTED, "", {"parallelism": 1}, 1),
    "queue": Change("", "", {"parallelism": 1}, 1),
    "none": Change(COUNTED, "", {"parallelism": 0}, 0),
    "suspended": Change(COUNTED, "", {"suspend": True}, 0),
    "indexed": Change(INDEXED, "Succeeded", {"completions": 3}, 2),
    "failing": Change(COUNTED, "Failed", {"backoffLimit": 0}, 0),
    "late": Change(COUNTED, "", {"activeDeadlineSeconds": 1}, 0),
}
KEPT = Change("", "Succeeded", {"parallelism": 1}, 2)


def count_active(plane: ControlPlane, job: str) -> int:
    """How many pods of a Job wait for a node, which none of them gets."""
    words = ("get", "pods", *WHERE, "-l", f"batch.kubernetes.io/job-name={job}", "-o", "name")
    return len(plane.kubectl(*words, "--field-selector=status.phase=Pending").stdout.split())


def wait_for_pods(plane: ControlPlane, job: str, wanted: int) -> None:
    """Until so many pods of the Job are active, and its status says so."""
    counts = f"job/{job}", f"--for=jsonpath={{.status.active}}={wanted}", "--timeout=60s"
    if wanted:
        plane.kubectl("wait", *WHERE, *counts)
    until = time.monotonic() + 60
    while count_active(plane, job) != wanted:
        assert time.monotonic() < until, job
        time.sleep(0.2)


def start(plane: ControlPlane, job: str, change: Change) -> None:
    """Apply the Job, and end its first pod; without completions, no other takes its place after a success."""
    plane.kubectl("apply", *WHERE, "-f", "-", stdin=JOB.format(name=job, more=change.spec, pod=POD))
    wait_for_pods(plane, job, 3)
    if change.ended:
        words = ("get", "pods", *WHERE, "-l", f"batch.kubernetes.io/job-name={job}", "-o", "name")
        first = min(plane.kubectl(*words).stdout.split())  # of an Indexed Job the pod of index 0
        body = json.dumps({"status": {"phase": change.ended}})
        plane.kubectl("patch", first, *WHERE, "--subresource=status", "--type=merge", "-p", body)
        counted = "succeeded" if change.ended == "Succeeded" else "failed"
        plane.kubectl("wait", *WHERE, f"job/{job}", f"--for=jsonpath={{.status.{counted}}}=1", "--timeout=60s")


def alter(plane: ControlPlane, job: str, change: Change) -> None:
    """Write what changes of the Job."""
    body = json.dumps({"spec": change.change})
    plane.kubectl("patch", "job", job, *WHERE, "--type=merge", "-p", body)


def test_active_pods_that_a_job_may_not_run_are_deleted(managed_plane: ControlPlane):
    managed_plane.kubectl("create", "namespace", WHERE[1])
    start(managed_plane, "kept", KEPT)
    wait_for_pods(managed_plane, "kept", KEPT.left)
    alter(managed_plane, "kept", KEPT)

    for job, change in CHANGES.items():
        start(managed_plane, job, change)
        if change.ended == "Succeeded":
            wait_for_pods(managed_plane, job, 3)
        alter(managed_plane, job, change)
        wait_for_pods(managed_plane, job, change.left)

    assert count_active(managed_plane, "kept") == KEPT.left
