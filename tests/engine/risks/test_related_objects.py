"""What is read beside the set, and what the answers become."""

from __future__ import annotations

from applyviz.engine.objects.errors import ForbiddenError
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.risks.related_objects import find_related_requests, read_related
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.discovery import ResourceTable
from applyviz.engine.schema.model import Resource
from applyviz.engine.schema.sources import SourceChain

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def paths(*refs: ObjectRef) -> list[str]:
    return [request.path for request in find_related_requests(refs, bundled())]


def test_workloads_ask_for_autoscalers_of_their_namespaces() -> None:
    assert paths(
        ObjectRef(DEPLOYMENT, "shop", "a"),
        ObjectRef(DEPLOYMENT, "shop", "b"),
        ObjectRef(DEPLOYMENT, "", "c"),
        ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "other", "d"),
    ) == [
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    ]


def test_many_namespaces_are_listed_at_once() -> None:
    refs = [ObjectRef(DEPLOYMENT, f"n{n}", "a") for n in range(9)]

    assert paths(*refs) == ["/apis/autoscaling/v2/horizontalpodautoscalers"]


def test_namespaces_and_definitions_of_the_set_are_read_and_unknown_kinds_are_not() -> None:
    crd = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

    assert paths(
        ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "shop"),
        ObjectRef(crd, "", "widgets.example.com"),
        ObjectRef(GroupVersionKind("example.com", "v1", "Widget"), "shop", "w"),
    ) == [
        "/api/v1/namespaces/shop",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
    ]


def test_definitions_of_custom_resources_are_read_once() -> None:
    gadget = GroupVersionKind("example.com", "v1", "Gadget")
    custom = ResourceTable([Resource(gadget, "gadgets", True)])
    crd = ObjectRef(DEFINITION, "", "gadgets.example.com")
    one, two = ObjectRef(gadget, "shop", "a"), ObjectRef(gadget, "shop", "b")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com"

    def asked(*refs: ObjectRef) -> list[str]:
        return [request.path for request in find_related_requests(refs, SourceChain(bundled(), custom))]

    assert asked(one, two) == asked(one, crd) == [path]
    assert find_related_requests([one], custom) == ()


def test_answers_become_live_neighbors_and_failures_are_left_out() -> None:
    budgets = {
        "kind": "PodDisruptionBudgetList",
        "apiVersion": "policy/v1",
        "items": [{"metadata": {"name": "keep"}}],
    }
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}

    found = read_related(
        [
            Answer(200, budgets),
            Answer(200, None),
            Answer(404, {"kind": "Status"}),
            ForbiddenError("no", 403),
            Answer(200, namespace),
        ],
    )

    assert [budget["apiVersion"] for budget in found.of_kind("PodDisruptionBudget")] == ["policy/v1"]
    assert found.live_names == {("PodDisruptionBudget", "keep"), ("Namespace", "shop")}
    assert found.namespaces == set()
