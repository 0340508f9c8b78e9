"""Records of objects: last-applied is set, managedFields are cleared, and no other value changes."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.annotating import clear_ownership
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import run_flow
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, ClearPatch, SetAction
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
from applyviz.engine.risks.sentences import describe_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
PATH = "/api/v1/namespaces/default/configmaps/settings"
TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1', b: '1'}\n"
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1', c: '1'}\n"
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}
SET = ApplyOptions(action=SetAction.SET_LAST_APPLIED)


def clear(how=ClearPatch.MERGE, **more):
    return ApplyOptions(action=SetAction.CLEAR_OWNERSHIP, clear_patch=how, **more)


def run(box, change):
    for request in change.requests:
        answer = box.handle(placeholders.fill(request, box.get(PATH)))
        assert answer.is_ok, answer
    return box.get(PATH)


def told(change):
    return [(r.level, describe_risk(r)) for r in change.risks if r.kind is OWNERSHIP_MOVED]


def test_last_applied_is_set_and_nothing_else_changes():
    box = Box()
    box.apply(TEXT, ApplyOptions(**CLIENT))
    before = box.get(PATH)

    change = box.plan_one(OTHER, SET)
    live = run(box, change)

    assert (change.operation, change.method, change.certainty) == (
        Operation.UPDATE,
        "JSON merge patch",
        Certainty.CONFIRMED,
    )
    assert live["data"] == before["data"] == {"a": "1", "b": "1"}
    assert json.loads(live["metadata"]["annotations"][ANNOTATION])["data"] == {"a": "1", "c": "1"}
    assert told(change) == [
        (
            RiskLevel.MEDIUM,
            "last-applied forgets data.b: the next client-side apply of a manifest without it keeps it.",
        ),
        (
            RiskLevel.MEDIUM,
            "last-applied then has data.c: the next client-side apply of a manifest without it removes it.",
        ),
    ]
    assert {reason.path for reason in change.fields if reason.operation.value in ("set", "changed", "cleared")} == {
        ("f:metadata", "f:annotations", f"f:{ANNOTATION}"),
        ("f:metadata", "f:managedFields"),
    }
    assert box.plan_one(OTHER, SET).operation is Operation.UNCHANGED


@pytest.mark.parametrize("others", [{}, {"note": "x"}])
def test_annotation_in_the_manifest_is_not_written_into_itself(others):
    box = Box()
    box.apply(TEXT)
    annotations = json.dumps({ANNOTATION: "{}", **others})
    text = TEXT.replace("{name: settings}", f"{{name: settings, annotations: {annotations}}}")

    live = run(box, box.plan_one(text, SET))

    found = json.loads(live["metadata"]["annotations"][ANNOTATION])["metadata"]
    assert found == {"name": "settings", "namespace": "default", **({"annotations": others} if others else {})}


@pytest.mark.parametrize("annotation", [None, "", "{broken"])
def test_annotation_is_created_or_mended(annotation):
    box = Box()
    box.apply(TEXT)
    if annotation is not None:
        body = {"metadata": {"annotations": {ANNOTATION: annotation}}}
        assert box.handle(Request("PATCH", PATH, {"fieldManager": "x"}, MERGE_PATCH, body)).is_ok

    live = run(box, box.plan_one(TEXT, SET))

    assert json.loads(live["metadata"]["annotations"][ANNOTATION])["data"] == {"a": "1", "b": "1"}


@pytest.mark.parametrize("how", ClearPatch)
@pytest.mark.parametrize("can_dry_run", [True, False])
def test_managed_fields_are_cleared_and_no_value_changes(how, can_dry_run):
    box = Box()
    box.apply(TEXT)
    box.handle(Request("PATCH", PATH, {"fieldManager": "helm"}, MERGE_PATCH, {"data": {"b": "2"}}))

    change = box.plan_one(TEXT, clear(how), can_dry_run=can_dry_run, server=EstimatingServer())
    live = run(box, change)

    assert change.operation is Operation.UPDATE
    assert "managedFields" not in live["metadata"]
    assert not change.versions.after["metadata"].get("managedFields")
    assert live["data"] == {"a": "1", "b": "2"}
    assert change.requests[0].content_type == {ClearPatch.MERGE: MERGE_PATCH, ClearPatch.JSON: JSON_PATCH}[how]
    ((level, sentence),) = told(change)
    assert (level, sentence.startswith("Field ownership of applyviz, helm is lost permanently.")) == (
        RiskLevel.HIGH,
        True,
    )
    assert box.plan_one(TEXT, clear(how)).operation is Operation.UNCHANGED


def test_apply_of_another_value_after_clearing_conflicts_as_the_risk_says():
    box = Box()
    box.apply(TEXT)
    change = box.plan_one(TEXT, clear())
    run(box, change)

    ((_level, sentence),) = told(change)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "2"}}
    answer = box.handle(Request("PATCH", PATH, {"fieldManager": "applyviz"}, APPLY_PATCH, body))

    assert sentence.endswith(
        "The next server-side apply credits all fields to before-first-apply: an apply that changes one of them "
        "conflicts with it, and fields dropped later stay."
    )
    assert (answer.status, 'conflict with "before-first-apply"' in answer.message) == (409, True)


def test_request_without_preconditions_has_nothing_to_fill():
    box = Box()
    box.apply(TEXT)
    resource = bundled().find_resource(GroupVersionKind("", "v1", "ConfigMap"))
    target = RequestTarget(resource, "default", "settings", clear(ClearPatch.JSON, has_preconditions=False))
    sent = []

    def answer(request):
        sent.append(request)
        return box.handle(request)

    run_flow(clear_ownership(target), answer)

    assert (len(sent[1].body), sent[1].placeholders) == (1, ())


@pytest.mark.parametrize("options", [SET, clear()])
def test_object_that_is_not_there_and_kind_that_is_unknown_are_errors(options):
    box = Box()

    absent = box.plan_one(TEXT, options)
    unknown = box.plan_one("apiVersion: example.com/v1\nkind: None\nmetadata: {name: x}\n", options)
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n"
    assert box.plan_one(role, options).risks == ()

    assert [one.operation for one in (absent, unknown)] == [Operation.ERROR] * 2
    assert "not found" in absent.error
    assert unknown.error


def test_runner_that_needs_no_notes_gets_the_same_requests():
    box = Box()
    box.apply(TEXT)

    plain = box.plan_one(TEXT, clear(), has_notes=False)

    assert (plain.risks, plain.requests) == ((), box.plan_one(TEXT, clear()).requests)
