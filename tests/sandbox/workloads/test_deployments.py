"""Deployments of a simulated sandbox, as their controller leaves them."""

from __future__ import annotations

import pytest

from applyviz.sandbox.workloads import pod_sets
from tests.sandbox.workloads.conftest import World, workload


def deploy(world: World, image: str = "shop/web:1", **spec):
    return world.apply("deployments", workload("Deployment", image=image, **{"replicas": 3, **spec}))


def counts(world: World, name: str = "web") -> tuple[int, ...]:
    status = world.get("deployments", name)["status"]
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    return tuple(status.get(n, 0) for n in names)


def test_nothing_happens_without_the_simulation():
    world = World(simulates=False)
    deploy(world)
    world.settle(10)

    assert world.get("deployments", "web")["status"] == {}
    assert (world.items("pods"), world.items("replicasets", "apps/v1"), world.items("events")) == ([], [], [])


def test_pods_are_created_and_become_ready_after_seconds(world):
    deploy(world)
    assert world.pods() == []
    world.wait(1)
    assert world.pods() == ["0/1 ContainerCreating"] * 3
    assert counts(world) == (3, 3, 0, 0, 3)
    world.wait(2)
    assert world.pods() == ["0/1 Running"] * 3
    world.wait(1)

    assert world.pods() == ["1/1 Running"] * 3
    assert counts(world) == (3, 3, 3, 3, 0)
    assert world.conditions("deployments", "web") == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_names_labels_and_owners_are_those_of_the_controllers(world):
    deploy(world)
    world.settle(5)

    (held,), deployment = world.items("replicasets", "apps/v1"), world.get("deployments", "web")
    digest = held["metadata"]["labels"]["pod-template-hash"]
    assert held["metadata"]["name"] == f"web-{digest}"
    assert held["metadata"]["ownerReferences"][0] == {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": deployment["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    annotations = {"deployment.kubernetes.io/revision": "1"}
    limits = {"deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/max-replicas": "4"}
    assert deployment["metadata"]["annotations"] == annotations
    assert held["metadata"]["annotations"] == annotations | limits
    for pod in world.items("pods"):
        assert pod["metadata"]["labels"] == {"app": "web", "pod-template-hash": digest}
        assert pod["metadata"]["name"].startswith(f"web-{digest}-")
        assert pod["metadata"]["ownerReferences"][0]["name"] == held["metadata"]["name"]


def test_controller_owns_the_status_and_the_revision(world):
    deploy(world)
    world.settle(5)

    entries = {
        (e["manager"], e.get("subresource")): e for e in world.get("deployments", "web")["metadata"]["managedFields"]
    }
    assert entries.keys() == {("kubectl", None), ("kube-controller-manager", "status")}
    owned = entries["kube-controller-manager", "status"]["fieldsV1"]
    assert "f:deployment.kubernetes.io/revision" in owned["f:metadata"]["f:annotations"]
    assert "f:availableReplicas" in owned["f:status"]


def test_update_stays_within_surge_and_unavailable(world):
    deploy(world, replicas=4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    world.settle(5)
    deploy(world, "shop/web:2", replicas=4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})

    for _ in range(40):
        world.wait(1)
        replicas, _, _, available, _ = counts(world)
        assert replicas <= 5
        assert available >= 4
    assert counts(world) == (4, 4, 4, 4, 0)
    images = {pod["spec"]["containers"][0]["image"] for pod in world.items("pods")}
    assert images == {"shop/web:2"}


def test_recreate_ends_all_old_pods_first(world):
    strategy = {"type": "Recreate"}
    deploy(world, strategy=strategy)
    world.settle(5)
    deploy(world, "shop/web:2", strategy=strategy)

    for _ in range(12):
        world.wait(1)
        assert len({pod["spec"]["containers"][0]["image"] for pod in world.items("pods")}) <= 1
    assert counts(world) == (3, 3, 3, 3, 0)


@pytest.mark.parametrize(
    ("image", "word"),
    [
        ("shop/web:does-not-exist", "ImagePullBackOff"),
        ("shop/web:crash-loop", "CrashLoopBackOff"),
        ("Shop Web", "InvalidImageName"),
    ],
)
def test_bad_image_exceeds_the_deadline_and_old_pods_stay(world, image, word):
    deploy(world)
    world.settle(5)
    deploy(world, image, progressDeadlineSeconds=20)
    world.settle(30)

    assert sorted(world.pods()) == [f"0/1 {word}", *["1/1 Running"] * 3]
    assert world.conditions("deployments", "web") == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }


