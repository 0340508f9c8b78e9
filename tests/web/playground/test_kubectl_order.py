"""An answer names whose fields kubectl moves, and to whom it leaves last-applied."""

from __future__ import annotations

import json

import pytest

from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery
from applyviz.web.playground.answering import _present_kubectl

NOW = "2026-01-01T00:00:00Z"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
NAMED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
MANIFEST = json.dumps({**NAMED, "data": {"a": "2"}})
OWNED = {"f:data": {"f:a": {}}, "f:metadata": {"f:annotations": {".": {}, f"f:{ANNOTATION}": {}}}}


def render_live(*owners):
    entries = [
        {"manager": name, "operation": how, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for name, how, fields in owners
    ]
    text = json.dumps({**NAMED, "data": {"a": "1"}})
    metadata = {**NAMED["metadata"], "uid": "u", "annotations": {ANNOTATION: text}, "managedFields": entries}
    return json.dumps({**NAMED, "metadata": metadata, "data": {"a": "1", "b": "x"}})


def list_lines(live, manager, **options):
    given = PlaygroundQuery(MANIFEST, live, field_manager=manager, **options)
    change = playground.estimate(given, now=NOW)
    return [line for notice in _present_kubectl(change, given) for line in notice.lines]


MOVED = "kubectl moves all fields of the managers that own the last-applied annotation (%s), and of no others"
STOPPED = "kubectl applies first and would stop at a conflict (%s). applyviz moves the fields first."


@pytest.mark.parametrize(
    ("owners", "manager", "options", "said"),
    [
        ((), "ci", {}, STOPPED % "before-first-apply: .data.a"),
        ((), "kubectl", {}, MOVED % "before-first-apply"),
        ([("helm", "Update", OWNED)], "ci", {"is_forced": True}, MOVED % "helm"),
        (
            [("gitops", "Apply", OWNED)],
            "kubectl",
            {"is_forced": True},
            "kubectl leaves the last-applied annotation to gitops, who applied it.",
        ),
        (
            [("kubectl-client-side-apply", "Update", OWNED), ("helm", "Update", {"f:data": {"f:a": {}}})],
            "ci",
            {},
            STOPPED % "helm: .data.a, kubectl-client-side-apply: .data.a",
        ),
    ],
)
def test_answer_says_whose_fields_kubectl_moves(owners, manager, options, said):
    (line,) = list_lines(render_live(*owners), manager, **options)

    assert line.startswith(said)


def test_answer_is_silent_where_kubectl_moves_the_same():
    assert list_lines(render_live(("kubectl-client-side-apply", "Update", OWNED)), "ci", is_forced=True) == []
