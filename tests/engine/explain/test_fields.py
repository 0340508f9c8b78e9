"""Named cases: the reason and the sentence of every field, and that every reason of the closed set is among them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.patching import PATCH
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.explain.sentences import find_sentence, render_reason
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import Conflict, ConflictError, SourcePosition
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields, render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.ownership.server_side import apply
from applyviz.engine.schema import builtin
from tests.yaml_files import read_yaml

FOLDER = Path(__file__).parents[2] / "cases" / "explain"
CLIENT_SIDE = read_yaml(FOLDER / "client-side.yaml")
PATCHES = read_yaml(FOLDER / "patches.yaml")
SERVER_SIDE = read_yaml(FOLDER / "server-side.yaml")
IDENTITY = {"apiVersion": "apps/v1", "kind": "Deployment"}
KIND = builtin.bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))
SERVICE = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Service"))
CONFIG_MAP = builtin.bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
KINDS = {"Service": SERVICE, "ConfigMap": CONFIG_MAP}


def complete(obj):
    return None if obj is None else {**IDENTITY, **obj}


def explain_client_side(case):
    last_applied, manifest, live = (complete(case[v]) for v in ("last_applied", "manifest", "live"))
    merged = complete(case.get("merged"))
    kind = KINDS.get(case.get("kind"), KIND)
    if merged is None and manifest is not None:
        patch = patches.compute(last_applied, manifest, live, kind=kind)
        merged = patches.apply(live, patch.body, patch.content_type, kind=kind)
    versions = SimpleNamespace(
        last_applied=last_applied, manifest=manifest, live=live, merged=merged, after=complete(case.get("after"))
    )
    owners, is_recreated = read_owners(live), case.get("recreated", False)
    return explain(
        versions=versions, mode="client", manager="kubectl", kind=kind, owners_before=owners, is_recreated=is_recreated
    )


def explain_patch(case):
    live, merged = complete(case["live"]), complete(case["merged"])
    versions = SimpleNamespace(
        last_applied=None,
        manifest=complete(case["manifest"]),
        live=live,
        merged=merged,
        after=complete(case.get("after")),
    )
    return explain(versions=versions, mode=PATCH, manager="me", kind=KIND, owners_before=read_owners(live))


def explain_server_side(case):
    manifest, live = complete(case["manifest"]), complete(case["live"])
    conflicts: tuple[Conflict, ...] = ()
    merged = None
    try:
        applied = apply(
            live, manifest, kind=KIND, manager="me", force=case.get("force", False), now="2026-06-01T00:00:00Z"
        )
        merged = applied.result
    except ConflictError as error:
        conflicts = error.conflicts
    after = complete(case.get("after"))
    versions = SimpleNamespace(last_applied=None, manifest=manifest, live=live, merged=merged, after=after)
    before = {"metadata": {"managedFields": case["moved_from"]}} if "moved_from" in case else live
    return explain(
        versions=versions,
        mode="server",
        manager="me",
        kind=KIND,
        owners_before=read_owners(before),
        owners_after=read_owners(merged or live),
        conflicts=conflicts,
    )


def summarise(reasons):
    found = {}
    for reason in reasons:
        path = render_path(reason.path)
        if path not in (".apiVersion", ".kind"):
            stage = [] if reason.stage is Stage.MERGE else [reason.stage.value]
            found[path] = [reason.operation.value, reason.reason.value, render_reason(reason), *stage]
    return found


@pytest.mark.parametrize("case", CLIENT_SIDE, ids=[c["about"] for c in CLIENT_SIDE])
def test_client_side_reasons(case):
    assert summarise(explain_client_side(case)) == case["expect"]


@pytest.mark.parametrize("case", PATCHES, ids=[c["about"] for c in PATCHES])
def test_reasons_of_patches(case):
    assert summarise(explain_patch(case)) == case["expect"]


@pytest.mark.parametrize("case", SERVER_SIDE, ids=[c["about"] for c in SERVER_SIDE])
def test_server_side_reasons(case):
    found = summarise(explain_server_side(case))
    found.pop(".metadata.managedFields")

    assert found == case["expect"]


def test_every_reason_has_a_case():
    told = {reason for case in CLIENT_SIDE + SERVER_SIDE + PATCHES for _, reason, *_ in case["expect"].values()}

    assert told == {reason.value for reason in Reason}


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("operation", FieldOperation)
def test_every_reason_has_a_sentence(reason, operation):
    sentence = find_sentence(FieldReason(fields("spec", "replicas"), operation, reason, "helm, kubectl-edit"))

    assert str(sentence)
    assert "{" not in str(sentence)


def test_reasons_carry_owners_and_the_source():
    live = {**IDENTITY, **SERVER_SIDE[0]["live"]}
    text = b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n"
    (document,) = parse_manifests(text, "web.yaml").documents
    versions = SimpleNamespace(last_applied=None, manifest=document.obj, live=live, merged=None, after=live)

    reasons = explain(
        versions=versions,
        mode="server",
        manager="me",
        kind=KIND,
        owners_before=read_owners(live),
        owners_after=read_owners(live),
        document=document,
    )

    by_path = {r.path: r for r in reasons}
    replicas = by_path[fields("spec", "replicas")]
    assert replicas.owners_before == replicas.owners_after == (Owner("me", "Apply", "apps/v1"),)
    assert replicas.position == SourcePosition("web.yaml", 5, 3)
    assert by_path[fields("spec", "minReadySeconds")].position == SourcePosition()


def test_kind_without_schema_is_explained_too():
    versions = SimpleNamespace(
        last_applied=None, manifest={"a": {"b": 1}}, live={"a": {"c": 2}}, merged={"a": {"b": 1, "c": 2}}, after=None
    )

    reasons = explain(versions=versions, mode="client", manager="kubectl", kind=None)

    assert [(render_path(r.path), r.operation.value) for r in reasons] == [(".a.b", "set"), (".a.c", "kept")]
