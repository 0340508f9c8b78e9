"""Fields that a manifest takes from other managers: with the live value, and with their ownership."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.lookups import ABSENT, put_field
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.ownership_risks import find_idle_moves
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Handover, TakenField, TakenManager
from applyviz.engine.risks.planning.ownership import NOTHING_MOVES, OWNERSHIP_MOVED
from applyviz.engine.risks.sentences import describe_risk
from tests.engine.planning.cluster import Box

PATH = "/apis/apps/v1/namespaces/default/deployments/web"
KEY = ("apps", "Deployment", "default", "web")
REPLICAS, PAUSED = ("f:spec", "f:replicas"), ("f:spec", "f:paused")
TIER = ("f:metadata", "f:labels", "f:tier")
WEB = """\
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
EDITED = {"spec": {"replicas": 5, "paused": True}, "metadata": {"labels": {"tier": "front"}}}
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}


def take(*paths, manager="kubectl-edit", is_live=True, **more):
    taken = tuple(TakenField(KEY, path, manager, is_live=is_live) for path in paths)
    return ApplyOptions(taken_fields=taken, **more)


def owners_of(live, path):
    return {(owner.manager, owner.operation) for owner in read_owners(live).of(path)}


@pytest.fixture
def box():
    found = Box()
    found.apply(WEB)
    assert found.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, EDITED)).is_ok
    return found


def run(box, change):
    """Send the requests of a change; the values of the edited fields after each."""
    seen = []
    for request in change.requests:
        answer = box.handle(placeholders.fill(request, box.get(PATH)))
        assert answer.is_ok, answer
        seen.append((answer.body["spec"].get("replicas"), answer.body["spec"].get("paused")))
    return seen


def test_hand_edits_are_taken_with_their_values_and_their_ownership(box):
    options = take(REPLICAS, PAUSED, TIER)

    change = box.plan_one(WEB, options, sources={"app.yaml": EditedText(WEB)})

    assert change.operation is Operation.UPDATE
    assert run(box, change) == [(5, True), (5, True)]
    live = box.get(PATH)
    for path in (REPLICAS, PAUSED, TIER):
        assert owners_of(live, path) == {("applyviz", "Apply")}
    (risk,) = [r for r in change.risks if r.kind is OWNERSHIP_MOVED]
    assert risk.facts == {
        "how": "taken",
        "manager": "applyviz",
        "source": "kubectl-edit",
        "fields": "spec.replicas, spec.paused, metadata.labels.tier",
    }
    assert "-  replicas: 3\n+  paused: true\n+  replicas: 5\n" in change.patch.text
    assert "+metadata: {labels: {tier: front}, name: web}\n" in change.patch.text
    assert [one.patch.text != "" for one in change.answers] == [True] * 3


def test_edited_file_has_nothing_left_to_do(box):
    change = box.plan_one(WEB, take(REPLICAS, PAUSED, TIER), sources={"app.yaml": EditedText(WEB)})
    run(box, change)
    edited = WEB.replace("replicas: 3", "paused: true\n  replicas: 5").replace(
        "{name: web}\nspec", "{labels: {tier: front}, name: web}\nspec"
    )

    assert box.plan_one(edited).operation is Operation.UNCHANGED
    assert box.plan_one(edited, take(REPLICAS)).operation is Operation.UNCHANGED


def test_client_side_the_annotation_gets_the_live_value():
    box = Box()
    box.apply(WEB, ApplyOptions(**CLIENT))
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, EDITED)).is_ok

    change = box.plan_one(WEB, take(REPLICAS, manager="", **CLIENT))

    assert run(box, change) == [(5, True)]
    annotation = box.get(PATH)["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(annotation)["spec"]["replicas"] == 5


def test_field_that_nobody_has_any_more_and_a_field_that_the_manifest_cannot_take_are_left_alone(box):
    gone = ("f:spec", "f:minReadySeconds")
    other = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"other"}', "f:image")

    change = box.plan_one(WEB, take(gone, other, manager="kubectl-edit", takes_over=True))

    assert [request.purpose for request in change.requests] == ["apply"]
    assert change.answers == ()


def test_live_field_of_a_list_entry_that_the_manifest_does_not_have_is_left_alone(box):
    side = {"name": "side", "image": "side:1"}
    live = box.get(PATH)
    containers = [*live["spec"]["template"]["spec"]["containers"], side]
    edit = {"spec": {"template": {"spec": {"containers": containers}}}}
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, edit)).is_ok
    path = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"side"}', "f:image")

    change = box.plan_one(WEB, take(path, takes_over=True))

    assert ([request.purpose for request in change.requests], change.answers) == (["apply"], ())


