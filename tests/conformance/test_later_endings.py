"""The risk that Kubernetes deletes objects later: is it noticed when it is missing or false?"""

from __future__ import annotations

import pytest

from applyviz.conformance import risks
from applyviz.engine.requests.options import ApplyMode
from tests.conformance.test_risks import NUMBERED, plan_after

RETAINED = NUMBERED.replace("replicas: 3", "replicas: 3\n  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}")
FINISHED = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: c}
spec:
  schedule: "* * * * *"
  failedJobsHistoryLimit: 2
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'c:1'}]}}}
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  hostPath: {path: /tmp/v}
  persistentVolumeReclaimPolicy: Retain
"""
TOKEN = """
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: t, annotations: {kubernetes.io/service-account.name: a}}
"""
LIVED = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  ttlSecondsAfterFinished: 60
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'c:1'}]}}
"""


@pytest.mark.covering
@pytest.mark.core(14)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize(
    ("before", "old", "new", "is_told"),
    [
        (NUMBERED, "replicas: 3", "replicas: 2", False),
        (RETAINED, "replicas: 3", "replicas: 2", True),
        (RETAINED, "replicas: 3", "replicas: 4", False),
        (RETAINED, "start: 1", "start: 2", True),
        (RETAINED, "whenScaled", "whenDeleted", True),
        (FINISHED, "Limit: 2", "Limit: 3", False),
        (FINISHED, "  failedJobsHistoryLimit: 2\n", "", True),
        (VOLUME, "Retain", "Delete", True),
        (VOLUME, "1Gi", "2Gi", False),
        (TOKEN, "name: a", "name: b", True),
        (TOKEN, "annotations: {", "labels: {a: b}, annotations: {", False),
        (LIVED, "Finished: 60", "Finished: 0", True),
        (LIVED, "Finished: 60", "Finished: 61", False),
        (LIVED, "  ttlSecondsAfterFinished: 60\n", "", False),
    ],
)
def test_objects_that_are_deleted_later_are_noticed(mode, before, old, new, is_told):
    assert old in before
    planned = plan_after(before, lambda live: live, before.replace(old, new), mode)
    told = {risk.kind.slug for risk in planned.change.risks}
    state = "missing" if is_told else "false"

    assert ("ends-objects" in told) is is_told
    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert list(risks.find_wrong(risks.Facts(planned), told ^ {"ends-objects"})) == [f"ends-objects is {state}"]


@pytest.mark.parametrize("mode", ApplyMode)
def test_finalizer_that_goes_from_a_leaving_object_is_noticed(mode):
    held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [example.com/a, example.com/b]}\n"
    left = held.replace("example.com/a, ", "")
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}

    for change, is_told in ({}, False), (leaving, True):
        planned = plan_after(
            held, lambda live, change=change: {**live, "metadata": {**live["metadata"], **change}}, left, mode
        )
        told = {risk.kind.slug for risk in planned.change.risks}

        assert ("ends-objects" in told) is is_told
        assert "ends-objects" not in " ".join(risks.find_wrong(risks.Facts(planned), told))
