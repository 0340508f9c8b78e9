"""Rules of admission and allocation, as kube-apiserver v1.36.3 answered: claims, volumes, nodes, node ports."""

import pytest

from applyviz.engine.objects.exchange import MERGE_PATCH

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SERVICES = "/api/v1/namespaces/default/services"


def make_claim(**spec):
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": body}


def make_service(*ports, kind="NodePort"):
    spec = {"type": kind, "selector": {"a": "b"}, "ports": list(ports)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


@pytest.mark.parametrize(
    ("was", "status"), [({}, 200), ({"storageClassName": "slow"}, 422), ({"storageClassName": ""}, 422)]
)
def test_claim_gets_a_class_once(ask, was, status):
    ask("POST", CLAIMS, make_claim(**was))

    assert ask("PUT", f"{CLAIMS}/c", make_claim(storageClassName="fast")).status == status


@pytest.mark.parametrize(
    ("name", "is_open", "status"), [("", None, 403), ("k", None, 403), ("k", True, 200), ("k", False, 403)]
)
def test_bound_claim_grows_where_its_class_allows_it(ask, name, is_open, status):
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "k"}, "provisioner": "p"}
    extra = {} if is_open is None else {"allowVolumeExpansion": is_open}
    ask("POST", "/apis/storage.k8s.io/v1/storageclasses", {**kind, **extra})
    ask("POST", CLAIMS, make_claim(storageClassName=name))
    ask("PATCH", f"{CLAIMS}/c/status", {"status": {"phase": "Bound"}}, content_type=MERGE_PATCH)
    larger = {"requests": {"storage": "2Gi"}}

    assert ask("PUT", f"{CLAIMS}/c", make_claim(storageClassName=name, resources=larger)).status == status


def test_new_node_is_not_ready(ask):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}

    made = ask("POST", "/api/v1/nodes", body).body

    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_ports_of_one_number_get_one_node_port(ask):
    ports = ask("POST", SERVICES, make_service({"port": 53, "name": "a"}, {"port": 53, "name": "b", "protocol": "UDP"}))

    assert len({port["nodePort"] for port in ports.body["spec"]["ports"]}) == 1


def test_node_port_twice_is_refused_before_names(ask):
    ask("POST", SERVICES, make_service({"port": 70, "name": "a", "nodePort": 31070}))
    twice = [{"port": port, "name": "a", "nodePort": 31070} for port in (70, 71)]

    answer = ask("PUT", f"{SERVICES}/s", make_service(*twice))

    assert (answer.status, answer.message) == (500, "duplicate nodePort: {TCP 31070}")


def test_volume_has_one_source(ask):
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
    both = {**spec, "nfs": {"server": "192.0.2.1", "path": "/a"}}

    answer = ask(
        "POST",
        "/api/v1/persistentvolumes",
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": both},
    )

    assert answer.status == 422
    assert "spec.nfs: Forbidden: may not specify more than 1 volume type" in answer.message


def test_request_for_a_certificate_stays_as_it_was(ask):
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    head = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "r"}}
    spec = {"request": "UQ==", "signerName": "example.com/s", "usages": ["client auth"]}
    made = ask("POST", path, {**head, "spec": {**spec, "username": "somebody else"}}).body

    changed = ask("PUT", f"{path}/r", {**head, "spec": {**spec, "usages": ["server auth"]}})

    assert "username" not in made["spec"]
    assert changed.body["spec"]["usages"] == ["client auth"]