def test_taken_field_without_its_live_value_keeps_the_value_of_the_manifest(box):
    change = box.plan_one(WEB, take(REPLICAS, is_live=False))

    assert run(box, change) == [(5, True), (3, True)]
    assert owners_of(box.get(PATH), REPLICAS) == {("applyviz", "Apply")}


def test_apply_entry_gives_a_field_back_after_a_handover():
    box = Box()
    box.apply(WEB)
    box.apply(WEB, ApplyOptions(handovers=(Handover(KEY, REPLICAS),)))

    change = box.plan_one(WEB, take(REPLICAS, manager="handover-to-hpa", is_live=False))

    assert run(box, change) == [(3, None), (3, None)]
    live = box.get(PATH)
    assert owners_of(live, REPLICAS) == {("applyviz", "Apply")}
    assert "handover-to-hpa" not in {entry["manager"] for entry in live["metadata"]["managedFields"]}


def test_named_manager_gives_up_what_the_manifest_sets_and_keeps_the_rest():
    box = Box()
    made = box.plan_one(WEB).versions.manifest
    box.handle(Request("POST", PATH.rpartition("/")[0], {"fieldManager": "kubectl-create"}, body=made))
    box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, EDITED))

    change = box.plan_one(WEB, ApplyOptions(takes_from=("kubectl-edit", "kubectl-create")))

    assert change.conflicts == ()
    assert run(box, change)[-1] == (3, True)
    live = box.get(PATH)
    assert owners_of(live, REPLICAS) == {("applyviz", "Apply")}
    assert owners_of(live, PAUSED) == owners_of(live, TIER) == {("kubectl-edit", "Update")}


def test_named_manager_keeps_a_list_entry_of_which_the_manifest_sets_only_a_part():
    box = Box()
    box.apply(WEB)
    container = {"name": "side", "image": "side:1"}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {}}}
    body["spec"]["template"] = {"spec": {"containers": [container]}}
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "side", "force": "true"}, APPLY_PATCH, body)).is_ok
    edit = {"spec": {"template": {"spec": {"containers": [{**container, "image": "side:2"}]}}}}
    live = box.get(PATH)
    edit["spec"]["template"]["spec"]["containers"] = [
        {**one, "image": "side:2"} if one["name"] == "side" else one
        for one in live["spec"]["template"]["spec"]["containers"]
    ]
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, edit)).is_ok
    text = WEB.replace('image: "nginx:1"}]', 'image: "nginx:1"}, {name: side, imagePullPolicy: Always}]')

    change = box.plan_one(text, ApplyOptions(takes_from=("kubectl-edit",), takes_over=True))
    for request in change.requests:
        assert box.handle(placeholders.fill(request, box.get(PATH))).is_ok

    found = {c["name"]: c["image"] for c in box.get(PATH)["spec"]["template"]["spec"]["containers"]}
    assert found == {"web": "nginx:1", "side": "side:2"}


def test_values_of_a_secret_are_never_taken_from_live():
    box = Box()
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {a: x}\n"
    box.apply(text)
    path = "/api/v1/namespaces/default/secrets/login"
    edit = {"stringData": {"b": "hidden"}}
    assert box.handle(Request("PATCH", path, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, edit)).is_ok
    taken = TakenField(("", "Secret", "default", "login"), ("f:data", "f:b"), "kubectl-edit", is_live=True)

    change = box.plan_one(text, ApplyOptions(taken_fields=(taken,)))

    assert (change.operation, change.answers) == (Operation.UNCHANGED, ())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), 7),
        (("f:a",), {"a": 7, "n": None, "items": [{"name": "x", "v": 1}]}),
        (("f:new", "f:b"), {"a": 1, "n": None, "items": [{"name": "x", "v": 1}], "new": {"b": 7}}),
        (("f:n", "f:b"), {"a": 1, "n": {"b": 7}, "items": [{"name": "x", "v": 1}]}),
        (("f:items", 'k:{"name":"x"}', "f:v"), {"a": 1, "n": None, "items": [{"name": "x", "v": 7}]}),
        (("f:items", 'k:{"name":"y"}', "f:v"), ABSENT),
        (("f:a", "f:b"), ABSENT),
        (("f:new", 'k:{"name":"x"}'), ABSENT),
    ],
)
def test_value_is_put_where_the_path_leads(path, expected):
    found = put_field({"a": 1, "n": None, "items": [{"name": "x", "v": 1}]}, path, 7)

    assert (found is ABSENT) if expected is ABSENT else (found == expected)


