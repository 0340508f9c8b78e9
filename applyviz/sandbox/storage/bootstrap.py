"""Create the objects of every new cluster: namespaces, the Service `kubernetes`, priority classes."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import MutableObject
from applyviz.sandbox.storage.bodies import materialize
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.storage_strategy import prepare_create

MARK = "bootstrapped"
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_PRIORITIES = (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000))
_FIRST_ADDRESS = "10.96.0.1"


def _objects() -> Iterator[tuple[Route, MutableObject]]:
    for name in _NAMESPACES:
        yield Route("", "v1", "namespaces"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name, value in _PRIORITIES:
        yield (
            Route("scheduling.k8s.io", "v1", "priorityclasses"),
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            },
        )
    yield (
        Route("", "v1", "services", "default"),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "clusterIP": _FIRST_ADDRESS,
                "clusterIPs": [_FIRST_ADDRESS],
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            },
        },
    )


def ensure(cluster: SandboxCluster) -> None:
    """Create the bootstrap objects in an empty store."""
    if cluster.store.get_meta(MARK):
        return
    with cluster.store.transaction():
        if cluster.store.get_meta(MARK):
            return
        for route, raw in _objects():
            target = cluster.registry.find(route)
            if target is None:
                continue
            obj = materialize(target, raw).obj
            obj["metadata"].update(uid=cluster.new_uid(), creationTimestamp=cluster.now())
            prepare_create(target, obj)
            cluster.save(target, obj)
        cluster.store.put_meta(MARK, value=True)
