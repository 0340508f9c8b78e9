"""Does what others need come first?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.planning.sets.order import order_steps, rank_kind
from applyviz.engine.requests.options import Order


def change(api_version: str, kind: str, operation: Operation = Operation.CREATE) -> PlannedObject:
    gvk = GroupVersionKind.from_api_version(api_version, kind)
    return PlannedObject(ObjectRef(gvk, "", kind.lower()), operation, Versions())


KINDS = [
    ("v1", "Namespace"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("shop.example.com/v1", "Promotion"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
]


def test_dependency_order():
    changes = [change(*kind) for kind in reversed(KINDS)]

    ordered = order_steps(changes)

    assert [c.ref.gvk.kind for c in ordered] == [kind for _, kind in KINDS]
    assert [c.step for c in ordered] == list(range(len(KINDS)))


def test_equal_rank_shares_a_step_in_the_order_given():
    ordered = order_steps([change("v1", "Secret"), change("v1", "ConfigMap"), change("v1", "Namespace")])

    assert [(c.ref.gvk.kind, c.step) for c in ordered] == [("Namespace", 0), ("Secret", 1), ("ConfigMap", 1)]


def test_deletions_come_last_and_backwards():
    ordered = order_steps(
        [
            change("v1", "Namespace", Operation.PRUNE),
            change("apps/v1", "Deployment", Operation.PRUNE),
            change("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ]
    )

    assert [c.ref.gvk.kind for c in ordered] == ["ValidatingWebhookConfiguration", "Deployment", "Namespace"]


@pytest.mark.parametrize(("group", "is_last"), [("shop.example.com", True), ("events.k8s.io", False), ("", False)])
def test_kind_without_a_rank_is_custom_or_built_in(group, is_last):
    custom = rank_kind(GroupVersionKind("shop.example.com", "v1", "Promotion"))

    assert (rank_kind(GroupVersionKind(group, "v1", "Unheard")) == custom) is is_last


def test_as_given():
    ordered = order_steps([change("v1", "Secret"), change("v1", "Namespace")], Order.AS_GIVEN)

    assert [(c.ref.gvk.kind, c.step) for c in ordered] == [("Secret", 0), ("Namespace", 1)]
