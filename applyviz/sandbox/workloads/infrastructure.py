"""The things that a cluster provides to workloads: one node, volumes for claims, addresses for load balancers.

Rule: https://kubernetes.io/docs/concepts/storage/persistent-volumes/. Every claim is bound to a volume that nobody can
find, and addresses are of the range for documentation (RFC 5737): nothing is stored, and nobody answers.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.storage_strategy import prepare_create
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads.controller_client import ControllerClient
from applyviz.sandbox.workloads.pods import NODE, NODE_ADDRESS

_CONTROLLER_CLASS = "persistentvolume-controller"


def ensure_node(cluster: SandboxCluster) -> None:
    """Create the node of a sandbox, if it has none."""
    target = cluster.registry.find(Route("", "v1", "nodes"))
    if target is None or cluster.store.get(target.key("", NODE)) is not None:
        return
    now = cluster.now()
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": "Simulated",
        "message": "the sandbox simulates Pods and runs no containers",
    }
    node: MutableObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "uid": cluster.new_uid(),
            "creationTimestamp": now,
            "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"},
        },
        "spec": {},
        "status": {"addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}], "conditions": [ready]},
    }
    prepare_create(target, node)
    cluster.save(target, node)


def bind_claim(client: ControllerClient, key: ObjectKey, claim: JSONObject) -> None:
    """Bind a claim to a new volume."""
    if get_at(claim, ("status", "phase")) == "Bound":
        return
    spec = claim["spec"]
    client.bind(key, {"volumeName": spec.get("volumeName") or f"pvc-{claim['metadata']['uid']}"})
    capacity = get_at(spec, ("resources", "requests")) or {}
    status = {"phase": "Bound", "accessModes": list(spec.get("accessModes") or ()), "capacity": dict(capacity)}
    client.write_status(key, status)
    message = "The sandbox pretends that a volume was provisioned"
    client.record_event(claim, "ProvisioningSucceeded", message, component=_CONTROLLER_CLASS)


def give_address(client: ControllerClient, key: ObjectKey, service: JSONObject) -> None:
    """Give a load balancer an address."""
    if get_at(service, ("spec", "type")) != "LoadBalancer" or get_at(service, ("status", "loadBalancer", "ingress")):
        return
    last = int(service["metadata"]["uid"].replace("-", "")[-4:], 16) % 254 + 1
    ingress = [{"ip": f"198.51.100.{last}", "ipMode": "VIP"}]
    client.write_status(
        key, {**(service.get("status") or {}), "loadBalancer": {"ingress": ingress}}, manager="cloud-controller-manager"
    )
