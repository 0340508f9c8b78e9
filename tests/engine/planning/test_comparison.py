"""Two plans against each other: what moved, where, and who moved it."""

from __future__ import annotations

import pytest

from applyviz.engine.objects import paths
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.comparison import Pair, compare_changes
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.walk import MISSING
from tests.engine.planning.cluster import Box

SETTINGS = "/api/v1/namespaces/default/configmaps/settings"
COLOUR, SIZE = paths.fields("data", "colour"), paths.fields("data", "size")


def manifest(**data: str) -> str:
    lines = "".join(f"  {k}: {v}\n" for k, v in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n{lines}"


@pytest.fixture
def box() -> Box:
    found = Box()
    found.apply(manifest(colour="red", size="small"))
    return found


def edit(box: Box, manager: str = "kubectl-edit", **data: str | None) -> None:
    answer = box.send(Request("PATCH", SETTINGS, {"fieldManager": manager}, MERGE_PATCH, {"data": data}))
    assert answer.is_ok, answer


def look(move):
    return [
        (f.path, f.manifest, f.live, f.after, [o.manager for o in f.movers])
        for f in move.fields
        if f.path[0] == "f:data"
    ]


def test_equal_plans_have_nothing_that_moved(box):
    first, second = (box.plan_one(manifest(colour="blue", size="small")) for _ in range(2))

    assert compare_changes(first, second) is None


def test_value_that_was_edited_names_its_field_manager(box):
    first = box.plan_one(manifest(colour="blue", size="small"))
    edit(box, colour="green")
    second = box.plan_one(manifest(colour="blue", size="small"))

    move = compare_changes(first, second, kind=bundled().find_kind(first.ref.gvk))

    assert (move.first, move.second) == (Operation.UPDATE, Operation.BLOCKED)
    assert look(move)[0] == (COLOUR, None, Pair("red", "green"), Pair("blue", "green"), ["kubectl-edit"])
    assert [o.manager for o in move.movers] == ["kubectl-edit"]


def test_field_that_is_gone_names_who_wrote_since(box):
    first = box.plan_one(manifest(colour="blue", size="large"))
    edit(box, size=None, note="new")
    second = box.plan_one(manifest(colour="blue", size="large"))

    found = {row[0]: row[2:] for row in look(compare_changes(first, second))}

    assert found[SIZE] == (Pair("small", MISSING), None, ["kubectl-edit"])


def test_manifest_that_says_something_else_has_no_mover(box):
    first, second = box.plan_one(manifest(colour="blue")), box.plan_one(manifest(colour="green"))

    assert look(compare_changes(first, second)) == [
        (COLOUR, Pair("blue", "green"), None, Pair("blue", "green"), []),
    ]


def test_owner_alone_may_move(box):
    first = box.plan_one(manifest(colour="blue", size="small"))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"colour": "red"}}
    assert box.send(Request("PATCH", SETTINGS, {"fieldManager": "helm"}, APPLY_PATCH, body)).is_ok
    second = box.plan_one(manifest(colour="blue", size="small"))

    (colour,) = [f for f in compare_changes(first, second).fields if f.path == COLOUR]

    assert ([o.manager for o in colour.movers], colour.live) == (["helm"], None)
    assert len(colour.owners_second) == len(colour.owners_first) + 1


def test_objects_that_one_plan_lacks_are_told(box):
    change = box.plan_one(manifest(colour="blue"))

    found = (compare_changes(None, change), compare_changes(change, None))

    assert [(m.ref.name, m.first, m.second) for m in found] == [
        ("settings", None, Operation.UPDATE),
        ("settings", Operation.UPDATE, None),
    ]
    assert compare_changes(None, None) is None


def test_object_that_somebody_creates_meanwhile_moves_in_every_field():
    box = Box()
    first = box.plan_one(manifest(colour="blue"))
    box.apply(manifest(colour="red"), ApplyOptions(field_manager="helm"))
    second = box.plan_one(manifest(colour="blue"))

    move = compare_changes(first, second)

    assert (move.first, move.second) == (Operation.CREATE, Operation.BLOCKED)
    assert look(move) == [(COLOUR, None, Pair(MISSING, "red"), Pair("blue", "red"), ["helm"])]


def test_what_the_server_draws_anew_for_a_new_object_does_not_move(box):
    service = "apiVersion: v1\nkind: Service\nmetadata: {{name: api}}\nspec: {{ports: [{{port: {port}}}]}}\n"
    first, second = (box.plan_one(service.format(port=port)) for port in (80, 81))

    move = compare_changes(first, second)

    assert {f.path for f in move.fields if f.path[0] == "f:metadata"} == set()
    assert {f.path[1] for f in move.fields} == {"f:ports"}


def test_new_uid_is_said_of_the_object_and_is_no_field(box):
    """Kubernetes chooses the uid, so it says only that this is another object."""
    first = box.plan_one(manifest(colour="blue", size="small"))
    edited = box.send(Request("DELETE", SETTINGS, {}, "", None))
    assert edited.is_ok, edited
    box.apply(manifest(colour="red", size="small"))
    second = box.plan_one(manifest(colour="blue", size="small"))

    move = compare_changes(first, second, kind=bundled().find_kind(first.ref.gvk))

    assert (move.is_another_object, [f.path for f in move.fields if f.path[-1] == "f:uid"]) == (True, [])


def test_replacement_of_the_same_object_lists_no_uid(box):
    """The estimate of a new object has no uid: that is no difference of the manifests."""
    plans = [box.plan_one(manifest(colour=colour, size="small")) for colour in ("blue", "green")]
    versions = plans[1].versions
    created = {**versions.after, "metadata": {k: v for k, v in versions.after["metadata"].items() if k != "uid"}}
    second = replace(plans[1], operation=Operation.REPLACE, versions=replace(versions, after=created))

    move = compare_changes(plans[0], second)

    assert (move.is_another_object, {f.path for f in move.fields}) == (False, {COLOUR})


def test_object_with_an_error_has_no_value_after_apply(box):
    first = box.plan_one(manifest(colour="blue", size="small"))
    second = replace(
        first, operation=Operation.ERROR, error="refused", versions=replace(first.versions, after=first.versions.live)
    )

    move = compare_changes(first, second)

    assert move is not None
    assert (move.second, move.fields) == (Operation.ERROR, ())


def refuse_reads(request):
    is_read = request.method == "GET" and request.path == SETTINGS
    return Answer(403, {"kind": "Status", "message": "forbidden", "reason": "Forbidden"}) if is_read else None


@pytest.mark.parametrize("is_second", [True, False])
@pytest.mark.parametrize("cause", ["left out", "forbidden"])
def test_plan_that_did_not_read_live_says_nothing_about_live(box, cause, is_second):
    """Neither that the object is gone nor that it is new: only the manifests are compared."""
    read = box.plan_one(manifest(colour="blue", size="small"))
    if cause == "left out":
        options = ApplyOptions(left_out=("core/ConfigMap/default/settings",), left_out_reason="later")
        unread = box.plan_one(manifest(colour="green", size="small"), options)
    else:
        box.intercept = refuse_reads
        unread = box.plan_one(manifest(colour="green", size="small"))

    move = compare_changes(*((read, unread) if is_second else (unread, read)))

    colours = ("blue", "green") if is_second else ("green", "blue")
    assert look(move) == [(COLOUR, Pair(*colours), None, None, [])]
    assert [f.path for f in move.fields] == [COLOUR]
    assert [o.manager for o in move.fields[0].owners_first] == ["applyviz"]
    assert move.fields[0].owners_second == move.fields[0].owners_first
