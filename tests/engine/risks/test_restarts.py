"""How many pods restart when a field of a pod template changes, as the cards of a conflict say it."""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.risks.restarts import count_restarting


def make(kind: str, spec: dict[str, Any], group: str = "apps/v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": spec, **more}


@pytest.mark.parametrize(
    ("obj", "pods"),
    [
        (make("Deployment", {"replicas": 3}), 3),
        (make("Deployment", {}), 1),
        (make("Deployment", {"replicas": 3, "paused": True}), 0),
        (make("StatefulSet", {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}), 1),
        (make("StatefulSet", {"replicas": 3, "updateStrategy": {"type": "OnDelete"}}), 0),
        (make("DaemonSet", {}, status={"desiredNumberScheduled": 4}), 4),
        (make("DaemonSet", {}), 0),
        (make("CronJob", {}, "batch/v1"), 0),
        (make("Deployment", {"replicas": 3}, "example.com/v1"), 0),
    ],
)
def test_pods_of_a_workload_restart_unless_they_wait(obj, pods):
    assert count_restarting(ObjectRef.from_object(obj), obj) == pods
