"""Which changes of a plan are alike, who deviates, and where risks and field managers are."""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.planning.model.overview import Alike, Held, Overviewer, OverviewRow
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.pods import UNREAD_KEY
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.set_context import SECRET_CONTENT
from tests.engine.planning.overviews import read_overview

VERSION, COLOUR = paths.fields("metadata", "labels", "version"), paths.fields("spec", "colour")


def update(name: str, *moves: tuple[paths.FieldPath, str, str], operation: Operation = Operation.UPDATE, **values):
    def build(side: int) -> dict:
        obj: dict = {}
        for move in moves:
            place = obj
            for element in move[0][:-1]:
                place = place.setdefault(element[2:], {})
            place[move[0][-1][2:]] = move[side]
        return obj

    fields = tuple(FieldReason(m[0], FieldOperation.CHANGED, Reason.MANIFEST_SETS) for m in moves)
    ref = ObjectRef(GroupVersionKind("", "v1", "Service"), "shop", name)
    return PlannedObject(ref, operation, Versions(live=build(1), after=build(2)), fields=fields, **values)


def test_three_of_the_same_values_are_one_group_and_others_are_exceptions():
    one = (VERSION, "v1", "v2")
    changes = [
        update("a", one),
        update("b", one),
        update("more", one, (COLOUR, "red", "blue")),
        update("otherwise", (VERSION, "v1", "v3")),
        update("elsewhere", (COLOUR, "red", "blue")),
        update("c", one),
    ]

    assert read_overview(changes).alike == (
        Alike(VERSION, FieldOperation.CHANGED, (0, 1, 5), (2, 3), is_short=True, before=("v1",), after=("v2",)),
    )


def test_two_are_no_group_and_creations_are_not_alike():
    one = (VERSION, "v1", "v2")

    assert read_overview([update("a", one), update("b", one)]).alike == ()
    assert read_overview([update(name, one, operation=Operation.CREATE) for name in "abc"]).alike == ()


def test_same_fields_with_values_of_their_own_are_alike_in_shape():
    changes = [update(name, (VERSION, "v1", f"v{name}"), (COLOUR, "red", name)) for name in "abc"]
    wider = update("d", (VERSION, "v1", "x"), (COLOUR, "red", "d"), (paths.fields("spec", "size"), "1", "2"))

    assert read_overview([*changes, wider]).alike == (
        Alike(VERSION, FieldOperation.CHANGED, (0, 1, 2), (3,), more=1, is_same=False),
    )


def test_entries_of_lists_count_as_one_in_a_shape():
    def image(name: str) -> PlannedObject:
        path = (*paths.fields("spec", "containers"), paths.key({"name": name}), "f:image")
        versions = Versions(*(None, None), *({"spec": {"containers": [{"name": name, "image": i}]}} for i in "12x"))
        reason = FieldReason(path, FieldOperation.CHANGED, Reason.MANIFEST_SETS)
        return PlannedObject(update(name).ref, Operation.UPDATE, versions, fields=(reason,))

    assert [(a.members, a.is_same) for a in read_overview([image(n) for n in "abc"]).alike] == [((0, 1, 2), False)]


def test_long_values_and_bookkeeping_are_left_out():
    changes = [update(name, (VERSION, "v1", "x" * 300)) for name in "abc"]
    kept = [
        PlannedObject(
            c.ref,
            c.operation,
            c.versions,
            fields=tuple(FieldReason(r.path, r.operation, Reason.BOOKKEEPING) for r in c.fields),
        )
        for c in changes
    ]

    assert [(a.is_short, a.after) for a in read_overview(changes).alike] == [(False, ())]
    assert read_overview(kept).alike == ()


def test_risks_come_loudest_first_and_managers_by_name():
    risks = (
        Risk(SECRET_CONTENT, RiskLevel.INFO),
        Risk(PODS_RESTART, RiskLevel.MEDIUM),
        Risk(PODS_RESTART, RiskLevel.MEDIUM),
    )
    owned = FieldReason(
        VERSION,
        FieldOperation.KEPT,
        Reason.OWNED_BY_OTHERS,
        owners_before=(Owner("helm", "Update"), Owner("ci", "Apply")),
        owners_after=(Owner("ci", "Apply"),),
    )
    change = update("a")
    changes = [change, PlannedObject(change.ref, Operation.UNCHANGED, Versions(), fields=(owned,), risks=risks)]

    found = read_overview(changes)

    assert found.risks == (
        OverviewRow(PODS_RESTART, RiskLevel.MEDIUM, (1,)),
        OverviewRow(SECRET_CONTENT, RiskLevel.INFO, (1,)),
    )
    assert found.managers == (Held("ci", (1,)), Held("helm", (1,)))


def test_places_of_the_finished_plan_take_the_place_of_the_order_of_reading():
    overviewer = Overviewer()
    for name in "abc":
        overviewer.add(update(name, (VERSION, "v1", "v2")))

    found = overviewer.find([7, 2, 4])

    assert [a.members for a in found.alike] == [(2, 4, 7)]
    assert from_json(type(found), to_json(found)) == found


def test_risks_that_are_found_later_take_the_place_of_those_read_first():
    change = update("a")
    read = Overviewer()
    read.add(replace(change, risks=(Risk(PODS_RESTART, RiskLevel.MEDIUM),)))
    read.add(replace(change, risks=(Risk(SECRET_CONTENT, RiskLevel.INFO),)))

    read.replace_risks(0, replace(change, risks=(Risk(UNREAD_KEY, RiskLevel.INFO),)))

    assert set(read.find().risks) == {
        OverviewRow(UNREAD_KEY, RiskLevel.INFO, (0,)),
        OverviewRow(SECRET_CONTENT, RiskLevel.INFO, (1,)),
    }
