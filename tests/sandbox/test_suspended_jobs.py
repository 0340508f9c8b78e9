"""What a Job's template may still become, the labels that it gives the Job, and what counts as a generation.

Rules: `validatePodTemplateUpdate` (pkg/apis/batch/validation), `SetDefaults_Job` (pkg/apis/batch/v1) and the strategy
of NetworkPolicy (pkg/registry/networking/networkpolicy) of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, MERGE_PATCH, Request
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

JOBS = "/apis/batch/v1/namespaces/default/jobs"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
CONTAINER = {"name": "c", "image": "tool:1"}
ELSEWHERE = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    }
}
APART = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}}]}


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(MemoryStore(), lambda: datetime.now(UTC))


def make_job(sandbox: Sandbox, *, suspend: bool, status: dict[str, Any] | None = None, **pod: Any) -> None:
    spec = {"suspend": suspend, "template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], **pod}}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": spec}
    assert sandbox.handle(Request("POST", JOBS, {}, JSON, body)).is_ok
    if status is not None:
        answer = sandbox.handle(Request("PATCH", f"{JOBS}/once/status", {}, MERGE_PATCH, {"status": status}))
        assert answer.is_ok, answer.message


def change_pod(sandbox: Sandbox, **pod: Any) -> list[str]:
    """The fields that an update of the pod spec is refused for."""
    body = {"spec": {"template": {"spec": pod}}}
    answer = sandbox.handle(Request("PATCH", f"{JOBS}/once", {}, MERGE_PATCH, body))
    return [] if answer.is_ok else [cause["field"] for cause in answer.body["details"]["causes"]]


FREE: list[dict[str, Any]] = [
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"key": "spot", "operator": "Exists"}]},
    {"affinity": {"nodeAffinity": ELSEWHERE}},
    {"containers": [{**CONTAINER, "resources": {"limits": {"cpu": "1"}}}]},
]
FIXED: list[dict[str, Any]] = [
    {"containers": [{**CONTAINER, "image": "tool:2"}]},
    {"containers": [CONTAINER, {**CONTAINER, "name": "d"}]},
    {"containers": [{**CONTAINER, "name": "d", "resources": {"limits": {"cpu": "1"}}}]},
    {"initContainers": [{**CONTAINER, "name": "i"}]},
    {"affinity": {"podAntiAffinity": APART}},
]


@pytest.mark.parametrize("pod", FREE)
def test_suspended_job_takes_other_scheduling_and_resources(sandbox, pod):
    make_job(sandbox, suspend=True)

    assert change_pod(sandbox, **pod) == []


@pytest.mark.parametrize("pod", FIXED)
def test_suspended_job_takes_no_other_change(sandbox, pod):
    make_job(sandbox, suspend=True)

    assert change_pod(sandbox, **pod) == ["spec.template.spec"]


@pytest.mark.parametrize("pod", [*FREE, *FIXED])
def test_job_that_is_not_suspended_takes_no_change(sandbox, pod):
    make_job(sandbox, suspend=False)

    assert change_pod(sandbox, **pod) == ["spec.template"]


_SUSPENDED = [{"type": "Suspended", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        ({"startTime": "2026-01-01T00:00:00Z"}, ["spec.template"]),
        ({"startTime": "2026-01-01T00:00:00Z", "conditions": _SUSPENDED}, []),
        ({"startTime": "2026-01-01T00:00:00Z", "conditions": _SUSPENDED, "active": 1}, ["spec.template"]),
        ({"active": 1}, ["spec.template"]),
    ],
)
def test_job_with_pods_takes_no_change_until_it_stopped(sandbox, status, refused):
    make_job(sandbox, suspend=True, status=status)

    assert change_pod(sandbox, nodeSelector={"disk": "ssd"}) == refused


def test_node_affinity_may_change_and_go_while_the_rest_of_the_affinity_stays(sandbox):
    make_job(sandbox, suspend=True, affinity={"nodeAffinity": ELSEWHERE, "podAntiAffinity": APART})

    assert change_pod(sandbox, affinity={"nodeAffinity": None}) == []
    assert change_pod(sandbox, affinity={"nodeAffinity": ELSEWHERE}) == []
    assert change_pod(sandbox, affinity=None) == ["spec.template.spec"]


def test_affinity_of_nodes_alone_may_go(sandbox):
    make_job(sandbox, suspend=True, affinity={"nodeAffinity": ELSEWHERE})

    assert change_pod(sandbox, affinity=None) == []


def test_template_labels_are_those_of_the_job_that_has_none(sandbox):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    answer = sandbox.handle(Request("PATCH", f"{JOBS}/once", {"fieldManager": "m"}, APPLY_PATCH, body))

    labels = answer.body["metadata"]["labels"]
    assert labels == answer.body["spec"]["template"]["metadata"]["labels"]
    assert {"app", "job-name", "batch.kubernetes.io/controller-uid"} <= labels.keys()


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"ingress": []}, True),
        ({"ingress": [{"from": []}]}, True),
        ({"podSelector": {"matchLabels": {}}}, True),
        ({"podSelector": {}}, False),
        ({"egress": None}, False),
    ],
)
def test_policy_counts_each_write_of_an_empty_list(sandbox, spec, counts):
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"}}
    body["spec"] = {"podSelector": {}, **{k: v for k, v in spec.items() if v is not None}}
    assert sandbox.handle(Request("POST", POLICIES, {}, JSON, body)).is_ok
    for times in (1, 2):
        answer = sandbox.handle(Request("PATCH", f"{POLICIES}/p", {}, MERGE_PATCH, {"spec": spec}))
        assert answer.body["metadata"]["generation"] == 1 + times * counts


@pytest.mark.parametrize(
    ("field", "policy", "printed"),
    [
        (
            "podFailurePolicy",
            {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}]},
            '{"Rules":[{"Action":"Ignore","OnExitCodes":{"ContainerName":null,"Operator":"In","Values":[1,2]},'
            '"OnPodConditions":null}]}',
        ),
        (
            "podFailurePolicy",
            {"rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
            '{"Rules":[{"Action":"Count","OnExitCodes":null,'
            '"OnPodConditions":[{"Type":"DisruptionTarget","Status":"True"}]}]}',
        ),
        ("podFailurePolicy", {"rules": None}, '{"Rules":null}'),
        (
            "successPolicy",
            {"rules": [{"succeededCount": 1}]},
            '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}',
        ),
        ("successPolicy", {"rules": None}, '{"Rules":null}'),
    ],
)
def test_policy_that_may_not_change_is_printed_as_the_server_prints_it(sandbox, field, policy, printed):
    make_job(sandbox, suspend=False)

    answer = sandbox.handle(Request("PATCH", f"{JOBS}/once", {}, MERGE_PATCH, {"spec": {field: policy}}))

    assert f"spec.{field}: Invalid value: {printed}: field is immutable" in answer.message


@pytest.mark.parametrize(
    ("field", "policy"),
    [
        ("podFailurePolicy", {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}),
        ("successPolicy", {"rules": [{"succeededCount": 1}]}),
    ],
)
def test_policy_that_may_not_be_removed_is_null(sandbox, field, policy):
    spec = {"completionMode": "Indexed", "completions": 2, field: policy}
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {**spec, "template": template},
    }
    assert sandbox.handle(Request("POST", JOBS, {}, JSON, body)).is_ok

    answer = sandbox.handle(Request("PATCH", f"{JOBS}/once", {}, MERGE_PATCH, {"spec": {field: None}}))

    assert f"spec.{field}: Invalid value: null: field is immutable" in answer.message


def test_fields_that_may_not_change_are_named_in_the_order_of_the_server(sandbox):
    make_job(sandbox, suspend=False)
    spec = {
        "completionMode": "Indexed",
        "podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "A", "status": "True"}]}]},
        "backoffLimitPerIndex": 1,
        "managedBy": "example.com/other",
        "successPolicy": {"rules": [{"succeededCount": 1}]},
    }

    answer = sandbox.handle(Request("PATCH", f"{JOBS}/once", {}, MERGE_PATCH, {"spec": spec}))

    named = [cause["field"] for cause in answer.body["details"]["causes"] if "immutable" in cause["message"]]
    assert [field for field in named if field != "spec.template"] == [f"spec.{name}" for name in spec]
