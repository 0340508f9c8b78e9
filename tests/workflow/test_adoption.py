"""A manifest made of a live object: what controllers wrote is theirs, and stays out of it."""

from __future__ import annotations

from applyviz.workflow.live.adoption import make_manifest


def claim(annotations, finalizers, **spec):
    metadata = {"name": "data", "annotations": annotations, "finalizers": finalizers, "uid": "1"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_adopted_manifest_leaves_out_what_controllers_write():
    live = claim(
        {"pv.kubernetes.io/bind-completed": "yes", "team": "shop"},
        ["kubernetes.io/pvc-protection", "example.com/hold"],
        volumeName="pv-1",
        accessModes=["ReadWriteOnce"],
    )

    assert make_manifest(live) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "annotations": {"team": "shop"}, "finalizers": ["example.com/hold"]},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }


def test_adopted_manifest_has_no_empty_annotations_or_finalizers():
    live = claim({"pv.kubernetes.io/bind-completed": "yes"}, ["kubernetes.io/pvc-protection"])

    assert make_manifest(live)["metadata"] == {"name": "data"}
