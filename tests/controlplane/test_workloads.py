"""Simulated workloads beside those of a real kube-controller-manager, and the real kubectl that follows a rollout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.test_sandbox_kubectl import Installation, end, read_lines

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
PLURALS = {"Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "Pod": "pods"}
SPACE = "workloads"
NOT_COMPARED = ("uid", "resourceVersion", "creationTimestamp", "name", "generateName")


def _workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "web", "image": "shop/web:does-not-exist"}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    body = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


OBJECTS = [
    _workload("Deployment", "web", replicas=3),
    _workload("StatefulSet", "db", replicas=2, serviceName="db"),
]


@pytest.fixture(scope="module")
def real(managed_plane: ControlPlane) -> list[dict[str, Any]]:
    def kubectl(*arguments: str, **options: Any) -> str:
        return managed_plane.kubectl("-n", SPACE, *arguments, **options).stdout

    managed_plane.kubectl("create", "namespace", SPACE)
    kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(OBJECTS))
    kubectl("wait", "--for=jsonpath={.status.unavailableReplicas}=3", "deployment/web", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.replicas}=1", "statefulset/db", "--timeout=60s")
    found = kubectl("get", "deployments,replicasets,statefulsets,pods", "-o", "json", "--show-managed-fields")
    items = json.loads(found)["items"]
    for item in items:
        item["metadata"]["namespace"] = "default"  # that of the simulated objects
    return items


@pytest.fixture(scope="module")
def simulated() -> list[dict[str, Any]]:
    now = [datetime(2026, 6, 1, tzinfo=UTC)]
    sandbox = Sandbox(MemoryStore(), lambda: now[0], simulates_workloads=True)
    root = "/apis/apps/v1/namespaces/default"
    for obj in OBJECTS:
        path = f"{root}/{PLURALS[obj['kind']]}/{obj['metadata']['name']}"
        assert sandbox.handle(Request("PATCH", path, {"fieldManager": "kubectl"}, APPLY_PATCH, obj)).is_ok
    now[0] += timedelta(seconds=1)
    found = []
    for kind, plural in PLURALS.items():
        version = "v1" if kind == "Pod" else "apps/v1"
        base = "/api/v1/namespaces/default" if kind == "Pod" else root
        items = sandbox.handle(Request("GET", f"{base}/{plural}")).body["items"]
        found += [{"apiVersion": version, "kind": kind, **item} for item in items]
    return found


def _owned(obj: dict[str, Any], subresource: str | None) -> list[Any]:
    """The fields that the controller owns through one subresource, with the uid of an owner made equal."""
    return [
        json.loads(re.sub(r'uid\\":\\"[^"]*\\"', "uid", json.dumps(entry["fieldsV1"])))
        for entry in obj["metadata"].get("managedFields") or ()
        if entry["manager"] == "kube-controller-manager" and entry.get("subresource") == subresource
    ]


def _plain(value: Any, digests: dict[str, str]) -> Any:
    """A value without what differs between two clusters: identities, times, digits of hashes."""
    text = json.dumps(value)
    for digest, word in digests.items():
        text = text.replace(digest, word)
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text))


def _describe(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    obj = sorted((o for o in objects if o["kind"] == kind), key=lambda o: o["metadata"]["name"])[0]
    meta = obj["metadata"]
    digests = {
        label[key].removeprefix("db-"): "HASH"
        for o in objects
        for label in [o["metadata"].get("labels") or {}]
        for key in ("pod-template-hash", "controller-revision-hash")
        if key in label
    }
    owners = [{k: v for k, v in owner.items() if k != "uid"} for owner in meta.get("ownerReferences") or ()]
    said = {
        "metadata": {k: v for k, v in meta.items() if k not in (*NOT_COMPARED, "managedFields", "ownerReferences")},
        "owners": owners,
        "spec": {k: v for k, v in obj["spec"].items() if k != "nodeName"},
        "owned": _owned(obj, None),
    }
    if kind != "Pod":  # the real Pods have no node and no kubelet
        said |= {"status": obj["status"], "owned status": _owned(obj, "status")}
    return dict(_plain(said, digests))


@pytest.mark.parametrize("kind", PLURALS)
def test_simulated_object_is_like_the_real_one(real, simulated, kind):
    assert _describe(simulated, kind) == _describe(real, kind)


def test_names_have_the_form_of_real_ones(real, simulated):
    def forms(objects: list[dict[str, Any]]) -> set[str]:
        names = [o["metadata"]["name"] for o in objects if o["kind"] in ("ReplicaSet", "Pod")]
        return {re.sub(r"[bcdf-hj-np-tv-xz24-9]{5}$", "SUFFIX", re.sub(r"-\w{8,10}(?=-|$)", "-HASH", n)) for n in names}

    assert forms(simulated) == forms(real)


@pytest.fixture(scope="module")
def installation(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    running = Installation(binaries.kubectl, tmp_path_factory.mktemp("home"))
    running.run_python("from applyviz.records.models import Cluster; Cluster.objects.update(simulates_workloads=True)")
    yield running
    running.stop()


@pytest.mark.long
def test_kubectl_follows_a_rollout_and_reads_logs(installation):
    web = yaml.safe_dump(_workload("Deployment", "web", replicas=2)).replace("does-not-exist", "1")
    watching = installation.start_kubectl("get", "pods", "-w", "--no-headers")
    installation.kubectl("apply", "-f", "-", stdin=web)

    told = installation.kubectl("rollout", "status", "deployment/web", "--timeout=60s")

    assert 'deployment "web" successfully rolled out' in told
    shown = [line.split()[1:3] for line in read_lines(watching, 6)]
    end(watching)
    assert ["0/1", "ContainerCreating"] in shown
    assert "runs no containers" in installation.kubectl("logs", "deployment/web")
    installation.kubectl("rollout", "restart", "deployment/web")
    assert "successfully rolled out" in installation.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert len(installation.kubectl("rollout", "history", "deployment/web").strip().splitlines()) == 4


@pytest.mark.long
def test_kubectl_sees_a_rollout_fail(installation):
    bad = yaml.safe_dump(_workload("Deployment", "bad", replicas=1, progressDeadlineSeconds=12))
    installation.kubectl("apply", "-f", "-", stdin=bad)

    process = installation.start_kubectl("rollout", "status", "deployment/bad", "--timeout=60s")
    _, problem = process.communicate(timeout=120)

    assert (process.returncode, "exceeded its progress deadline" in problem) == (1, True)
    assert "ImagePullBackOff" in installation.kubectl("get", "pods", "-l", "app=bad")
    assert "Back-off pulling image" in installation.kubectl("describe", "pods", "-l", "app=bad")