def test_image_that_never_gets_ready_says_so(world):
    deploy(world, "shop/web:never-ready")
    world.settle(10)

    assert world.pods() == ["0/1 Running"] * 3
    assert ("Unhealthy", "Pod") in world.events()


def test_rollback_uses_the_old_set_with_a_new_revision(world):
    for image in ("shop/web:1", "shop/web:2", "shop/web:1"):
        deploy(world, image)
        world.settle(20)

    held = {
        s["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: s
        for s in world.items("replicasets", "apps/v1")
    }
    assert {revision: s["spec"]["replicas"] for revision, s in held.items()} == {"2": 0, "3": 3}
    assert held["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


def test_old_sets_beyond_the_limit_are_deleted(world):
    for number in range(4):
        deploy(world, f"shop/web:{number}", revisionHistoryLimit=1)
        world.settle(20)

    assert len(world.items("replicasets", "apps/v1")) == 2


def test_scaling_changes_no_revision(world):
    deploy(world)
    world.settle(5)
    deploy(world, replicas=5)
    world.settle(5)
    assert counts(world) == (5, 5, 5, 5, 0)
    deploy(world, replicas=1)
    world.settle(5)

    assert counts(world) == (1, 1, 1, 1, 0)
    assert world.get("deployments", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


def test_scaling_during_a_stuck_rollout_is_shared(world):
    deploy(world, replicas=4)
    world.settle(5)
    deploy(world, "shop/web:does-not-exist", replicas=4)
    world.settle(5)
    deploy(world, "shop/web:does-not-exist", replicas=8)
    world.settle(5)

    wants = sorted(s["spec"]["replicas"] for s in world.items("replicasets", "apps/v1"))
    assert sum(wants) == 10
    assert wants[0] >= 2


def test_paused_deployment_starts_no_rollout(world):
    deploy(world)
    world.settle(5)
    deploy(world, "shop/web:2", paused=True)
    world.settle(10)
    assert len(world.items("replicasets", "apps/v1")) == 1
    deploy(world, "shop/web:2", paused=False)
    world.settle(20)

    assert counts(world) == (3, 3, 3, 3, 0)
    assert len(world.items("replicasets", "apps/v1")) == 2


def test_missing_account_is_a_replica_failure_until_it_exists(world):
    deploy(world, pod={"serviceAccountName": "robot"})
    world.settle(3)
    failure = world.conditions("deployments", "web")["ReplicaFailure"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}

    assert failure == ("True", "FailedCreate")
    assert ("FailedCreate", "ReplicaSet") in world.events()
    world.apply("serviceaccounts", account)
    world.settle(8)
    assert "ReplicaFailure" not in world.conditions("deployments", "web")
    assert counts(world) == (3, 3, 3, 3, 0)


def test_number_of_pods_is_limited(world, monkeypatch):
    monkeypatch.setattr(pod_sets, "MOST_PODS", 20)
    deploy(world, replicas=100000)
    world.settle(10)

    assert len(world.items("pods")) == 20
    (held,) = world.items("replicasets", "apps/v1")
    assert "exceeded quota" in held["status"]["conditions"][0]["message"]


def test_deleted_deployment_takes_its_sets_and_pods_along(world):
    deploy(world)
    world.settle(5)
    assert world.send("DELETE", "/apis/apps/v1/namespaces/default/deployments/web").is_ok
    assert world.pods() == ["1/1 Terminating"] * 3
    world.settle(5)

    assert (world.items("pods"), world.items("replicasets", "apps/v1")) == ([], [])


def test_pods_are_available_after_their_minimum_of_seconds(world):
    deploy(world, minReadySeconds=10)
    world.settle(8)
    assert counts(world) == (3, 3, 3, 0, 3)
    world.settle(8)

    assert counts(world) == (3, 3, 3, 3, 0)


def test_it_matters_nothing_how_often_somebody_reads():
    told = []
    for pauses in ([1] * 40, [40], [7, 3, 30]):
        world = World()
        deploy(world, "shop/web:does-not-exist", progressDeadlineSeconds=15)
        for pause in pauses:
            world.wait(pause)
            world.send("GET", "/api/v1/namespaces")
        status = world.get("deployments", "web")["status"]
        told.append([status, [pod["status"] for pod in world.items("pods")], sorted(world.events())])

    assert told[0] == told[1] == told[2]


def test_quiet_sandbox_costs_nothing(world):
    deploy(world, "shop/web:does-not-exist", progressDeadlineSeconds=15)
    world.settle(60)
    before = world.store.revision()
    world.settle(600)

    assert world.store.revision() == before
    assert world.store.get_meta("workload-timers") == {}
