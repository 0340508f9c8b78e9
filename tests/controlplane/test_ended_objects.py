"""What Kubernetes deletes after a change of a field alone: the facts behind the risk `ends-objects`."""

from __future__ import annotations

import json
import time

import pytest

from tests.controlplane.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane
SECONDS = 60
TTL = {"spec": {"ttlSecondsAfterFinished": 0}}
POD = "{restartPolicy: Never, containers: [{name: a, image: a}]}"
OBJECTS = f"""
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: held, finalizers: [example.com/hold]}}}}
---
{{apiVersion: batch/v1, kind: Job, metadata: {{name: finished}}, spec: {{suspend: true, template: {{spec: {POD}}}}}}}
---
{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: web}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: token, annotations: {{kubernetes.io/service-account.name: web}}}}
type: kubernetes.io/service-account-token
"""
FINISHED = {
    "status": {
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "X", "message": ""}
            for kind in ("FailureTarget", "Failed")
        ],
        "startTime": "2026-01-01T00:00:00Z",
    }
}


def test_fields_by_which_kubernetes_deletes(managed_plane: ControlPlane):
    where = ("-n", "ended-objects")

    def patch(kind: str, name: str, body: dict[str, object], *flags: str) -> None:
        managed_plane.kubectl("patch", kind, name, *where, "--type=merge", "-p", json.dumps(body), *flags)

    def list_names() -> set[str]:
        return set(managed_plane.kubectl("get", "cm,job,secret", *where, "-o", "name").stdout.split())

    managed_plane.kubectl("create", "namespace", where[1])
    managed_plane.kubectl("apply", *where, "-f", "-", stdin=OBJECTS)
    managed_plane.kubectl("delete", "cm", "held", *where, "--wait=false")
    patch("job", "finished", FINISHED, "--subresource=status")
    time.sleep(5)
    ending = {"configmap/held", "job.batch/finished", "secret/token"}
    before = list_names()

    patch("cm", "held", {"metadata": {"finalizers": None}})
    patch("job", "finished", TTL)
    patch("secret", "token", {"metadata": {"annotations": {"kubernetes.io/service-account.name": "nobody"}}})
    until = time.monotonic() + SECONDS
    while list_names() & ending and time.monotonic() < until:
        time.sleep(0.5)

    assert ending <= before
    assert not list_names() & ending
