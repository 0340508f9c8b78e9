"""What would undo a change, and what cannot be undone."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.planning.objects.revert import Revert, invert
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.builtin import bundled

OWNED = [
    {
        "manager": "me",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:name": {}, "f:image": {}}}}},
    }
]


def make(kind, api_version="v1", **fields):
    metadata = {"name": "a", "namespace": "shop", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def undo(operation, live=None, after=None, mode=ApplyMode.SERVER, about=None):
    ref = ObjectRef.from_object(about or live or after)
    change = PlannedObject(ref, operation, Versions(live=live, after=after))
    root = bundled().find_kind(ref.gvk).root
    return invert(change, mode=mode, manager="me", root=root)


def test_unchanged_object_has_nothing_to_undo():
    assert undo(Operation.UNCHANGED, make("ConfigMap")) == Revert()


@pytest.mark.parametrize(
    ("obj", "note"),
    [
        (make("PersistentVolumeClaim"), "deleting PersistentVolumeClaim shop/a deletes the data of its volume"),
        (make("Job", "batch/v1"), "Job shop/a: what ran stays done"),
    ],
)
def test_created_object_is_deleted(obj, note):
    found = undo(Operation.CREATE, about=obj)

    assert (found.deletes, found.manifest, found.notes) == (True, None, (note,))


def test_field_that_was_changed_goes_back_with_what_was_applied():
    def pod(image, **more):
        containers = [{"name": "a", "image": image, "tty": True, **more}]
        metadata = {"managedFields": OWNED, "annotations": {LAST_APPLIED: "{}", "note": "x"}, "uid": "u"}
        return make("Pod", metadata=metadata, spec={"containers": containers, "nodeName": "n"}, status={"phase": "x"})

    found = undo(Operation.UPDATE, pod("one"), pod("two"))

    assert found.manifest == make("Pod", spec={"containers": [{"name": "a", "image": "one"}]})
    assert found.notes == ("Pod shop/a: what ran stays done",)


@pytest.mark.parametrize(
    ("annotation", "data"),
    [('{"data": {"b": "1"}}', {"a": "1", "b": "1"}), (None, {"a": "1"}), ("{", {"a": "1"})],
)
def test_client_side_keeps_what_was_last_applied(annotation, data):
    annotations = {LAST_APPLIED: annotation} if annotation else {}
    live = make("ConfigMap", metadata={"annotations": annotations}, data={"a": "1", "b": "1"}, immutable=True)
    after = make("ConfigMap", metadata={"annotations": annotations}, data={"a": "2", "b": "1"}, immutable=True)

    found = undo(Operation.REPLACE, live, after, ApplyMode.CLIENT)

    assert found.manifest == make("ConfigMap", data=data)
    assert found.notes == (
        "ConfigMap shop/a was deleted and created again: it keeps its new uid, and is replaced once more",
        "ConfigMap shop/a is immutable: its data cannot go back without deleting it",
    )


def test_sections_and_entries_of_others_are_left_out_of_what_goes_back_as_a_whole():
    def pod(image):
        of_others = {"resources": {"limits": {"cpu": "1"}}, "env": [{"name": "A", "value": "a"}]}
        spec = {"containers": [{"name": "a", "image": image, **of_others}, {"name": "side", "image": "side"}]}
        return make("Pod", metadata={"managedFields": OWNED}, spec=spec)

    found = undo(Operation.UPDATE, pod("one"), pod("two"))

    assert found.manifest == make("Pod", spec={"containers": [{"name": "a", "image": "one"}]})


def test_claims_that_were_made_meanwhile_are_told():
    def stateful(claim):
        return make("StatefulSet", "apps/v1", spec={"volumeClaimTemplates": [{"metadata": {"name": claim}}]})

    found = undo(Operation.UPDATE, stateful("a"), stateful("b"))

    assert found.notes == ("StatefulSet shop/a: volume claims that were made meanwhile stay",)


@pytest.mark.parametrize(
    ("obj", "left", "notes"),
    [
        (
            make("Service", spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": []}),
            {"spec": {"ports": []}},
            ["Service shop/a gets another address"],
        ),
        (make("Service", spec={"clusterIP": "None"}), {"spec": {"clusterIP": "None"}}, []),
        (
            make("Job", "batch/v1", metadata={"ownerReferences": [{"name": "b"}]}),
            {},
            ["Job shop/a comes back without its owner", "Job shop/a runs again when it is created"],
        ),
        (make("PersistentVolumeClaim"), {}, ["PersistentVolumeClaim shop/a comes back without the data of its volume"]),
    ],
)
def test_pruned_object_is_created_again(obj, left, notes):
    found = undo(Operation.PRUNE, obj)

    assert found.manifest == make(obj["kind"], obj["apiVersion"], **left)
    assert list(found.notes[1:]) == notes
