"""How many pods are ready, and why do the others not start?"""

from __future__ import annotations

import pytest

from applyviz.engine.readiness.pods import (
    PodCounts,
    PodProblem,
    count_pods,
    find_pod_problems,
    name_reason,
    reads_secrets,
    write_selector,
)


def workload(kind="Deployment", spec=None, generation=1, **status):
    return {
        "kind": kind,
        "metadata": {"generation": generation},
        "spec": {"replicas": 3, **(spec or {})},
        "status": status,
    }


COUNTS = [
    (workload(replicas=4, updatedReplicas=2, readyReplicas=3), PodCounts(1, 3, 3)),
    (workload(replicas=3, updatedReplicas=3, readyReplicas=2), PodCounts(2, 2, 3)),
    (workload(replicas=3, updatedReplicas=1, readyReplicas=0), PodCounts(0, 0, 3)),
    (workload(replicas=3, updatedReplicas=3, readyReplicas=3, observedGeneration=0), PodCounts(0, 3, 3)),
    (workload(replicas=3, updatedReplicas=3, readyReplicas=3, observedGeneration=1), PodCounts(3, 3, 3)),
    (workload("StatefulSet", {"replicas": None}, replicas=1, updatedReplicas=1, readyReplicas=1), PodCounts(1, 1, 1)),
    (workload("ReplicaSet", replicas=3, readyReplicas=2), PodCounts(2, 2, 3)),
    (
        workload(
            "DaemonSet",
            currentNumberScheduled=5,
            updatedNumberScheduled=2,
            numberReady=4,
            desiredNumberScheduled=5,
        ),
        PodCounts(1, 4, 5),
    ),
    (workload("Deployment", replicas="many"), PodCounts(0, 0, 3)),
    (workload("Service"), None),
]


@pytest.mark.parametrize(("given", "counts"), COUNTS)
def test_pods_are_counted_from_the_status(given, counts):
    assert count_pods(given) == counts


def test_selector_is_written_as_the_server_takes_it():
    rules = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "NotIn", "values": ["c"]},
        {"key": "app", "operator": "Exists"},
        {"key": "canary", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"z": "1", "app": "web"}, "matchExpressions": rules}

    assert (
        write_selector(workload(spec={"selector": selector})) == "app=web,z=1,tier in (a,b),old notin (c),app,!canary"
    )
    assert write_selector(workload()) == ""


def pod(name="web-1", containers=(), conditions=(), spec=None, initial=(), **metadata):
    status = {
        "containerStatuses": list(containers),
        "initContainerStatuses": list(initial),
        "conditions": list(conditions),
    }
    return {"metadata": {"name": name, **metadata}, "spec": spec or {}, "status": status}


def waiting(reason, message="", name="app", image="web:2"):
    return {"name": name, "image": image, "state": {"waiting": {"reason": reason, "message": message}}}


PULL = waiting("ImagePullBackOff", "Back-off pulling image")


def test_alike_problems_are_one_with_its_number_and_the_most_frequent_comes_first():
    crash = waiting("CrashLoopBackOff")
    pods = [pod("a", [crash]), pod("b", [PULL]), pod("c", [PULL])]

    found = find_pod_problems(pods)

    assert found == (
        PodProblem("ImagePullBackOff", 2, "b", "app", "web:2", "Back-off pulling image"),
        PodProblem("CrashLoopBackOff", 1, "a", "app", "web:2"),
    )


def test_init_containers_and_ended_containers_are_seen():
    ended = {"name": "init", "image": "init:1", "state": {"terminated": {"reason": "Error"}}}
    done = {"name": "init", "image": "init:1", "state": {"terminated": {"reason": "Completed"}}}

    found = find_pod_problems([pod("a", [PULL], initial=[ended]), pod("b", [PULL], initial=[done])])

    assert [(one.reason, one.container) for one in found] == [("Error", "init"), ("ImagePullBackOff", "app")]


@pytest.mark.parametrize("state", [waiting("ContainerCreating"), waiting("not a word"), {"name": "app"}])
def test_pods_that_are_starting_have_no_problem(state):
    assert find_pod_problems([pod(containers=[state])]) == ()


def test_pods_that_are_being_deleted_have_no_problem():
    assert find_pod_problems([pod(containers=[PULL], deletionTimestamp="2026-06-01T00:00:00Z")]) == ()


@pytest.mark.parametrize(("reason", "told"), [("Unschedulable", "Unschedulable"), ("0/3 nodes", "Unschedulable")])
def test_pod_that_is_not_scheduled_says_why(reason, told):
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "no node has room"}

    assert find_pod_problems([pod(conditions=[condition])]) == (
        PodProblem(told, 1, "web-1", message="no node has room"),
    )


def event(reason, message="", at="2026-06-01T00:00:00Z", of="web-1", type_="Warning"):
    return {
        "type": type_,
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
        "involvedObject": {"name": of},
    }


def test_last_warning_tells_where_no_container_does():
    events = [
        event("FailedMount", "later", "2026-06-01T00:00:09Z"),
        event("Unhealthy", "earlier", "2026-06-01T00:00:01Z"),
        event("Pulled", "fine", "2026-06-01T00:00:10Z", type_="Normal"),
        event("BackOff", of="other"),
    ]
    ready = pod("other", conditions=[{"type": "Ready", "status": "True"}])

    assert find_pod_problems([pod(), ready], events) == (PodProblem("FailedMount", 1, "web-1", message="later"),)


SECRETS = [
    {"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}}]}]},
    {"containers": [{"envFrom": [{"secretRef": {"name": "keys"}}]}]},
    {"volumes": [{"secret": {"secretName": "keys"}}]},
]


@pytest.mark.parametrize("spec", SECRETS)
def test_nothing_that_others_wrote_is_told_of_a_pod_that_reads_a_secret(spec):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "s3cret"}
    found = find_pod_problems(
        [
            pod("a", [waiting("CrashLoopBackOff", "s3cret")], spec=spec),
            pod("b", conditions=[condition], spec=spec),
            pod("c", spec=spec),
        ],
        [event("Unhealthy", "s3cret", of="c")],
    )

    assert [(one.reason, one.message) for one in found] == [
        ("CrashLoopBackOff", ""),
        ("Unhealthy", ""),
        ("Unschedulable", ""),
    ]
    assert not reads_secrets({"spec": {"containers": [{"env": [{"value": "secret"}]}]}})


def test_reasons_are_words_and_nothing_else():
    assert [name_reason(text) for text in ("OOMKilled", "see s3cret", 7, None)] == ["OOMKilled", "", "", ""]