def told(change):
    return [describe_risk(risk) for risk in change.risks if risk.kind is NOTHING_MOVES]


def test_nothing_that_moves_is_explained_by_who_owns_what(box):
    owners = "Its fields belong to applyviz (Apply: 5), kubectl-edit (Update: 4)."
    assert told(box.plan_one(WEB, take(REPLICAS))) == []
    assert told(box.plan_one(WEB, take(REPLICAS, manager="helm"))) == [
        f"No field moves: no entry of helm for the object itself names spec.replicas. {owners}"
    ]
    selector = ("f:spec", "f:selector")
    short = WEB.replace("  replicas: 3\n", "")
    assert told(box.plan_one(short, take(selector, manager=""))) == [
        f"No field moves: no entry of another manager for the object itself names spec.selector. {owners}"
    ]

    given = ApplyOptions(handovers=(Handover(KEY, REPLICAS),))
    assert told(box.plan_one(short, given)) == [
        "Nothing is handed over: this apply removes no value of spec.replicas, as this manager is not the only owner. "
        + owners
    ]

    box = Box()
    box.apply(WEB)
    owners = "Its fields belong to applyviz (Apply: 6)."
    change = box.plan_one(WEB, ApplyOptions(takes_from=("helm", "kubectl-edit")))
    assert change.operation is Operation.UNCHANGED
    assert told(change) == [
        "No field moves from helm, kubectl-edit: server-side apply takes over what an Update of the object itself set. "
        + owners
    ]


def test_field_of_which_its_manager_owns_only_the_map_around_it_is_named_by_no_entry():
    box = Box()
    made = box.plan_one(WEB).versions.manifest
    box.handle(Request("POST", PATH.rpartition("/")[0], {"fieldManager": "kubectl-create"}, body=made))
    box.apply(WEB)

    (text,) = told(
        box.plan_one(WEB, take(("f:spec", "f:selector", "f:matchLabels", "f:app"), manager="kubectl-create"))
    )

    assert text.startswith("No field moves: no entry of kubectl-create for the object itself names spec.selector.match")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (take(REPLICAS, manager="applyviz"), "No field moves: applyviz is the field manager of this apply. "),
        (
            ApplyOptions(takes_from=("kubectl-edit",)),
            "No field moves from kubectl-edit: of kubectl-edit and before-first-apply, server-side apply takes over "
            "only what the manifest sets. ",
        ),
        (
            ApplyOptions(handovers=(Handover(KEY, ("f:spec", "f:minReadySeconds")),)),
            "Nothing is handed over: this apply removes no value of spec.minReadySeconds, as this manager is not the "
            "only owner. ",
        ),
    ],
)
def test_choice_that_moves_nothing_of_owners_that_could_is_explained(options, expected):
    box = Box()
    box.apply(WEB)
    paused = {"spec": {"paused": True}}
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, paused)).is_ok

    (text,) = told(box.plan_one(WEB, options))

    assert text == expected + "Its fields belong to applyviz (Apply: 6), kubectl-edit (Update: 1)."


def test_manager_that_is_named_for_one_object_gives_up_its_fields_there_alone(box):
    options = ApplyOptions(taken_managers=(TakenManager(KEY, "kubectl-edit"), TakenManager((*KEY[:3], "api"), "helm")))

    change = box.plan_one(WEB, options)

    assert [p.managers for r in change.requests for p in r.placeholders if p.managers] == [("kubectl-edit",)]
    assert told(change) == []


def test_way_back_says_that_no_apply_entry_has_this_name():
    box = Box()
    box.apply(WEB, ApplyOptions(**CLIENT))

    change = box.plan_one(WEB, ApplyOptions(**CLIENT, takes_from=("helm",)))

    assert [text.partition(":")[0] for text in told(change)] == ["No field moves from helm"]


def test_owner_whose_fields_cannot_be_read_is_named_without_their_number(box):
    options = take(REPLICAS, manager="helm")
    change = box.plan_one(WEB, options)
    live = change.versions.live
    applied, edited = live["metadata"]["managedFields"]
    odd = {**live, "metadata": {**live["metadata"], "managedFields": [applied, {**edited, "fieldsV1": [1]}]}}

    (risk,) = find_idle_moves(replace(change, versions=replace(change.versions, live=odd)), options)

    assert describe_risk(risk).endswith("Its fields belong to applyviz (Apply: 5), kubectl-edit (Update).")
