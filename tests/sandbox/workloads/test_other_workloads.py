"""StatefulSets, DaemonSets, Jobs, and what a cluster provides to their Pods."""

from __future__ import annotations

import pytest

from applyviz.sandbox.workloads import controller_client
from tests.sandbox.workloads.conftest import workload

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful(world, image="shop/db:1", **spec):
    given = {"replicas": 3, "serviceName": "db", **spec}
    return world.apply("statefulsets", workload("StatefulSet", "db", image, **given))


def test_pods_of_a_stateful_set_come_one_after_the_other(world):
    stateful(world)
    seen = []
    for _ in range(16):
        world.wait(1)
        seen.append(tuple(world.pods()))

    assert max(sum("1/1" not in pod for pod in pods) for pods in seen) == 1
    assert seen[-1] == ("1/1 Running",) * 3
    names = [pod["metadata"]["name"] for pod in world.items("pods")]
    assert names == ["db-0", "db-1", "db-2"]
    labels = world.items("pods")[2]["metadata"]["labels"]
    status = world.get("statefulsets", "db")["status"]
    assert labels == {
        "app": "db",
        "apps.kubernetes.io/pod-index": "2",
        "controller-revision-hash": status["updateRevision"],
        "statefulset.kubernetes.io/pod-name": "db-2",
    }
    assert (status["currentRevision"], status["readyReplicas"]) == (status["updateRevision"], 3)


def test_stateful_set_is_updated_from_the_last_pod(world):
    stateful(world, podManagementPolicy="Parallel")
    world.settle(8)
    stateful(world, "shop/db:2", podManagementPolicy="Parallel")
    orders = []
    for _ in range(30):
        world.wait(1)
        orders.append("".join(pod["spec"]["containers"][0]["image"][-1] for pod in world.items("pods")))

    assert list(dict.fromkeys(o for o in orders if len(o) == 3)) == ["111", "112", "122", "222"]
    status = world.get("statefulsets", "db")["status"]
    assert (status["currentRevision"], status["updatedReplicas"]) == (status["updateRevision"], 3)
    assert len(world.items("controllerrevisions", "apps/v1")) == 2


@pytest.mark.parametrize("start", [0, 5])
def test_partition_keeps_the_first_pods(world, start):
    partition = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
    strategy = {**partition, "ordinals": {"start": start}}
    stateful(world, **strategy)
    world.settle(15)
    stateful(world, "shop/db:2", **strategy)
    world.settle(20)

    assert [pod["spec"]["containers"][0]["image"][-1] for pod in world.items("pods")] == ["1", "1", "2"]


def test_claims_are_made_and_bound_and_outlive_their_pods(world):
    stateful(world, volumeClaimTemplates=[CLAIM])
    world.settle(20)
    claims = {c["metadata"]["name"]: c["status"]["phase"] for c in world.items("persistentvolumeclaims")}
    assert claims == {f"data-db-{n}": "Bound" for n in range(3)}
    stateful(world, replicas=1, volumeClaimTemplates=[CLAIM])
    world.settle(15)

    assert [pod["metadata"]["name"] for pod in world.items("pods")] == ["db-0"]
    assert len(world.items("persistentvolumeclaims")) == 3


def test_daemon_set_runs_on_the_one_node(world):
    world.apply("daemonsets", workload("DaemonSet", "agent"))
    world.settle(6)
    assert world.pods() == ["1/1 Running"]
    assert world.items("pods")[0]["spec"]["nodeName"] == "sandbox"
    status = world.get("daemonsets", "agent")["status"]
    assert (status["desiredNumberScheduled"], status["numberAvailable"], status["updatedNumberScheduled"]) == (1, 1, 1)
    world.apply("daemonsets", workload("DaemonSet", "agent", "shop/agent:does-not-exist"))
    world.settle(20)

    assert world.pods() == ["0/1 ImagePullBackOff"]
    assert world.get("daemonsets", "agent")["status"]["numberUnavailable"] == 1


def test_job_completes_and_keeps_its_pod(world):
    world.apply("jobs", workload("Job", "once", completions=2, parallelism=1, pod={"restartPolicy": "Never"}))
    world.settle(30)

    assert world.pods() == ["0/1 Completed"] * 2
    assert world.conditions("jobs", "once", "batch/v1")["Complete"] == ("True", "CompletionsReached")
    status = world.get("jobs", "once", "batch/v1")["status"]
    assert (status["succeeded"], "active" in status, status["completionTime"] > status["startTime"]) == (2, False, True)


