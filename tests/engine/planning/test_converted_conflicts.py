"""Conflicts that stay without the field: the server reads an own entry of another version by a conversion."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box

METRICS = ("f:spec", "f:metrics")
OTHER = ApplyOptions(field_manager="other", takes_over=True)
V1 = """apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 6
  targetCPUUtilizationPercentage: 70
"""


def use(*names: str, percent: int = 70) -> str:
    """The autoscaler at version v2, by these resources."""
    target = f"{{type: Utilization, averageUtilization: {percent}}}"
    metrics = ", ".join(f"{{type: Resource, resource: {{name: {name}, target: {target}}}}}" for name in names)
    head = V1.replace("/v1\nkind", "/v2\nkind").partition("  targetCPU")[0]
    return f"{head}  metrics: [{metrics}]\n"


@pytest.mark.parametrize(("names", "version"), [(("cpu", "memory"), "autoscaling/v1"), (("memory", "cpu"), "")])
def test_field_that_a_conversion_changes_can_only_be_overwritten(names: tuple[str, ...], version: str):
    box = Box()
    box.apply(V1)
    box.apply(use(*names), OTHER)

    change = box.plan_one(use("cpu", percent=60))

    (field,) = change.open_fields
    assert field.path == METRICS
    assert {o.resolution: (o.is_possible, o.converted) for o in field.options} == {
        ResolutionKind.OVERWRITE: (True, ""),
        ResolutionKind.GIVE_UP: (not version, version),
        ResolutionKind.SHARE: (not version, version),
    }
    for option in field.options:
        choice = ResolutionChoice(METRICS, "other", option.resolution)
        decided = box.plan_one(use("cpu", percent=60), decisions={change.ref.key: (choice,)})
        assert (decided.operation is not Operation.BLOCKED) is option.is_possible
