"""Does the summary say what the plan does to workloads?"""

from __future__ import annotations

from applyviz.engine.planning.model.summary import PlanSummary, summarize
from applyviz.engine.requests.options import ApplyOptions, Replacement
from tests.engine.planning.cluster import Box


def deployment(name: str, image: str = "nginx:1", replicas: int = 3, strategy: str = "RollingUpdate") -> str:
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  strategy: {{type: {strategy}}}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: "{image}"}}]}}
"""


BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""


def test_nothing_changes():
    assert summarize(()) == PlanSummary()
    box = Box()
    box.apply(deployment("web"))

    assert summarize(box.plan(deployment("web")).changes).restarts == ()


def test_new_images_restart_pods():
    box = Box()
    box.apply(deployment("web") + deployment("db", replicas=1, strategy="Recreate") + BUDGET)

    found = summarize(
        box.plan(deployment("web", "nginx:2") + deployment("db", "nginx:2", 1, "Recreate") + BUDGET).changes
    )

    assert [(one.ref.name, one.pods, one.stops_all) for one in found.restarts] == [("web", 3, False), ("db", 1, True)]
    assert [ref.name for ref in found.stopped] == ["db"]
    assert [(i.ref.name, i.container, i.before, i.after) for i in found.images] == [
        ("web", "main", "nginx:1", "nginx:2"),
        ("db", "main", "nginx:1", "nginx:2"),
    ]


def test_scale_to_zero_is_no_downtime_meanwhile():
    box = Box()
    box.apply(deployment("web"))

    found = summarize(box.plan(deployment("web", replicas=0)).changes)

    assert ([ref.name for ref in found.scaled_down], found.stopped, found.restarts) == (["web"], (), ())


def test_blocked_object_restarts_nothing():
    box = Box()
    box.apply(deployment("web"), ApplyOptions(field_manager="other"))

    found = summarize(box.plan(deployment("web", "nginx:2")).changes)

    assert (found.restarts, found.images) == ((), ())


def test_names_that_match_no_object_are_noted():
    objects = ("apps/Deployment/default/web", "Deployment/default/wep")
    chosen = Replacement(objects=objects, kinds=("Deployment", "apps/Deployment", "batch/Job", "Jobs"))
    left_out = ("Deployment/default/web", "core/Secret/default/key")

    found = summarize(Box().plan(deployment("web")).changes, ApplyOptions(replacement=chosen, left_out=left_out))

    assert found.unmatched == ("batch/Job", "Jobs", "Deployment/default/wep")
    assert found.unmatched_left_out == ("core/Secret/default/key",)
