"""The way out of a removal that will not happen: who keeps the field, and a command that does remove it."""

from __future__ import annotations

import json
import shlex

import pytest

from applyviz.engine.explain.fields import explain
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.values import clone
from applyviz.engine.ownership import server_side
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.blocked_removals import Intent, Keeper, find_blocked_removals
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.requests.members import place_member
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from tests.engine.planning.cluster import NOW, Box
from tests.engine.risks.widgets import WIDGETS

PATH = "/apis/apps/v1/namespaces/default/deployments/web"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: a}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: first, image: one}
        - {name: web, image: one, env: [{name: A, value: a}]}
"""
WITHOUT = DEPLOYMENT.replace(", env: [{name: A, value: a}]", "").replace(", labels: {tier: a}", "")


def make_change(manager="other", **values):
    box = Box()
    box.apply(DEPLOYMENT)
    box.apply(DEPLOYMENT, ApplyOptions(field_manager=manager, **values))
    return box, box.plan_one(WITHOUT)


def test_every_kept_field_has_its_way_out():
    _box, change = make_change()

    found = {release.path[-1]: release for release in change.blocked_removals}
    assert set(found) >= {"f:tier", "f:value"}
    assert [(h.owner.manager, h.keeper) for h in found["f:tier"].holders] == [("other", Keeper.APPLIER)]
    assert found["f:tier"].holders[0].command == (
        "kubectl apply --server-side --field-manager=other --namespace default --filename"
    )
    assert found["f:tier"].returns


def test_command_removes_the_field_for_good():
    box, change = make_change()
    release = next(r for r in change.blocked_removals if r.path[-1] == "f:tier")
    assert release.is_gone

    words = shlex.split(release.command)
    assert words[:6] == ["kubectl", "patch", "deployments.apps", "web", "--namespace", "default"]
    patch = json.loads(words[-1])
    assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-patch"}, JSON_PATCH, patch)).is_ok
    box.apply(WITHOUT)

    assert "labels" not in box.get(PATH)["metadata"] or "tier" not in box.get(PATH)["metadata"]["labels"]


def test_command_makes_sure_that_entries_are_where_they_were():
    _box, change = make_change()
    release = next(r for r in change.blocked_removals if r.path[-1] == "f:value")

    assert json.loads(shlex.split(release.command)[-1]) == [
        {"op": "test", "path": "/spec/template/spec/containers/1/name", "value": "web"},
        {"op": "test", "path": "/spec/template/spec/containers/1/env/0/name", "value": "A"},
        {"op": "remove", "path": "/spec/template/spec/containers/1/env/0/value"},
    ]


@pytest.mark.parametrize(
    ("manager", "keeper"),
    [
        ("kubectl-edit", Keeper.BY_HAND),
        ("kubectl-client-side-apply", Keeper.CLIENT_SIDE),
        ("kube-controller-manager", Keeper.CONTROLLER),
        ("helm", Keeper.TOOL),
    ],
)
def test_who_keeps_a_field_is_told_apart(manager, keeper):
    box = Box()
    box.apply(DEPLOYMENT)
    for value in ("b", "a"):
        body = {"metadata": {"labels": {"tier": value}}}
        assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": manager}, MERGE_PATCH, body)).is_ok
    options = ApplyOptions(takes_client_side=False)
    box.apply(DEPLOYMENT, options)

    release = next(r for r in box.plan_one(WITHOUT, options).blocked_removals if r.path[-1] == "f:tier")

    assert [(h.owner.manager, h.keeper) for h in release.holders] == [(manager, keeper)]
    assert release.returns is (keeper is not Keeper.BY_HAND)


def test_nothing_is_offered_where_removals_happen():
    box = Box()
    box.apply(DEPLOYMENT)

    assert box.plan_one(WITHOUT).blocked_removals == ()


def test_a_field_that_cannot_be_removed_does_not_stand_for_the_others():
    catalog = CRDSource([WIDGETS], origin=SchemaOrigin.CLUSTER_CRD)
    identity = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
    whole = {**identity, "spec": {"parts": [{"name": "one", "tags": ["a"]}]}}
    member = place_member({**identity, "spec": {}}, options=ApplyOptions(), catalog=catalog)
    live = None
    for manager in ("other", "me"):
        live = server_side.apply(live, whole, kind=member.kind, manager=manager, now=NOW).result
    after = server_side.apply(live, member.obj, kind=member.kind, manager="me", now=NOW).result
    versions = Versions(manifest=member.obj, live=live, merged=after, after=after)
    owners = {"owners_before": read_owners(live), "owners_after": read_owners(after)}
    reasons = explain(versions=versions, mode="server", manager="me", kind=member.kind, **owners)

    found = find_blocked_removals(Intent(live, member.obj, member.kind, member, "me", NOW), reasons)

    # Without its name the entry would be no entry any more: the server refuses that.
    assert {r.path[-1]: r.is_gone for r in found} == {"f:name": False, "f:tags": True}


def test_what_the_manager_wrote_by_hand_itself_has_a_way_out_too():
    box = Box()
    box.apply(DEPLOYMENT)
    for value in ("b", "a"):
        body = {"metadata": {"labels": {"tier": value}}}
        assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": "applyviz"}, MERGE_PATCH, body)).is_ok
    box.apply(DEPLOYMENT)

    (release,) = box.plan_one(WITHOUT).blocked_removals

    assert [(h.owner.manager, h.owner.operation, h.keeper) for h in release.holders] == [
        ("applyviz", "Update", Keeper.BY_HAND)
    ]
    assert (release.path[-1], release.is_gone, release.returns) == ("f:tier", True, False)


def test_field_that_live_does_not_have_needs_no_way_out():
    box, change = make_change()
    member = place_member(change.versions.manifest, options=ApplyOptions(), catalog=bundled())
    live = clone(box.get(PATH))
    del live["metadata"]["labels"]["tier"]

    intent = Intent(live, member.obj, member.kind, member, "applyviz", NOW)
    found = find_blocked_removals(intent, change.fields)

    assert "f:tier" in {r.path[-1] for r in change.blocked_removals}
    assert [r.path for r in found] == [r.path for r in change.blocked_removals if r.path[-1] != "f:tier"]
