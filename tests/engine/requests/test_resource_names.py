"""Names of objects as kubectl writes them."""

import pytest

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.members import place_member
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.replacement import find_odd_names
from applyviz.engine.requests.resource_names import parse_object
from applyviz.engine.schema.builtin import bundled

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    "text", ["deployment/web", "deployments/web", "deploy/web", "Deployment/web", "deploy web", "deployment.apps/web",
             "deployments.v1.apps/web", " deploy/web "],
)  # fmt: skip
def test_built_in_kind_has_several_names(text):
    assert parse_object(text, namespace="shop") == ObjectRef(DEPLOYMENT, "shop", "web")


def test_groups_with_the_same_resource_are_told_apart():
    assert parse_object("events/a", namespace="n").gvk.group == ""
    assert parse_object("events.events.k8s.io/a", namespace="n").gvk.group == "events.k8s.io"


def test_cluster_scoped_object_has_no_namespace():
    assert parse_object("node/n1", namespace="shop").namespace == ""


def test_custom_kind_is_written_out():
    kind = GroupVersionKind("example.com", "v1beta1", "Widget")

    assert parse_object("Widget.v1beta1.example.com/main", namespace="shop") == ObjectRef(kind, "shop", "main")


@pytest.mark.parametrize("text", ["deployment", "deployment/", "deployment/a b", "/web", "deployment/-a"])
def test_text_that_names_no_object(text):
    with pytest.raises(ManifestError, match="expected deployment/web"):
        parse_object(text, namespace="shop")


@pytest.mark.parametrize("text", ["widget/a", "widget.v1.example.com/a", "Widget.example.com/a", "deploy.v2.apps/a"])
def test_kind_that_is_not_known(text):
    with pytest.raises(ManifestError, match="there is no kind"):
        parse_object(text, namespace="shop")


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ({"name": ".."}, "invalid resource name \"..\": \\[may not be '..'\\]"),
        ({"name": "a", "namespace": "b/c"}, "invalid namespace \"b/c\": \\[may not contain '/'\\]"),
    ],
)
def test_object_whose_name_would_lead_elsewhere_has_no_place(meta, reason):
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

    with pytest.raises(ManifestError, match=reason):
        place_member(obj, options=ApplyOptions(), catalog=bundled())


def test_texts_that_name_neither_a_kind_nor_an_object_are_odd():
    names = ["Job", "batch/Job", "batch/Job/default/migrate", "Job/default/migrate", "core/Node//n1"]

    assert find_odd_names(names) == ()
    assert find_odd_names(["job", *names, "batch/Job/default/", "a b"]) == ("job", "batch/Job/default/", "a b")