def test_pods_of_a_job_without_completions_may_finish_after_the_first_success(world):
    for count in (1, 2):
        world.apply("jobs", workload("Job", "queue", parallelism=count, pod={"restartPolicy": "Never"}))
        world.wait(4)
    world.settle(30)

    assert world.pods() == ["0/1 Completed"] * 2


def test_job_that_crashes_fails_after_its_retries(world):
    job = workload("Job", "once", "shop/job:crash-loop", backoffLimit=1, pod={"restartPolicy": "Never"})
    world.apply("jobs", job)
    world.settle(60)

    assert world.pods() == ["0/1 Error"] * 2
    assert world.conditions("jobs", "once", "batch/v1")["Failed"] == ("True", "BackoffLimitExceeded")


def test_suspended_job_waits(world):
    job = workload("Job", "once", suspend=True, pod={"restartPolicy": "Never"})
    world.apply("jobs", job)
    world.settle(10)
    assert (world.pods(), world.conditions("jobs", "once", "batch/v1")["Suspended"][0]) == ([], "True")
    world.apply("jobs", {**job, "spec": {**job["spec"], "suspend": False}})
    world.settle(15)

    assert world.pods() == ["0/1 Completed"]


def test_cron_jobs_start_nothing(world):
    template = {"spec": {"template": workload("Job", pod={"restartPolicy": "Never"})["spec"]["template"]}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    world.apply("cronjobs", {**body, "spec": {"schedule": "* * * * *", "jobTemplate": template}})
    world.settle(120)

    assert (world.items("jobs", "batch/v1"), world.pods()) == ([], [])


NEEDS = [
    ({"container": {"envFrom": [{"configMapRef": {"name": "web"}}]}}, "CreateContainerConfigError", "configmaps"),
    ({"container": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "web", "key": "a"}}}]}},
     "CreateContainerConfigError", "secrets"),
    ({"pod": {"volumes": [{"name": "v", "configMap": {"name": "web"}}]}}, "ContainerCreating", "configmaps"),
    ({"pod": {"volumes": [{"name": "v", "secret": {"secretName": "web", "items": [{"key": "a", "path": "a"}]}}]}},
     "ContainerCreating", "secrets"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "word", "plural"), NEEDS)
def test_pod_waits_for_what_it_reads(world, parts, word, plural):
    world.apply("deployments", workload("Deployment", replicas=1, **parts))
    world.settle(10)
    assert world.pods() == [f"0/1 {word}"]
    assert {("FailedMount", "Pod"), ("Failed", "Pod")} & world.events()

    kind = {"configmaps": "ConfigMap", "secrets": "Secret"}[plural]
    data = {"a": "YQ=="}
    world.apply(plural, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "web"}, "data": data})
    world.settle(10)

    assert world.pods() == ["1/1 Running"]


def test_optional_references_may_be_absent(world):
    source = {"configMapRef": {"name": "web", "optional": True}}
    world.apply("deployments", workload("Deployment", replicas=1, container={"envFrom": [source]}))
    world.settle(6)

    assert world.pods() == ["1/1 Running"]


def test_missing_key_is_named(world):
    world.apply(
        "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"b": "x"}}
    )
    source = {"configMapKeyRef": {"name": "web", "key": "a"}}
    container = {"env": [{"name": "A", "valueFrom": source}]}
    world.apply("deployments", workload("Deployment", replicas=1, container=container))
    world.settle(6)

    state = world.items("pods")[0]["status"]["containerStatuses"][0]["state"]["waiting"]
    assert state["message"] == "couldn't find key a in ConfigMap default/web"


def test_values_of_secrets_are_in_no_status_and_no_event(world):
    world.apply(
        "secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"b": "aHVudGVyMg=="}}
    )
    source = {"secretKeyRef": {"name": "s", "key": "a"}}
    world.apply(
        "deployments", workload("Deployment", replicas=1, container={"env": [{"name": "A", "valueFrom": source}]})
    )
    world.settle(10)

    told = str([pod["status"] for pod in world.items("pods")]) + str(world.items("events"))
    assert ("hunter2" in told, "aHVudGVyMg" in told, "couldn't find key" in told) == (False, False, True)


