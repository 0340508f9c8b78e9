"""Fields that a manifest gives up: their value stays at every request, and somebody else owns them."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.objects.lookups import drop_field
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.progress import has_moved, is_rest
from applyviz.engine.requests.calls import moves_ownership
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Handover
from applyviz.engine.risks.autoscaled import AUTOSCALED_FIELD
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

CLIENT_MANAGER = "kubectl-client-side-apply"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
PATH = "/apis/apps/v1/namespaces/default/deployments/web"
KEY = ("apps", "Deployment", "default", "web")
REPLICAS = ("f:spec", "f:replicas")
SCALED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""
DROPPED = SCALED.replace("  replicas: 3\n", "")
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""


def hand_over(**more: object) -> ApplyOptions:
    return ApplyOptions(handovers=(Handover(KEY, REPLICAS),), **more)


def owners_of(live, path=REPLICAS):
    return {(owner.manager, owner.operation) for owner in read_owners(live).of(path)}


def run_watched(box, change):
    """Send the requests of a change one by one; the replicas after each."""
    seen = []
    for request in change.requests:
        answer = box.handle(placeholders.fill(request, box.get(PATH)))
        assert answer.is_ok, answer
        seen.append(answer.body["spec"]["replicas"])
    return seen


@pytest.mark.parametrize("text", [SCALED, DROPPED])
def test_sole_owner_hands_replicas_over_without_a_dip(text):
    box = Box()
    box.apply(SCALED)

    change = box.plan_one(text, hand_over())
    seen = run_watched(box, change)

    assert (change.operation, seen) == (Operation.UPDATE, [3, 3])
    assert owners_of(box.get(PATH)) == {("handover-to-hpa", "Apply")}
    assert change.certainty is Certainty.CONFIRMED
    assert [r.kind for r in change.risks if r.kind is AUTOSCALED_FIELD] == []
    assert box.plan_one(DROPPED).operation is Operation.UNCHANGED


def test_autoscaler_takes_the_field_through_scale_afterwards():
    box = Box()
    box.apply(SCALED)
    box.apply(SCALED, hand_over())

    answer = box.handle(
        Request(
            "PATCH",
            f"{PATH}/scale",
            {"fieldManager": "kube-controller-manager"},
            MERGE_PATCH,
            {"spec": {"replicas": 7}},
        )
    )

    assert answer.is_ok
    assert box.get(PATH)["spec"]["replicas"] == 7
    assert owners_of(box.get(PATH)) == {("kube-controller-manager", "Update")}
    assert box.plan_one(DROPPED).operation is Operation.UNCHANGED


def test_field_that_somebody_else_owns_is_only_dropped():
    box = Box()
    box.apply(SCALED)
    box.apply(SCALED, ApplyOptions(field_manager="somebody", takes_over=True))

    change = box.plan_one(SCALED, hand_over())

    assert [request.purpose for request in change.requests] == ["apply"]
    assert run_watched(box, change) == [3]
    assert owners_of(box.get(PATH)) == {("somebody", "Apply")}


def test_two_fields_join_one_entry_and_a_map_is_handed_over_as_a_whole():
    box = Box()
    labelled = SCALED.replace("{name: web}\nspec", "{name: web, labels: {a: x, b: z}}\nspec")
    box.apply(labelled)
    given = (Handover(KEY, REPLICAS, "other"), Handover(KEY, ("f:metadata", "f:labels"), "other"))

    box.apply(labelled, ApplyOptions(handovers=given))

    live = box.get(PATH)
    assert (live["spec"]["replicas"], live["metadata"]["labels"]) == (3, {"a": "x", "b": "z"})
    assert owners_of(live) == owners_of(live, ("f:metadata", "f:labels", "f:a")) == {("other", "Apply")}


def test_client_side_apply_forgets_the_field_in_the_same_patch():
    box = Box()
    client = {"mode": ApplyMode.CLIENT, "field_manager": CLIENT_MANAGER}
    box.apply(SCALED, ApplyOptions(**client))

    change = box.plan_one(SCALED.replace("nginx:1", "nginx:2"), hand_over(**client))
    seen = run_watched(box, change)

    assert seen == [3]
    assert "replicas" not in json.loads(box.get(PATH)["metadata"]["annotations"][ANNOTATION])["spec"]
    assert box.plan_one(DROPPED.replace("nginx:1", "nginx:2"), ApplyOptions(**client)).operation is Operation.UNCHANGED


def test_first_client_side_apply_has_nothing_to_forget():
    box = Box()
    box.handle(Request("POST", PATH.rpartition("/")[0], body=box.plan_one(SCALED).versions.manifest))

    change = box.plan_one(SCALED, hand_over(mode=ApplyMode.CLIENT, takes_client_side=False))

    assert run_watched(box, change) == [3]


def test_interrupted_handover_is_finished_by_what_is_left():
    box = Box()
    box.apply(SCALED)
    change = box.plan_one(SCALED, hand_over())

    box.handle(placeholders.fill(change.requests[0], box.get(PATH)))

    assert has_moved(change, 0, box.get(PATH))
    assert is_rest(change, 1, box.plan_one(SCALED, hand_over()))


def test_file_edit_is_offered_for_the_given_up_field():
    box = Box()
    box.apply(SCALED)

    change = box.plan_one(SCALED, hand_over(), sources={"app.yaml": EditedText(SCALED)})

    (answer,) = change.answers
    assert (answer.path, answer.manager) == (REPLICAS, "handover-to-hpa")
    assert "-  replicas: 3" in answer.patch.text


def test_handover_without_a_dry_run_is_estimated():
    box = Box()
    box.apply(SCALED)

    change = box.plan_one(SCALED, hand_over(), can_dry_run=False, server=EstimatingServer())

    assert (change.certainty, change.versions.after["spec"]["replicas"]) == (Certainty.ESTIMATED, 3)
    assert owners_of(change.versions.after) == {("handover-to-hpa", "Apply")}


def test_what_is_only_handed_over_migrates_from_nobody():
    box = Box()
    box.apply(SCALED)

    plan = box.plan(SCALED, hand_over())

    assert [moves_ownership(request) for request in plan.changes[0].requests].count(True) == 1
    assert summarize(plan.changes).ownership_moves == 0


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("f:spec", "f:a"), {"spec": {"b": 1, "items": [{"name": "x", "v": 1}, {"name": "z"}]}}),
        (("f:spec", 'k:{"name":"x"}'), None),
        (
            ("f:spec", "f:items", 'k:{"name":"x"}', "f:v"),
            {"spec": {"a": 1, "b": 1, "items": [{"name": "x"}, {"name": "z"}]}},
        ),
        (("f:spec", "f:items", 'k:{"name":"z"}'), {"spec": {"a": 1, "b": 1, "items": [{"name": "x", "v": 1}]}}),
        (("f:spec",), {}),
        (("f:none", "f:a"), None),
    ],
)
def test_field_is_dropped_with_what_held_it_alone(path, left):
    obj = {"spec": {"a": 1, "b": 1, "items": [{"name": "x", "v": 1}, {"name": "z"}]}}

    assert drop_field(obj, path) == (obj if left is None else left)


@pytest.mark.parametrize("mode", ApplyMode)
def test_object_that_does_not_exist_has_no_value_to_hand_over(mode):
    change = Box().plan_one(SCALED, hand_over(mode=mode))

    assert (change.operation, change.requests, change.versions.after) == (Operation.ERROR, (), None)
    assert "does not exist yet" in change.error
