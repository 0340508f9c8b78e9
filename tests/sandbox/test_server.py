"""What the contract's stories do not show: pages, namespaces, definitions at work, pure inputs."""

import copy
from datetime import timedelta

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Request
from applyviz.sandbox.api.server import Sandbox
from tests.sandbox.conftest import NOW

MAPS = "/api/v1/namespaces/default/configmaps"


def make_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def make_definition(group="example.org"):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "gizmos", "kind": "Gizmo"},
            "versions": [version],
        },
    }


def test_fresh_cluster_has_its_namespaces(ask):
    answer = ask("GET", "/api/v1/namespaces")

    names = [o["metadata"]["name"] for o in answer.body["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert {o["status"]["phase"] for o in answer.body["items"]} == {"Active"}


def test_second_sandbox_over_one_store_sees_the_same_objects(store, sandbox, ask):
    ask("POST", MAPS, make_map("a"))
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", make_definition())

    other = Sandbox(store, sandbox._cluster.clock)

    assert other.handle(Request("GET", f"{MAPS}/a")).status == 200
    assert other.handle(Request("GET", "/apis/example.org/v1/namespaces/default/gizmos")).status == 200


def test_pages_give_every_object_once(ask):
    for name in "abcde":
        ask("POST", MAPS, make_map(name))

    names, token = [], ""
    while True:
        page = ask("GET", MAPS, limit="2", **({"continue": token} if token else {})).body
        names += [o["metadata"]["name"] for o in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break

    assert names == ["a", "b", "c", "d", "e"]


def test_unreadable_continue_token_is_refused(ask):
    assert ask("GET", MAPS, **{"continue": "nonsense"}).status == 400


def test_deleting_a_namespace_takes_its_objects(ask):
    ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    ask("POST", "/api/v1/namespaces/shop/configmaps", make_map("a"))

    answer = ask("DELETE", "/api/v1/namespaces/shop")

    assert answer.body["status"]["phase"] == "Terminating"
    assert ask("GET", "/api/v1/namespaces/shop").status == 404
    assert ask("GET", "/api/v1/configmaps").body["items"] == []


def test_default_namespace_stays(ask):
    answer = ask("DELETE", "/api/v1/namespaces/default")

    assert answer.status == 403
    assert answer.message == 'namespaces "default" is forbidden: this namespace may not be deleted'


def test_deleting_a_definition_takes_its_objects(ask):
    path = "/apis/example.org/v1/namespaces/default/gizmos"
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", make_definition())
    ask("POST", path, {"apiVersion": "example.org/v1", "kind": "Gizmo", "metadata": {"name": "g"}})

    ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.org")
    assert ask("GET", path).status == 404
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", make_definition())

    assert ask("GET", path).body["items"] == []


def test_definition_of_a_taken_kind_is_not_served(ask):
    other = make_definition()
    other["metadata"]["name"], other["spec"]["names"]["plural"] = "things.example.org", "things"
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", make_definition())
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", other)

    live = ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org").body

    assert [(c["type"], c["status"]) for c in live["status"]["conditions"]] == [("NamesAccepted", "False")]
    assert ask("GET", "/apis/example.org/v1/namespaces/default/things").status == 404


def test_dependents_go_with_their_owner(ask):
    owner = ask("POST", MAPS, make_map("owner")).body["metadata"]
    dependent = make_map("dependent")
    dependent["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    ]
    ask("POST", MAPS, dependent)

    ask("DELETE", f"{MAPS}/owner")

    assert ask("GET", MAPS).body["items"] == []


def test_collection_is_deleted_by_selector(ask):
    for name, label in (("a", "x"), ("b", "y")):
        body = make_map(name)
        body["metadata"]["labels"] = {"app": label}
        ask("POST", MAPS, body)

    ask("DELETE", MAPS, labelSelector="app=x")

    assert [o["metadata"]["name"] for o in ask("GET", MAPS).body["items"]] == ["b"]


def test_dry_run_opens_no_transaction(store, ask):
    ask("POST", MAPS, make_map("a", k="1"))
    before = store.revision()
    store.transaction = None  # would raise

    for method, path, body, kind in (
        ("POST", MAPS, make_map("b"), "application/json"),
        ("PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, MERGE_PATCH),
        ("PATCH", f"{MAPS}/c", make_map("c"), APPLY_PATCH),
        ("DELETE", f"{MAPS}/a", None, "application/json"),
    ):
        assert ask(method, path, body, kind, dryRun="All", fieldManager="tester").is_ok

    assert store.revision() == before
    assert [o["metadata"]["name"] for o in store.list("", "configmaps")] == ["a"]


def test_request_bodies_are_left_as_they_are(ask):
    body = {**make_map("a", k="1"), "extra": {"deep": [1, 2]}}
    kept = copy.deepcopy(body)

    ask("POST", MAPS, body)
    ask("PATCH", f"{MAPS}/a", body, MERGE_PATCH)

    assert body == kept


def test_service_addresses_are_given_once_and_kept(ask):
    path = "/api/v1/namespaces/default/services"
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    for name in "abc":
        ask("POST", path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})

    services = ask("GET", path).body["items"]
    addresses = [s["spec"]["clusterIP"] for s in services]
    patched = ask("PATCH", f"{path}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE_PATCH).body

    assert len(set(addresses)) == 4
    assert patched["spec"] == next(s["spec"] for s in services if s["metadata"]["name"] == "a")


@pytest.mark.parametrize("depth", [300, 5000])
def test_deep_nesting_is_an_answer_not_a_crash(ask, depth):
    value: object = "x"
    for _ in range(depth):
        value = {"a": value}

    answer = ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": value})

    assert answer.status == 400


def test_prefix_of_a_name_is_judged_as_a_prefix(ask):
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}} for prefix in ("a-", "A_")]

    answers = [ask("POST", MAPS, body) for body in maps]

    assert [answer.status for answer in answers] == [201, 422]
    fields = [cause["field"] for cause in answers[1].body["details"]["causes"]]
    assert fields == ["metadata.generateName", "metadata.name"]


def test_truth_instead_of_one_is_a_change(ask):
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", make_definition())
    path = "/apis/example.org/v1/namespaces/default/gizmos"
    gizmo = {"apiVersion": "example.org/v1", "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {"is": 1}}
    ask("POST", path, gizmo)

    answer = ask("PATCH", f"{path}/g", {"spec": {"is": True}}, MERGE_PATCH)

    assert (answer.body["spec"], answer.body["metadata"]["generation"]) == ({"is": True}, 2)


def test_grace_period_of_a_pod_ends_by_the_clock(store):
    moment = [NOW]
    sandbox = Sandbox(store, lambda: moment[0])
    path = "/api/v1/namespaces/default/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    sandbox.handle(Request("POST", path, {}, "application/json", body))
    held = sandbox.handle(Request("DELETE", f"{path}/p")).body["metadata"]

    assert (held["deletionTimestamp"], held["deletionGracePeriodSeconds"]) == ("2026-01-02T03:04:35Z", 30)
    moment[0] += timedelta(seconds=29)
    assert sandbox.handle(Request("GET", f"{path}/p")).is_ok
    moment[0] += timedelta(seconds=1)
    assert sandbox.handle(Request("GET", f"{path}/p")).status == 404


def test_finalizer_added_later_outlives_the_grace_period(store):
    moment = [NOW]
    sandbox = Sandbox(store, lambda: moment[0])
    path = "/api/v1/namespaces/default/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    meta = {"name": "p", "finalizers": ["example.com/x"]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    sandbox.handle(Request("POST", path, {}, "application/json", body))
    sandbox.handle(Request("DELETE", f"{path}/p"))
    moment[0] += timedelta(minutes=1)

    assert sandbox.handle(Request("GET", f"{path}/p")).body["metadata"]["deletionGracePeriodSeconds"] == 0
    sandbox.handle(Request("PATCH", f"{path}/p", {}, MERGE_PATCH, {"metadata": {"finalizers": None}}))
    assert sandbox.handle(Request("GET", f"{path}/p")).status == 404


def test_put_of_an_absent_role_creates_it_and_of_an_absent_config_map_does_not(ask):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []}

    assert ask("PUT", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r", role).status == 201
    assert ask("PUT", f"{MAPS}/absent", make_map("absent")).status == 404


def test_dependents_of_a_cluster_scoped_owner_go_in_every_namespace(ask):
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    uid = ask("POST", path, role).body["metadata"]["uid"]
    child = make_map("child")
    child["metadata"]["ownerReferences"] = [{**role, "name": "r", "uid": uid}]
    del child["metadata"]["ownerReferences"][0]["metadata"]
    ask("POST", MAPS, child)

    ask("DELETE", f"{path}/r")

    assert ask("GET", f"{MAPS}/child").status == 404


def test_policy_that_refuses_a_deletion_holds_against_controllers_too(ask):
    owner = ask("POST", MAPS, make_map("owner")).body["metadata"]
    child = make_map("child")
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    ]
    ask("POST", MAPS, child)
    policies = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "oldObject.metadata.name != 'child'"}],
    }
    group = "admissionregistration.k8s.io/v1"
    policy = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "k"}, "spec": spec}
    binding = {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "k"}}
    binding["spec"] = {"policyName": "k", "validationActions": ["Deny"]}
    assert ask("POST", f"{policies}/validatingadmissionpolicies", policy).is_ok
    assert ask("POST", f"{policies}/validatingadmissionpolicybindings", binding).is_ok

    assert ask("DELETE", f"{MAPS}/owner").is_ok

    assert ask("GET", f"{MAPS}/child").is_ok


def test_generated_name_in_a_terminating_namespace_is_named_by_its_prefix(ask, store):
    ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
    waiting = Sandbox(store, lambda: NOW, has_controllers=False)
    waiting.handle(Request("DELETE", "/api/v1/namespaces/ending"))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "b-"}}

    answer = waiting.handle(Request("POST", "/api/v1/namespaces/ending/configmaps", body=body))

    assert answer.message.startswith('configmaps "b-" is forbidden: unable to create new content in namespace ending')
