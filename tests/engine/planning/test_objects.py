"""Is the change that is planned the one that would happen, and does it say how sure it is?"""

from __future__ import annotations

import pytest

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import find_difference
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.admission import ADMISSION_CHANGED
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import SchemaOrigin
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
SERVER = ApplyOptions()
OTHER = ApplyOptions(field_manager="other")
LOUD = (FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.CONFLICT)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', z: '2'}\n"
CHANGED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '9'}\n"
PATH = "/api/v1/namespaces/default/configmaps/a"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: APP}}
  template:
    metadata: {labels: {app: APP}}
    spec: {containers: [{name: web, image: nginx}]}
"""


def refuse_dry_runs(status: int, message: str):
    def intercept(request):
        return Answer(status, {"kind": "Status", "message": message}) if request.is_dry_run else None

    return intercept


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_absent_object_is_created_as_the_server_confirms(options):
    change = Box().plan_one(CONFIG, options)

    assert change.operation is Operation.CREATE
    assert change.certainty is Certainty.CONFIRMED
    assert change.versions.live is None
    assert change.versions.after["data"] == {"x": "1", "z": "2"}
    assert change.schema_origin is SchemaOrigin.BUNDLED
    assert (change.position.line, change.end_line) == (1, 4)


def test_client_side_create_is_a_post():
    (request,) = Box().plan_one(CONFIG, CLIENT).requests

    assert (request.method, request.path, request.placeholders) == ("POST", "/api/v1/namespaces/default/configmaps", ())


def test_server_side_create_is_bound_to_absence():
    (request,) = Box().plan_one(CONFIG, SERVER).requests

    assert (request.method, request.body["metadata"]["resourceVersion"], request.placeholders) == ("PATCH", "1", ())


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_update_is_bound_to_the_object_as_read(options):
    box = Box()
    box.apply(CONFIG, options)
    live = box.get(PATH)["metadata"]

    (request,) = box.plan_one(CHANGED, options).requests

    bound = {k: request.body["metadata"][k] for k in ("uid", "resourceVersion")}
    assert bound == {"uid": live["uid"], "resourceVersion": live["resourceVersion"]}
    assert [(h.path, h.rule) for h in request.placeholders] == [
        (("f:metadata", "f:uid"), "uid"),
        (("f:metadata", "f:resourceVersion"), "resourceVersion"),
    ]


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_what_is_run_is_what_was_planned(options):
    box = Box()
    box.apply(CONFIG, options)
    plan = box.plan(CHANGED, options)

    box.run(plan)

    live, after = box.get(PATH), plan.changes[0].versions.after
    assert live["data"] == after["data"] == {"x": "9"}
    assert live["metadata"]["managedFields"] == after["metadata"]["managedFields"]


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_applying_again_changes_nothing_and_sends_nothing(options):
    box = Box()
    box.apply(CONFIG, options)

    change = box.plan_one(CONFIG, options)

    assert (change.operation, change.requests, change.has_effect) == (Operation.UNCHANGED, (), False)


@pytest.mark.parametrize(("options", "method"), [(CLIENT, "strategic merge patch"), (SERVER, "server-side apply")])
def test_change_names_its_method_and_its_fields(options, method):
    box = Box()
    box.apply(CONFIG, options)

    change = box.plan_one(CHANGED, options)

    operations = {f.path[-1]: f.operation for f in change.fields if f.path[0] == "f:data"}
    assert change.method == method
    assert operations == {"f:x": FieldOperation.CHANGED, "f:z": FieldOperation.CLEARED}
    assert next(f.position.line for f in change.fields if f.path == ("f:data", "f:x")) == 4


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_calculated_and_confirmed_change_agree(options):
    box = Box()
    box.apply(CONFIG, options)

    confirmed = box.plan_one(CHANGED, options)
    calculated = box.plan_one(CHANGED, options, can_dry_run=False)

    assert calculated.certainty is Certainty.ESTIMATED
    assert calculated.certainty_reason == "no dry run was asked for"
    assert calculated.versions.after["data"] == confirmed.versions.after["data"]
    assert (
        calculated.versions.after["metadata"]["managedFields"] == confirmed.versions.after["metadata"]["managedFields"]
    )


def test_conflicts_refuse_the_whole_object():
    box = Box()
    box.apply(CONFIG, ApplyOptions(field_manager="other"))

    change = box.plan_one(CHANGED, SERVER)

    assert change.operation is Operation.BLOCKED
    assert [(c.manager, c.path) for c in change.conflicts] == [("other", ("f:data", "f:x"))]
    assert change.certainty is Certainty.ESTIMATED
    assert change.certainty_reason == "the dry run stopped at the conflict; the rest is calculated locally"
    assert list(find_difference(change)) == []


def test_refused_object_tells_what_else_would_change():
    box = Box()
    own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {v: one}}\ndata: {gone: mine, kept: mine}\n"
    wanted = own.replace("v: one", "v: two").replace("gone: mine, kept: mine", "x: ours, kept: mine, more: ours")
    box.apply(own, SERVER)
    box.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: theirs}\n", OTHER)

    change = box.plan_one(wanted, SERVER)

    moved = {
        render_path(f.path): (f.operation, f.reason)
        for f in change.fields
        if f.operation in LOUD and f.path[1] != "f:managedFields"
    }
    assert moved == {
        ".metadata.labels.v": (FieldOperation.CHANGED, Reason.MANIFEST_SETS),
        ".data.x": (FieldOperation.CONFLICT, Reason.CONFLICTS),
        ".data.more": (FieldOperation.SET, Reason.MANIFEST_SETS),
        ".data.gone": (FieldOperation.CLEARED, Reason.REMOVED_SOLE_OWNER),
    }
    assert change.versions.live["data"]["x"] == change.versions.after["data"]["x"] == "theirs"
    assert change.versions.manifest["data"]["x"] == "ours"
    assert next(f.detail for f in change.fields if f.path == ("f:data", "f:x")) == "other"
    assert ADMISSION_CHANGED not in {h.kind for h in change.risks}


def test_refused_object_restarts_no_pod_yet():
    box = Box()
    box.apply(DEPLOYMENT.replace("APP", "web"), OTHER)
    ours = DEPLOYMENT.replace("APP", "web").replace("image: nginx", "image: ours, env: [{name: A, value: b}]")

    plan = box.plan(ours, SERVER)

    assert plan.changes[0].operation is Operation.BLOCKED
    assert PODS_RESTART in {h.kind for h in plan.changes[0].risks}
    assert summarize(plan.changes).restarts == ()


def test_conflicts_are_calculated_when_no_dry_run_may_be_made():
    box = Box()
    box.apply(CONFIG, ApplyOptions(field_manager="other"))

    change = box.plan_one(CHANGED, SERVER, can_dry_run=False)

    assert (change.operation, change.certainty) == (Operation.BLOCKED, Certainty.ESTIMATED)
    assert [c.manager for c in change.conflicts] == ["other"]


def test_taking_over_is_an_update_with_force():
    box = Box()
    box.apply(CONFIG, ApplyOptions(field_manager="other"))

    change = box.plan_one(CHANGED, ApplyOptions(takes_over=True))

    assert (change.operation, change.requests[0].query["force"]) == (Operation.UPDATE, "true")


@pytest.mark.parametrize("options", [CLIENT, SERVER])
def test_immutable_field_is_an_error_in_the_server_s_words(options):
    box = Box()
    box.apply(DEPLOYMENT.replace("APP", "a"), options)

    change = box.plan_one(DEPLOYMENT.replace("APP", "b"), options)

    assert (change.operation, change.requests) == (Operation.ERROR, ())
    assert "field is immutable" in change.error


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_immutable_field_is_made_anew_only_when_asked(mode):
    box = Box()
    options = ApplyOptions(mode=mode, is_replacing_on_error=True)
    box.apply(DEPLOYMENT.replace("APP", "a"), options)

    change = box.plan_one(DEPLOYMENT.replace("APP", "b"), options)

    assert (change.operation, change.method) == (Operation.REPLACE, "replace")
    assert [r.method for r in change.requests] == ["DELETE", "POST" if mode is ApplyMode.CLIENT else "PATCH"]
    assert set(change.requests[0].body["preconditions"]) == {"uid", "resourceVersion"}
    assert change.certainty is Certainty.ESTIMATED


def test_rights_to_read_only_give_a_calculated_plan():
    box = Box()
    message = 'configmaps "a" is forbidden: User "alice" cannot patch resource "configmaps" in API group ""'
    box.intercept = refuse_dry_runs(403, message)

    change = box.plan_one(CONFIG, SERVER)

    assert (change.operation, change.certainty) == (Operation.CREATE, Certainty.ESTIMATED)
    assert change.certainty_reason == "a dry run is not allowed here: " + message


def test_admission_that_forbids_is_an_error():
    box = Box()
    box.intercept = refuse_dry_runs(403, 'configmaps "a" is forbidden: exceeded quota: small')

    change = box.plan_one(CONFIG, SERVER)

    assert change.operation is Operation.ERROR
    assert change.error == 'configmaps "a" is forbidden: exceeded quota: small'
    assert (change.certainty, change.certainty_reason) == (Certainty.NONE, "the API server rejected the request")


def test_object_that_an_estimate_rejects_says_whose_answer_it_is():
    box = Box()
    box.intercept = refuse_dry_runs(403, 'configmaps "a" is forbidden: User "x" cannot create resource "configmaps"')

    change = box.plan_one(CONFIG.replace("x: '1'", "x: 1"), SERVER)

    assert (change.operation, change.certainty) == (Operation.ERROR, Certainty.NONE)
    assert change.certainty_reason.startswith("a dry run is not allowed here: ")


def test_webhook_without_dry_run_gives_a_calculated_plan():
    box = Box()
    message = 'admission webhook "x.example.org" does not support dry run'
    box.intercept = refuse_dry_runs(400, message)

    change = box.plan_one(CONFIG, SERVER)

    assert (change.certainty, change.certainty_reason) == (Certainty.ESTIMATED, f"the server cannot try it: {message}")


def test_live_object_that_cannot_be_read_is_unknown():
    box = Box()
    box.intercept = lambda request: Answer(0, {"message": "connection refused"})

    change = box.plan_one(CONFIG, SERVER)

    assert (change.operation, change.certainty) == (Operation.ERROR, Certainty.UNKNOWN)
    assert change.error == "the live object could not be read: connection refused"


def test_object_that_changes_while_it_is_planned_is_read_again():
    box = Box()
    box.apply(CONFIG, SERVER)
    moved = Answer(409, {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"})
    answers = [moved]
    box.intercept = lambda request: answers.pop() if request.is_dry_run and answers else None

    change = box.plan_one(CHANGED, SERVER)

    assert (change.operation, change.certainty) == (Operation.UPDATE, Certainty.CONFIRMED)
    assert [r.method for r in box.asked if r.path == PATH][-4:] == ["GET", "PATCH", "GET", "PATCH"]


def test_kind_that_nobody_serves_is_an_error_of_its_own():
    change = Box().plan_one("apiVersion: x.example.org/v1\nkind: Thing\nmetadata: {name: t}\n")

    assert (change.operation, change.certainty) == (Operation.ERROR, Certainty.UNKNOWN)
    assert change.error.startswith('no matches for kind "Thing"')


def test_broken_annotation_is_an_error_and_no_version():
    box = Box()
    broken = CONFIG.replace(
        "{name: a}", '{name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{"}}'
    )
    box.apply(broken, SERVER)

    change = box.plan_one(CHANGED, CLIENT)

    assert (change.operation, change.error, change.versions.last_applied) == (
        Operation.ERROR,
        "invalid JSON document",
        None,
    )


def test_kind_without_a_schema_is_planned_as_kubectl_treats_it():
    class Addressed:
        """Knows how every kind is addressed, and no schema."""

        def find_kind(self, gvk):
            return None

        def find_resource(self, gvk):
            return bundled().find_resource(gvk)

        find_preferred, list_resources = bundled().find_preferred, bundled().list_resources

    change = Box().plan_one(CONFIG, CLIENT, catalog=Addressed())

    assert (change.operation, change.schema_origin) == (Operation.CREATE, SchemaOrigin.NONE)


def test_conflicts_that_only_the_server_sees_are_told_in_its_words():
    box = Box()
    box.apply(CONFIG, SERVER)
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "far" using v1', "field": ".data.x"}
    body = {"kind": "Status", "reason": "Conflict", "message": "conflict", "details": {"causes": [cause]}}
    box.intercept = lambda request: Answer(409, body) if request.is_dry_run else None

    change = box.plan_one(CHANGED, SERVER)

    assert [(c.manager, c.operation, c.message) for c in change.conflicts] == [
        ("far", "Update", 'conflict with "far" using v1: .data.x')
    ]
    assert change.operation is Operation.BLOCKED


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (0, "no answer to the dry run: gone"),
        (503, "the server could not try it: gone"),
    ],
)
def test_dry_run_that_fails_by_the_way_leaves_the_plan_calculated(status, reason):
    box = Box()
    box.intercept = refuse_dry_runs(status, "gone")

    change = box.plan_one(CONFIG, SERVER)

    assert (change.certainty, change.certainty_reason) == (Certainty.ESTIMATED, reason)


def test_steps_hold_what_may_be_applied_together():
    plan = Box().plan(
        CONFIG + "---\n" + CONFIG.replace("name: a", "name: b") + "---\n" + DEPLOYMENT.replace("APP", "a")
    )

    assert [[c.ref.name for c in step] for step in plan.steps] == [["a", "b"], ["web"]]


def test_namespace_of_a_review_is_a_default_and_no_limit():
    box, text = Box(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
    box.handle(Request("POST", "/api/v1/namespaces", body={"metadata": {"name": "shop"}}))
    default = ApplyOptions(namespace="shop")

    assert box.plan_one(text, default).ref.namespace == "default"
    assert box.plan_one(text.replace(", namespace: default", ""), default).ref.namespace == "shop"
    enforced = box.plan_one(text, replace(default, is_namespace_enforced=True))
    assert (enforced.operation, "does not match the namespace" in enforced.error) == (Operation.ERROR, True)
