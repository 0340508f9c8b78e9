"""Fields that controllers of Kubernetes write by their job are distinguished from fields that people write."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.controller_fields import CONTROLLER_FIELDS, is_controller_written
from applyviz.engine.objects.paths import FieldPath, fields, value

REVISION = fields("metadata", "annotations", "deployment.kubernetes.io/revision")
GUARD: FieldPath = (*fields("metadata", "finalizers"), value("kubernetes.io/pvc-protection"))
TOKEN = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
RULES = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "aggregationRule": {}}


@pytest.mark.parametrize(
    ("obj", "path", "expected"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, REVISION, True),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, fields("metadata", "annotations", "team"), False),
        ({"apiVersion": "example.com/v1", "kind": "Deployment"}, REVISION, False),
        ({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}, GUARD, True),
        ({"apiVersion": "v1", "kind": "PersistentVolume"}, fields("spec", "claimRef", "uid"), True),
        ({"apiVersion": "v1", "kind": "PersistentVolume"}, fields("spec"), False),
        (TOKEN, fields("data", "token"), True),
        ({**TOKEN, "type": "Opaque"}, fields("data", "token"), False),
        (RULES, fields("rules"), True),
        ({**RULES, "aggregationRule": None}, fields("rules"), False),
        ({}, REVISION, False),
    ],
)
def test_field_is_of_a_controller_or_not(obj: dict[str, object], path: FieldPath, expected: bool) -> None:
    assert is_controller_written(path, obj) is expected


def test_field_is_named_by_its_kind_and_path() -> None:
    assert str(CONTROLLER_FIELDS[0]) == "Deployment .metadata.annotations.deployment.kubernetes.io/revision"
