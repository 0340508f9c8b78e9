"""Volumes and mounts of a Pod: which of them a real server refuses together (a recorded random story)."""

from applyviz.kubernetes.v1_36.validation.pods import validate_pod_spec
from applyviz.kubernetes.v1_36.validation.volumes import validate_source


def _list_fields(volumes):
    mounts = [{"name": "a", "mountPath": "/a"}]
    spec = {"volumes": volumes, "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}]}
    return {error.path for error in validate_pod_spec(spec, "spec") if "olume" in error.path}


def test_volume_with_a_problem_can_be_mounted_by_nobody():
    two_types = {"name": "a", "emptyDir": {}, "configMap": {"name": "m"}}

    assert _list_fields([two_types]) == {"spec.volumes[0].configMap", "spec.containers[0].volumeMounts[0].name"}


def test_valid_volume_beside_one_of_the_same_name_is_mounted():
    assert _list_fields([{"name": "a", "emptyDir": {}}]) == set()
    assert _list_fields([{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]) == {"spec.volumes[1].name"}


def test_reference_of_a_persistent_volume_to_a_secret_needs_a_namespace():
    sources = {
        "csi": {"driver": "d.example.com", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}},
        "cinder": {"volumeID": "v", "secretRef": {}},
        "gcePersistentDisk": {},
    }
    found = [e.path for kind, one in sources.items() for e in validate_source(kind, one, kind, ("name", "namespace"))]

    assert found == [
        "csi.nodePublishSecretRef.namespace",
        *("cinder.secretRef.name", "cinder.secretRef.namespace"),
        "gcePersistentDisk.pdName",
    ]
