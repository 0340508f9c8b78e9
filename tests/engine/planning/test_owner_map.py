"""Who owns how much before and after, who hands over to whom, and what is in conflict."""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields, key
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.planning.model.owner_map import (
    FieldHandover,
    ObjectOwners,
    OwnerConflict,
    OwnerMap,
    OwnerShare,
    count_owners,
    map_owners,
)
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions

US, KUBECTL, HPA = Owner("ci", "Apply"), Owner("kubectl", "Update", time="now"), Owner("hpa", "Update", "", "scale")


def change(*moves: tuple[str, tuple[Owner, ...], tuple[Owner, ...]], conflicts: tuple[Conflict, ...] = ()):
    reasons = tuple(
        FieldReason(fields("spec", name), FieldOperation.KEPT, Reason.MANIFEST_SETS, "", before, after)
        for name, before, after in moves
    )
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web")
    return PlannedObject(ref, Operation.UPDATE, Versions(), fields=reasons, conflicts=conflicts)


def test_fields_that_stay_come_and_go_are_counted_by_owner():
    found = count_owners(change(("a", (US,), (US,)), ("b", (), (US,)), ("c", (US, HPA), (HPA,)), ("d", (), ())))

    assert found.shares == (
        OwnerShare("ci", "Apply", "", 2, 2, 1, 1),
        OwnerShare("hpa", "Update", "scale", 1, 1, 0, 0),
    )
    assert (found.handovers, found.conflicts) == ((), ())


def test_field_that_leaves_one_owner_for_another_one_is_a_handover():
    found = count_owners(change(("a", (KUBECTL,), (US,)), ("b", (KUBECTL,), (US,)), ("c", (KUBECTL,), (KUBECTL, US))))

    assert found.handovers == (FieldHandover(0, 1, 2),)
    assert [(share.manager, share.gained, share.lost) for share in found.shares] == [("kubectl", 0, 2), ("ci", 3, 0)]


def test_conflicts_are_counted_for_who_holds_the_fields():
    image = (*fields("spec", "containers"), key({"name": "main"}), "f:image")
    conflicts = (
        Conflict("kubectl", "Update", "apps/v1", "", image, ""),
        Conflict("kubectl", "Update", "apps/v1", "", fields("spec", "replicas"), ""),
        Conflict("other", "Apply", "apps/v1", "", (), ""),
    )

    found = count_owners(change(("a", (KUBECTL,), (KUBECTL,)), conflicts=conflicts))

    assert found.conflicts == (OwnerConflict(0, 2, "image"), OwnerConflict(1, 1, ""))
    assert found.shares[1] == OwnerShare("other", "Apply")


def test_map_is_stored_without_loss():
    found = map_owners([change(("a", (KUBECTL,), (US,))), change()])

    assert from_json(OwnerMap, to_json(found)) == found
    assert found.objects[1] == ObjectOwners()
