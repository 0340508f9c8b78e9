"""Rules of admission and allocation, as kube-apiserver v1.36.3 answered: claims, nodes, Services, generations."""

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH

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


@pytest.mark.parametrize(("name", "shown"), [("a\x85b", '"a\x85b"'), ("a<b", '"a\\u003cb"')])
def test_change_of_a_claim_is_printed_line_by_line(ask, name, shown):
    ask("POST", CLAIMS, make_claim(dataSource={"kind": "PersistentVolumeClaim", "name": "old"}))

    message = ask("PUT", f"{CLAIMS}/c", make_claim(dataSource={"kind": "PersistentVolumeClaim", "name": name})).body

    assert f'-  "Name": "old"\n+  "Name": {shown}\n' in message["message"]


@pytest.mark.parametrize(
    ("surge", "causes"), [("0%", 1), ("+0", 2), ("10%", 0), ("9" * 5000 + "%", 0), ("0" * 5000 + "%", 1)]
)
def test_surge_of_a_deployment_may_not_be_zero_where_no_pod_may_miss(ask, surge, causes):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 0}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "strategy": rolling}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}

    answer = ask("POST", "/apis/apps/v1/namespaces/default/deployments", body)

    assert len((answer.body.get("details") or {}).get("causes", ())) == causes


def test_number_in_a_schedule_has_a_limit(ask):
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"schedule": f"{'9' * 5000} * * * *", "jobTemplate": {"spec": {"template": pod}}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec}

    answer = ask("POST", "/apis/batch/v1/namespaces/default/cronjobs", body)

    assert (answer.status, "value out of range" in answer.body["message"]) == (422, True)


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


def test_external_name_keeps_an_internal_policy_that_no_read_shows(ask):
    ask("POST", SERVICES, make_service({"port": 80}, kind="ClusterIP"))
    named = ask(
        "PATCH", f"{SERVICES}/s", {"spec": {"type": "ExternalName", "externalName": "a.b"}}, content_type=MERGE_PATCH
    )
    again = ask("PATCH", f"{SERVICES}/s", {"spec": {"externalName": "a.b"}}, content_type=MERGE_PATCH)
    (listed,) = [obj for obj in ask("GET", SERVICES).body["items"] if obj["metadata"]["name"] == "s"]
    shown = (named.body, again.body, ask("GET", f"{SERVICES}/s").body, listed)
    back = ask("PATCH", f"{SERVICES}/s", {"spec": {"type": "ClusterIP"}}, MERGE_PATCH, fieldManager="later")

    assert ["internalTrafficPolicy" in obj["spec"] for obj in shown] == [False] * 4
    assert back.body["spec"]["internalTrafficPolicy"] == "Cluster"
    (entry,) = [e for e in back.body["metadata"]["managedFields"] if e["manager"] == "later"]
    assert entry["fieldsV1"] == {"f:spec": {"f:type": {}}}


def test_each_apply_of_an_embedded_null_counts_for_the_generation(ask):
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"pod": pod}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "holders.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "holders", "kind": "Holder"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    head = {"apiVersion": "example.com/v1", "kind": "Holder", "metadata": {"name": "h"}}
    path = "/apis/example.com/v1/namespaces/default/holders/h"

    def apply(metadata, **query):
        held = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **metadata}}
        return ask("PATCH", path, {**head, "spec": {"pod": held}}, APPLY_PATCH, fieldManager="m", **query).body

    null = {"creationTimestamp": None}
    tries = [apply(null), apply(null), apply(null, dryRun="All"), apply({}), apply({})]

    assert [one["metadata"]["generation"] for one in tries] == [1, 2, 3, 2, 2]
    assert [one["spec"]["pod"]["metadata"] for one in tries] == [{"name": "p"}] * 5


@pytest.mark.parametrize(
    ("rolling", "kept"),
    [
        ({"maxUnavailable": "30%"}, {"maxUnavailable": "30%", "maxSurge": 0}),
        ({"maxSurge": 1}, {"maxUnavailable": 0, "maxSurge": 1}),
        (None, None),
    ],
)
def test_amounts_of_a_daemon_set_without_rolling_updates_are_numbers(ask, rolling, kept):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}}
    strategy = {"type": "OnDelete"} | ({"rollingUpdate": rolling} if rolling else {})
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "updateStrategy": strategy}
    body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}

    made = ask("POST", "/apis/apps/v1/namespaces/default/daemonsets", body).body

    assert made["spec"]["updateStrategy"].get("rollingUpdate") == kept


def test_of_the_secrets_of_an_account_only_names_are_kept(ask):
    head = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    path = "/api/v1/namespaces/default/serviceaccounts"

    made = ask("POST", path, {**head, "secrets": [{"name": "a", "namespace": "x"}]}).body
    changed = ask("PUT", f"{path}/a", {**head, "secrets": [{"name": "b", "kind": "Secret"}]}).body

    assert (made["secrets"], changed["secrets"]) == ([{"name": "a"}], [{"name": "b"}])


@pytest.mark.parametrize(
    "sent", [{"stopSignal": "SIGUSR1"}, {"stopSignal": "SIGUSR1", "preStop": {"sleep": {"seconds": 1}}}, {}]
)
def test_field_of_a_feature_that_is_off_is_dropped_with_what_held_it_alone(ask, sent):
    container = {"name": "c", "image": "i", "lifecycle": sent}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}

    made = ask(
        "POST",
        "/api/v1/namespaces/default/pods",
        {**body, "spec": {"os": {"name": "linux"}, "containers": [container]}},
    )

    kept = {name: value for name, value in sent.items() if name != "stopSignal"}
    assert made.body["spec"]["containers"][0].get("lifecycle") == (kept if kept or not sent else None)


@pytest.mark.parametrize(("cidrs", "said"), [([], "[]"), (None, "null")])
def test_refusal_keeps_an_empty_list_apart_from_null(ask, cidrs, said):
    ranges = "/apis/networking.k8s.io/v1/servicecidrs"
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "r"}}
    ask("POST", ranges, {**body, "spec": {"cidrs": ["192.168.77.0/24"]}})

    refused = ask(
        "PATCH", f"{ranges}/r", {"spec": {"cidrs": cidrs}}, content_type="application/strategic-merge-patch+json"
    )

    assert f"spec.cidrs: Invalid value: {said}: field is immutable" in refused.message


def test_api_service_of_the_server_itself_is_available(ask):
    spec = {"group": "example.org", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.example.org"}}
    path = "/apis/apiregistration.k8s.io/v1/apiservices"

    made = ask("POST", path, {**head, "spec": spec, "status": {"conditions": []}}).body
    metadata = {**made["metadata"], "labels": {"a": "b"}}
    changed = ask("PUT", f"{path}/v1.example.org/status", {**made, "metadata": metadata, "status": {}}).body

    assert [(c["type"], c["status"], c["reason"]) for c in made["status"]["conditions"]] == [
        ("Available", "True", "Local")
    ]
    assert ("labels" in changed["metadata"], changed["status"]) == (False, {})