def test_pod_waits_for_its_claim(world):
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}
    world.apply("deployments", workload("Deployment", replicas=1, pod={"volumes": [volume]}))
    world.settle(5)
    assert world.pods() == ["0/1 Pending"]
    assert ("FailedScheduling", "Pod") in world.events()
    world.apply(
        "persistentvolumeclaims",
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"}, "spec": CLAIM["spec"]},
    )
    world.settle(8)

    assert world.pods() == ["1/1 Running"]


def test_load_balancer_gets_an_address(world):
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]}
    world.apply("services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec})
    world.settle(3)

    (ingress,) = world.get("services", "web", "v1")["status"]["loadBalancer"]["ingress"]
    assert ingress["ip"].startswith("198.51.100.")


@pytest.mark.parametrize(
    ("limit", "desired", "allowed"),
    [({"minAvailable": 2}, 2, 1), ({"maxUnavailable": 1}, 2, 1), ({"minAvailable": "100%"}, 3, 0)],
)
def test_budget_counts_healthy_pods(world, limit, desired, allowed):
    spec = {"selector": {"matchLabels": {"app": "web"}}, **limit}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}
    world.apply("poddisruptionbudgets", body)
    world.apply("deployments", workload("Deployment", replicas=3))
    world.settle(6)

    status = world.get("poddisruptionbudgets", "web", "policy/v1")["status"]
    names = ("currentHealthy", "expectedPods", "desiredHealthy", "disruptionsAllowed", "observedGeneration")
    assert [status[name] for name in names] == [3, 3, desired, allowed, 1]


def scaler(world, **limits):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 4, "maxReplicas": 6, **limits}
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    world.apply("horizontalpodautoscalers", {**body, "spec": spec})


def test_autoscaler_scales_into_its_limits_and_knows_no_more(world):
    scaler(world)
    world.settle(3)
    assert world.conditions("horizontalpodautoscalers", "web", "autoscaling/v2")["AbleToScale"][0] == "False"
    world.apply("deployments", workload("Deployment", replicas=1))
    world.settle(10)

    deployment = world.get("deployments", "web")
    assert deployment["spec"]["replicas"] == 4
    assert ("kube-controller-manager", "scale") in {
        (e["manager"], e.get("subresource")) for e in deployment["metadata"]["managedFields"]
    }
    assert world.conditions("horizontalpodautoscalers", "web", "autoscaling/v2") == {
        "AbleToScale": ("True", "SucceededGetScale"),
        "ScalingActive": ("False", "FailedGetResourceMetric"),
    }


def test_logs_say_that_nothing_runs(world):
    world.apply("deployments", workload("Deployment", replicas=1))
    world.settle(6)
    name = world.items("pods")[0]["metadata"]["name"]
    headers = {"authorization": "Bearer token"}

    def log(query: str = "") -> tuple[int, str]:
        answer = world.face.handle("GET", f"/api/v1/namespaces/default/pods/{name}/log", query, headers)
        return answer.status, answer.body.decode()

    assert log() == (200, "This is a sandbox: it runs no containers, so web prints nothing.\n")
    assert log("container=nobody")[0] == 400
    assert world.face.handle("GET", "/api/v1/namespaces/default/pods/gone/log", "", headers).status == 404
    assert world.face.handle("GET", "/api/v1/namespaces/default/services/web/log", "", headers).status == 404


def test_log_of_a_waiting_container_is_refused(world):
    world.apply("deployments", workload("Deployment", image="shop/web:does-not-exist", replicas=1))
    world.settle(20)
    name = world.items("pods")[0]["metadata"]["name"]
    path = f"/api/v1/namespaces/default/pods/{name}/log"

    answer = world.face.handle("GET", path, "", {"authorization": "Bearer token"})

    assert answer.status == 400
    assert "trying and failing to pull image" in answer.body.decode()


def test_events_are_limited(world, monkeypatch):
    monkeypatch.setattr(controller_client, "MOST_EVENTS", 30)
    for number in range(8):
        world.apply("deployments", workload("Deployment", f"web-{number}", replicas=2))
        world.settle(5)

    assert len(world.items("events")) == 30
