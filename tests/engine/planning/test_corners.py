"""Planning where objects are odd: lists without names, entries without owners, refusals without causes."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import Conflict, OwnershipError
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.resolutions import (
    FieldConflict,
    ResolutionChoice,
    ResolutionKind,
    apply_decisions,
    leave_all,
)
from applyviz.engine.planning.digest.effects import find_difference
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.planning.simulation.dry_run_result import describe_conflicts, read_conflicts
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.builtin import bundled
from tests.engine.planning.cluster import NOW, Box

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: s, finalizers: [a.io/x, b.io/y]}
spec: {type: LoadBalancer, ports: [{port: 80}], loadBalancerSourceRanges: [10.0.0.0/8]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
POD_TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  strategy: {type: STRATEGY}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "IMAGE"}]}
"""


def deployment(image: str, strategy: str = "Recreate") -> str:
    return POD_TEMPLATE.replace("STRATEGY", strategy).replace("IMAGE", image)


def decide(text: str, path, resolution: ResolutionKind):
    change = Box().plan_one(text)
    kind = bundled().find_kind(change.ref.gvk)
    conflict_row = FieldConflict({}, change.versions.manifest, kind, "applyviz", NOW)
    return apply_decisions(
        replace(conflict_row, live=change.versions.after), [ResolutionChoice(path, "other", resolution)]
    )


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("f:metadata", "f:finalizers", 'v:"a.io/x"'), {"name": "s", "namespace": "default", "finalizers": ["b.io/y"]}),
        (("f:metadata", "f:finalizers", "i:1"), {"name": "s", "namespace": "default", "finalizers": ["a.io/x"]}),
        (("f:metadata", "f:finalizers", "i:7"), None),
        (("f:metadata", "f:name", "f:deeper"), None),
    ],
)
def test_entries_are_left_by_value_and_by_place(path, left):
    decided = decide(SERVICE, path, ResolutionKind.GIVE_UP)

    before = Box().plan_one(SERVICE).versions.manifest["metadata"]
    assert decided.manifest["metadata"] == (before if left is None else left)


def test_manifest_that_only_held_what_is_disputed_cannot_be_applied():
    kind = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    conflict_row = FieldConflict({"data": {"x": "1"}}, {"data": {"x": "2"}}, kind, "applyviz", NOW)

    with pytest.raises(OwnershipError, match="invalid object type"):
        leave_all(conflict_row, (Conflict("other", "Update", "v1", "", ("f:data", "f:x"), "conflict"),))


def test_conflict_over_what_the_manifest_does_not_name_is_left_to_people():
    kind = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    conflict_row = FieldConflict({"data": {"x": "1"}}, {"data": {"y": "2"}}, kind, "applyviz", NOW)

    assert leave_all(conflict_row, (Conflict("other", "Update", "v1", "", ("f:data", "f:x"), "conflict"),)) is None


def test_manager_entries_count_in_any_order_and_odd_ones_as_they_are():
    entry = {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {}}}
    twice = [{**entry, "time": "1"}, {**entry, "time": "2", "fieldsV1": {"f:x": {}}}]

    def obj(entries):
        return {"metadata": {"managedFields": entries}}

    assert is_same_object(obj(twice), obj(twice[::-1]))
    assert not is_same_object(obj(twice), obj(twice[:1]))
    assert not is_same_object(obj("odd"), obj([]))
    assert is_same_object({"metadata": "odd", "a": 1}, {"metadata": "odd", "a": 1})


def test_ignored_entry_counts_when_the_manifest_names_it():
    box = Box()
    box.apply(SERVICE)
    change = box.plan_one(SERVICE.replace("port: 80", "port: 81"))
    ports = ("spec", "ports", "*")

    assert {p[:2] for p, _, _ in find_difference(change)} >= {("spec", "ports")}
    assert [p for p, _, _ in find_difference(change, [ports]) if p[:2] == ("spec", "ports")] != [
        p for p, _, _ in find_difference(change) if p[:2] == ("spec", "ports")
    ]


def test_pruned_object_goes_whole_and_a_service_may_have_no_ports():
    box = Box()
    box.apply(SERVICE)
    change = box.plan_one(SERVICE.replace("10.0.0.0/8", "11.0.0.0/8"))

    ((path, _, after),) = find_difference(replace(change, operation=Operation.PRUNE))
    assert (path, isinstance(after, dict)) == ((), False)
    bare = replace(
        change, operation=Operation.CREATE, versions=Versions(live=None, after={**change.versions.live, "spec": {}})
    )
    assert [p for p, _, _ in find_difference(bare)] == [()]


def test_deletion_is_masked_without_a_body():
    box = Box()
    box.apply(SERVICE)
    change = replace(box.plan_one(SERVICE), requests=(Request("DELETE", "/p"),))

    assert mask_change(change, tag_key=b"k" * 32).requests == change.requests


def test_workload_that_restarts_as_a_whole_stops():
    box = Box()
    box.apply(deployment("a"))
    change = box.plan_one(deployment("b"))
    other = Risk(NO_LAST_APPLIED, change.ref)

    summary = summarize((replace(change, risks=(other, *change.risks)),))

    assert (len(summary.stopped), len(summary.images)) == (1, 1)


def test_workload_that_goes_is_deleted_and_containers_without_image_change_none():
    box = Box()
    box.apply(deployment("a"))
    change = box.plan_one(deployment("b"))
    bare = {"spec": {"template": {"spec": {"containers": [5, {"name": "main"}]}}}}

    gone = summarize((replace(change, operation=Operation.PRUNE),))
    odd = summarize((replace(change, versions=replace(change.versions, live=bare)),))

    assert (len(gone.deleted), len(odd.images)) == (1, 0)


def test_object_that_never_stands_still_is_planned_three_times():
    box = Box()
    box.apply(CONFIG)

    def touch(request):
        if request.query.get("dryRun") == "All":
            return Answer(409, {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"})
        return None

    box.intercept = touch
    box.asked.clear()
    change = box.plan_one(CONFIG.replace("'1'", "'2'"))

    assert (len([r for r in box.asked if r.method == "GET"]), change.operation) == (3, Operation.ERROR)


def test_causes_that_are_no_conflicts_are_passed_over():
    causes = [{"reason": "FieldValueInvalid", "message": "no", "field": "spec"}]
    answer = Answer(409, {"kind": "Status", "reason": "Conflict", "details": {"causes": causes}})

    assert (describe_conflicts(answer), read_conflicts(answer)) == ((), ())


def test_patch_that_was_refused_has_no_conflicts_to_look_for():
    gvk = GroupVersionKind("", "v1", "ConfigMap")
    answerer = EstimatedAnswers(bundled().find_kind(gvk), NOW, {"metadata": {"name": "a"}})

    answerer.check_conflicts(None)
    for content_type in (MERGE_PATCH, STRATEGIC_MERGE_PATCH, JSON_PATCH):
        answerer.check_conflicts(Request("PATCH", "/p", {}, content_type, {}))
