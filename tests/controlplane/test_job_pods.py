"""What the Job controller deletes when a Job may run fewer pods: the facts behind the risk `job-pods-deleted`."""

from __future__ import annotations

import json
import time

import pytest

from tests.controlplane.controlplane import ControlPlane

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
WHERE = ("-n", "job-pods")
POD = "{spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}"
JOB = "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{parallelism: 3, {more}template: {pod}}}}}"
COUNTED = "completions: 9, "
CHANGES = [
    ("counted", COUNTED, {"parallelism": 1}, 1),
    ("queue", "", {"parallelism": 1}, 1),
    ("none", COUNTED, {"parallelism": 0}, 0),
    ("suspended", COUNTED, {"suspend": True}, 0),
]


def wait_for_pods(plane: ControlPlane, job: str, wanted: int) -> None:
    """Until the Job has so many pods."""
    words = ("get", "pods", *WHERE, "-l", f"batch.kubernetes.io/job-name={job}", "-o", "name")
    until = time.monotonic() + 60
    while len(plane.kubectl(*words).stdout.split()) != wanted:
        assert time.monotonic() < until, job
        time.sleep(0.2)


def test_active_pods_that_a_job_may_not_run_are_deleted(managed_plane: ControlPlane):
    managed_plane.kubectl("create", "namespace", WHERE[1])
    for job, more, change, left in CHANGES:
        managed_plane.kubectl("apply", *WHERE, "-f", "-", stdin=JOB.format(name=job, more=more, pod=POD))
        counted = "--for=jsonpath={.status.active}=3"
        managed_plane.kubectl("wait", *WHERE, f"job/{job}", counted, "--timeout=60s")
        wait_for_pods(managed_plane, job, 3)
        managed_plane.kubectl("patch", "job", job, *WHERE, "--type=merge", "-p", json.dumps({"spec": change}))
        wait_for_pods(managed_plane, job, left)
