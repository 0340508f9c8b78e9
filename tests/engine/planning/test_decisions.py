"""Does each way out of a conflict give what it says, and does the plan send it?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.file_edits import FileEdit
from applyviz.engine.planning.conflicts.resolutions import (
    FieldConflict,
    ResolutionChoice,
    ResolutionKind,
    apply_decisions,
    list_common_resolutions,
    list_resolutions,
)
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from tests.engine.planning.cluster import NOW, Box

THEIRS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: theirs, z: theirs}\n"
OURS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: ours, z: ours, own: ours}\n"
X, Z = ("f:data", "f:x"), ("f:data", "f:z")
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: IMAGE}]}
"""
IMAGE = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"web"}', "f:image")


def make_dispute(theirs: str = THEIRS, ours: str = OURS):
    box = Box()
    box.apply(theirs, ApplyOptions(field_manager="other"))
    change = box.plan_one(ours)
    kind = bundled().find_kind(change.ref.gvk)
    return FieldConflict(change.versions.live, change.versions.manifest, kind, "applyviz", NOW), change.conflicts


def decide(resolution: ResolutionKind, path=X):
    return ResolutionChoice(path, "other", resolution)


def test_ways_are_shown_by_their_results():
    conflict_row, conflicts = make_dispute()

    options = list_resolutions(conflict_row, conflicts[0])

    assert [(w.resolution, w.value, [o.manager for o in w.owners]) for w in options] == [
        (ResolutionKind.OVERWRITE, "ours", ["applyviz"]),
        (ResolutionKind.GIVE_UP, "theirs", ["other"]),
        (ResolutionKind.SHARE, "theirs", ["applyviz", "other"]),
    ]
    assert [w.edit for w in options] == [
        None,
        FileEdit(X, "ours", is_removed=True),
        FileEdit(X, "ours", "theirs"),
    ]


def test_ways_of_many_conflicts_are_those_of_each():
    theirs = DEPLOYMENT.replace("REPLICAS", "1").replace("IMAGE", "theirs")
    conflict_row, conflicts = make_dispute(theirs, DEPLOYMENT.replace("REPLICAS", "2").replace("IMAGE", "ours"))

    together = dict(list_common_resolutions(conflict_row, conflicts))

    assert [c.path for c in together] == [("f:spec", "f:replicas"), IMAGE]
    for conflict, options in together.items():
        alone = list_resolutions(conflict_row, conflict)
        assert [replace(w, owners=()) for w in options] == [replace(w, owners=()) for w in alone]
        assert [[o.manager for o in w.owners] for w in options] == [[o.manager for o in w.owners] for w in alone]


def test_undecided_conflict_stays_open():
    conflict_row, _ = make_dispute()

    decided = apply_decisions(conflict_row, [decide(ResolutionKind.OVERWRITE)])

    assert [c.path for c in decided.open_conflicts] == [Z]
    assert (decided.takes_over, decided.result) == (False, None)


def test_mixed_decisions_edit_the_body_and_force_the_rest():
    conflict_row, _ = make_dispute()

    decided = apply_decisions(conflict_row, [decide(ResolutionKind.OVERWRITE), decide(ResolutionKind.GIVE_UP, Z)])

    assert decided.manifest["data"] == {"x": "ours", "own": "ours"}
    assert decided.takes_over
    assert decided.result["data"] == {"x": "ours", "z": "theirs", "own": "ours"}
    assert conflict_row.manifest["data"] == {"x": "ours", "z": "ours", "own": "ours"}


def test_decisions_without_taking_over_need_no_force():
    conflict_row, _ = make_dispute()

    decided = apply_decisions(conflict_row, [decide(ResolutionKind.SHARE), decide(ResolutionKind.GIVE_UP, Z)])

    assert (decided.takes_over, decided.manifest["data"]) == (False, {"x": "theirs", "own": "ours"})


def test_leaving_the_only_field_leaves_no_empty_map_behind():
    conflict_row, _ = make_dispute(ours="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: ours}\n")

    assert "data" not in apply_decisions(conflict_row, [decide(ResolutionKind.GIVE_UP)]).manifest


def test_decision_inside_a_list_finds_its_entry():
    theirs = DEPLOYMENT.replace("REPLICAS", "1").replace("IMAGE", "theirs")
    conflict_row, _ = make_dispute(theirs, DEPLOYMENT.replace("REPLICAS", "1").replace("IMAGE", "ours"))

    left = apply_decisions(conflict_row, [decide(ResolutionKind.GIVE_UP, IMAGE)])
    kept = apply_decisions(conflict_row, [decide(ResolutionKind.SHARE, IMAGE)])

    assert left.manifest["spec"]["template"]["spec"]["containers"] == [{"name": "web"}]
    assert kept.manifest["spec"]["template"]["spec"]["containers"] == [{"name": "web", "image": "theirs"}]


def test_two_ways_for_one_field_are_refused():
    conflict_row, _ = make_dispute()

    with pytest.raises(PlanError, match=r"\.data\.x has two different resolutions"):
        apply_decisions(conflict_row, [decide(ResolutionKind.GIVE_UP), decide(ResolutionKind.SHARE)])


def test_decided_plan_is_sent_as_decided():
    box = Box()
    box.apply(THEIRS, ApplyOptions(field_manager="other"))
    key = ("", "ConfigMap", "default", "a")
    decisions = {key: (decide(ResolutionKind.OVERWRITE), decide(ResolutionKind.GIVE_UP, Z))}

    plan = box.plan(OURS, decisions=decisions)
    box.run(plan)

    (change,) = plan.changes
    assert (change.operation, change.conflicts) == (Operation.UPDATE, ())
    assert change.requests[0].query["force"] == "true"
    live = box.get("/api/v1/namespaces/default/configmaps/a")
    assert live["data"] == {"x": "ours", "z": "theirs", "own": "ours"}


def test_plan_stays_refused_while_a_conflict_is_open():
    box = Box()
    box.apply(THEIRS, ApplyOptions(field_manager="other"))
    key = ("", "ConfigMap", "default", "a")

    change = box.plan_one(OURS, decisions={key: (decide(ResolutionKind.GIVE_UP),)})

    assert change.operation is Operation.BLOCKED
    assert len(change.conflicts) == 2


def test_decisions_of_other_objects_do_not_matter():
    box = Box()
    box.apply(THEIRS, ApplyOptions(field_manager="other"))
    other = (*GroupVersionKind("", "v1", "ConfigMap")[::2], "default", "b")

    assert box.plan_one(OURS, decisions={other: (decide(ResolutionKind.GIVE_UP),)}).operation is Operation.BLOCKED
