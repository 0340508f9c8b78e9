"""Lists give what their selectors choose, page by page, by the values that the server compares."""

import pytest

NODES, JOBS = "/api/v1/nodes", "/apis/batch/v1/namespaces/default/jobs"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GIZMOS = "/apis/example.org/v1/namespaces/default/gizmos"
MAPS = "/api/v1/namespaces/default/configmaps"
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}


def list_names(ask, path, **query):
    answer = ask("GET", path, **query)
    assert answer.status == 200, answer.body
    return [item["metadata"]["name"] for item in answer.body["items"]]


@pytest.fixture
def nodes(ask):
    for name, spec in (("open", {}), ("closed", {"unschedulable": True})):
        ask("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.unschedulable=false", ["open"]),
        ("spec.unschedulable=true", ["closed"]),
        ("spec.unschedulable!=true", ["open"]),
        ("metadata.name=open,spec.unschedulable=true", []),
    ],
)
def test_nodes_are_selected_by_whether_they_take_pods(ask, nodes, selector, names):
    assert list_names(ask, NODES, fieldSelector=selector) == names


def test_jobs_are_selected_by_how_many_pods_succeeded(ask):
    ask(
        "POST",
        JOBS,
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": POD}}},
    )

    assert list_names(ask, JOBS, fieldSelector="status.successful=0") == ["j"]
    assert list_names(ask, JOBS, fieldSelector="status.successful=1") == []


def test_custom_resources_are_selected_by_the_fields_that_their_definition_names(ask):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}}}
    fields = [{"jsonPath": ".spec.color"}]
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gizmos", "kind": "Gizmo"}
    versions = [{**version, "selectableFields": fields}]
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": versions}
    kind = "CustomResourceDefinition"
    named = {"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": {"name": "gizmos.example.org"}}
    assert ask("POST", DEFINITIONS, {**named, "spec": spec}).status == 201
    for name, color in (("a", "red"), ("b", "blue")):
        body = {"apiVersion": "example.org/v1", "kind": "Gizmo", "metadata": {"name": name}, "spec": {"color": color}}
        assert ask("POST", GIZMOS, body).status == 201

    assert list_names(ask, GIZMOS, fieldSelector="spec.color=red") == ["a"]
    assert ask("GET", GIZMOS, fieldSelector="spec.size=1").message == "field label not supported: spec.size"


@pytest.mark.parametrize(
    ("selector", "names"),
    [("tier in (web,db)", ["a", "b"]), ("tier notin (db),rank>1", ["b"]), ("!tier", ["c"]), ("tier in (,)", [])],
)
def test_labels_choose(ask, selector, names):
    for name, labels in (("a", {"tier": "db"}), ("b", {"tier": "web", "rank": "2"}), ("c", {"rank": "1"})):
        ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})

    assert list_names(ask, MAPS, labelSelector=selector) == names


def test_collection_is_not_deleted_by_a_selector_that_cannot_be_read(ask):
    ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

    assert ask("DELETE", MAPS, labelSelector="a===b").status == 400
    assert list_names(ask, MAPS) == ["a"]
