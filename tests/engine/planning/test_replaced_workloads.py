"""Replaced objects have risks about their pods and addresses, and no risks of updates."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, Replacement
from applyviz.engine.risks.deletions import ADDRESS_LOST
from applyviz.engine.risks.replaced_pods import PODS_RENUMBERED
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.sentences import describe_risk
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_replacement import JOB, SERVICE

WORKLOAD = """apiVersion: apps/v1
kind: KIND
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  serviceName: first
  selector: {matchLabels: {app: LABEL}}
  template:
    metadata: {labels: {app: LABEL, tier: front}}
    spec: {containers: [{name: main, image: "x:1"}]}
"""
STATEFUL_SET = WORKLOAD.replace("KIND", "StatefulSet").replace("LABEL", "a")
DEPLOYMENT = WORKLOAD.replace("KIND", "Deployment").replace("  serviceName: first\n", "")
DAEMON_SET = DEPLOYMENT.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "")
POD = """apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: main, image: "x:1"}], hostname: first}
"""
PATHS = {
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets/web",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments/web",
    "DaemonSet": "/apis/apps/v1/namespaces/default/daemonsets/web",
    "Job": "/apis/batch/v1/namespaces/default/jobs/migrate",
    "Pod": "/api/v1/namespaces/default/pods/web",
}


def replace_object(before: str, after: str, *, status: dict | None = None, **options: object) -> PlannedObject:
    """Plan the replacement of an object that kubectl applied."""
    box = Box()
    box.apply(before, ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply"))
    kind = before.partition("kind: ")[2].partition("\n")[0]
    if status:
        assert box.handle(Request("PATCH", f"{PATHS[kind]}/status", {}, MERGE_PATCH, {"status": status})).is_ok
    kinds = Replacement(kinds=("StatefulSet", "Deployment", "DaemonSet", "Job", "Pod", "Service"))
    change = box.plan_one(after, ApplyOptions(replacement=kinds, **options), server=EstimatingServer())
    assert change.operation is Operation.REPLACE
    return change


def describe_pods(change: PlannedObject) -> list[tuple[str, str]]:
    return [(one.level.value, describe_risk(one)) for one in change.risks if one.kind is PODS_RESTART]


@pytest.mark.parametrize(
    ("before", "after", "status", "told"),
    [
        (
            STATEFUL_SET,
            STATEFUL_SET.replace("first", "second"),
            None,
            "3 pods stop with the deleted StatefulSet, and 3 new ones start: no pod runs until the first new one is "
            "ready.",
        ),
        (
            DEPLOYMENT.replace("LABEL", "a"),
            DEPLOYMENT.replace("LABEL", "b").replace("replicas: 3", "replicas: 1"),
            None,
            "3 pods stop with the deleted Deployment, and 1 new one starts: no pod runs until the first new one is "
            "ready.",
        ),
        (
            DAEMON_SET.replace("LABEL", "a"),
            DAEMON_SET.replace("LABEL", "b"),
            {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": 2},
            "2 pods stop with the deleted DaemonSet, and new ones start: on every node, no pod runs until the new one "
            "is ready.",
        ),
        (
            JOB.replace("IMAGE", "a:1"),
            JOB.replace("IMAGE", "a:2"),
            {"active": 1},
            "1 pod stops with the deleted Job, and the new one runs from the beginning.",
        ),
        (
            POD,
            POD.replace("first", "second"),
            None,
            "The pod stops, and a new one starts: no pod runs until the new one is ready.",
        ),
    ],
    ids=["StatefulSet", "Deployment", "DaemonSet", "Job", "Pod"],
)
def test_pods_stop_with_their_owner_and_new_ones_start(before, after, status, told):
    """No update strategy protects them, whether the template changes or not."""
    change = replace_object(before, after, status=status)

    level = "medium" if change.ref.gvk.kind == "Job" else "high"
    assert describe_pods(change) == [(level, told)]
    found = summarize((change,))
    assert [one.is_new for one in found.restarts] == [True]
    assert found.stopped == (() if change.ref.gvk.kind == "Job" else (change.ref,))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (STATEFUL_SET.replace("first", "second"), []),
        (
            STATEFUL_SET.replace("first", "second").replace("x:1", "x:2"),
            [("medium", "3 pods restart because the pod template changes: rolling update.")],
        ),
        (STATEFUL_SET.replace("app: a", "app: b"), []),
    ],
    ids=["same template", "other template", "other selector"],
)
def test_pods_that_stay_are_those_of_the_new_workload_if_it_selects_them(after, told):
    change = replace_object(STATEFUL_SET, after, propagation=Propagation.ORPHAN)

    assert describe_pods(change) == told
    assert summarize((change,)).stopped == ()


def test_replaced_workload_without_replicas_is_scaled_to_zero():
    change = replace_object(STATEFUL_SET, STATEFUL_SET.replace("first", "second").replace("replicas: 3", "replicas: 0"))

    found = summarize((change,))
    assert (describe_pods(change), found.stopped, found.scaled_down) == ([], (), (change.ref,))


@pytest.mark.parametrize(("label", "is_adopting"), [("a", True), ("b", False)])
def test_orphaned_pods_are_scaled_to_zero_only_by_a_workload_that_adopts_them(label, is_adopting):
    after = STATEFUL_SET.replace("first", "second").replace("app: a", f"app: {label}").replace("s: 3", "s: 0")

    change = replace_object(STATEFUL_SET, after, propagation=Propagation.ORPHAN)

    assert summarize((change,)).scaled_down == ((change.ref,) if is_adopting else ())


@pytest.mark.parametrize(
    ("label", "propagation", "is_renumbered"),
    [("a", Propagation.BACKGROUND, False), ("a", Propagation.ORPHAN, True), ("b", Propagation.ORPHAN, False)],
)
def test_only_pods_that_stay_are_renumbered(label, propagation, is_renumbered):
    """All pods of a deleted StatefulSet go; of adopted ones, those whose numbers the new one does not want."""
    after = STATEFUL_SET.replace("first", "second\n  ordinals: {start: 2}").replace("app: a", f"app: {label}")

    change = replace_object(STATEFUL_SET, after, propagation=propagation)

    assert (PODS_RENUMBERED in [one.kind for one in change.risks]) is is_renumbered


@pytest.mark.parametrize(
    ("status", "suspended", "runs"), [({"succeeded": 1}, "", True), ({}, "  suspend: true\n", False)]
)
def test_finished_job_runs_again_unless_it_is_suspended(status, suspended, runs):
    after = JOB.replace("IMAGE", "a:2").replace("spec:\n  template", f"spec:\n{suspended}  template")

    change = replace_object(JOB.replace("IMAGE", "a:1"), after, status=status)

    told = " ".join(describe_risk(one) for one in change.risks)
    assert ("The new Job runs from the beginning." in told) == runs
    assert describe_pods(change) == []


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("NodePort", " and gets another one: clients that keep using the old one fail."),
        ("ClusterIP", ": clients that keep using it fail."),
    ],
)
def test_addresses_of_a_replaced_service_are_lost_once(kind, told):
    before = SERVICE.replace("ADDRESS", "10.96.0.20")

    change = replace_object(before, SERVICE.replace("ADDRESS", "10.96.0.21").replace("NodePort", kind))

    (risk,) = (one for one in change.risks if one.kind is ADDRESS_LOST)
    assert describe_risk(risk).endswith(told)


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_new_object_has_no_risks_of_an_update(mode):
    """It keeps nothing of the live object: neither fields of another manager nor fields without a record."""
    box = Box()
    labeled = STATEFUL_SET.replace("default}", "default, labels: {team: a}}", 1)
    box.apply(labeled)
    box.apply(labeled.partition("spec:")[0], ApplyOptions(field_manager="other"))
    options = ApplyOptions(mode=mode, replacement=Replacement(kinds=("StatefulSet",)))

    change = box.plan_one(STATEFUL_SET.replace("first", "second"), options, server=EstimatingServer())

    assert change.operation is Operation.REPLACE
    assert {one.kind.slug for one in change.risks} == {"replace", "pods-restart"}
