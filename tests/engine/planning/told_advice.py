"""Advice in the guide and in errors, sentence by sentence, each with the case that carries it out.

The cases run on a sandbox (`test_told_advice.py`) and on a real API server (`tests/controlplane/test_advice.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from applyviz.engine.channels.choosing import choose
from applyviz.engine.channels.model import Addon, AddonPlan
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.exchange import JSON, JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.planning.model.plan import Operation
from tests.engine.planning.advice import CLIENT, config_map, path_of, text_of
from tests.engine.planning.cluster import Box

Case = Callable[[Box], None]
TOLD: dict[str, Case] = {}
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def follows(*sentences: str) -> Callable[[Case], Case]:
    """Register a case as the one that carries out these sentences, word for word."""

    def register(case: Case) -> Case:
        TOLD.update(dict.fromkeys(sentences, case))
        return case

    return register


def _send(box: Box, method: str, path: str, content_type: str, body: Any, manager: str) -> None:
    answer = box.handle(Request(method, path, {"fieldManager": manager}, content_type, body))
    assert answer.is_ok, answer


def _forget(box: Box, obj: dict[str, Any], field: str) -> None:
    """Remove a field from last-applied, as `kubectl apply edit-last-applied` does."""
    applied = json.loads(box.get(path_of(obj))["metadata"]["annotations"][ANNOTATION])
    del applied["data"][field]
    edit = {"metadata": {"annotations": {ANNOTATION: json.dumps(applied)}}}
    _send(box, "PATCH", path_of(obj), MERGE_PATCH, edit, "kubectl-edit-last-applied")


@follows(
    "To hand a field over to manual edits, remove it from last-applied **first** (`kubectl apply edit-last-applied`), "
    "and only then from the file; in the other order, apply removes the field.",
    "To take a field back, add it to the file.",
)
def hand_over_to_manual_edits(box: Box) -> None:
    wanted, without = config_map("by-hand", theme="dark", rest="1"), config_map("by-hand", rest="1")
    box.apply(text_of(wanted), CLIENT)
    assert "theme" not in box.plan_one(text_of(without), CLIENT).versions.after["data"]

    _forget(box, wanted, "theme")
    box.apply(text_of(without), CLIENT)
    _send(box, "PATCH", path_of(wanted), MERGE_PATCH, {"data": {"theme": "light"}}, "kubectl-edit")
    box.apply(text_of(config_map("by-hand", rest="2")), CLIENT)
    assert box.get(path_of(wanted))["data"] == {"theme": "light", "rest": "2"}

    box.apply(text_of(wanted), CLIENT)
    assert box.get(path_of(wanted))["data"] == {"theme": "dark", "rest": "1"}


@follows(
    "To adopt an object that was created manually, export it, remove the fields that the server set, save it with "
    "`kubectl replace --save-config`, and use apply from then on."
)
def adopt(box: Box) -> None:
    made = config_map("adopted", theme="dark", rest="1")
    _send(box, "POST", path_of(made).rpartition("/")[0], JSON, made, "kubectl-create")
    _send(box, "PUT", path_of(made), JSON, last_applied.attach(made), "kubectl-replace")

    box.apply(text_of(config_map("adopted", rest="1")), CLIENT)

    assert box.get(path_of(made))["data"] == {"rest": "1"}


@follows("To switch back safely, write last-applied first and then remove the Apply entry.")
def switch_back(box: Box) -> None:
    wanted, without = config_map("switched", theme="dark", rest="1"), config_map("switched", rest="1")
    box.apply(text_of(wanted))
    annotated = {"metadata": {"annotations": {ANNOTATION: last_applied.render(wanted)}}}
    _send(box, "PATCH", path_of(wanted), MERGE_PATCH, annotated, CLIENT.field_manager)
    entries = box.get(path_of(wanted))["metadata"]["managedFields"]
    kept = [entry for entry in entries if entry["operation"] != "Apply"]
    edit = [{"op": "replace", "path": "/metadata/managedFields", "value": kept}]
    _send(box, "PATCH", path_of(wanted), JSON_PATCH, edit, CLIENT.field_manager)

    box.apply(text_of(without), CLIENT)

    live = box.get(path_of(wanted))
    assert live["data"] == {"rest": "1"}
    assert [e["operation"] for e in live["metadata"]["managedFields"] if e["operation"] == "Apply"] == []


@follows("{stale}: take it out of the manifest")
def take_the_binding_out(box: Box) -> None:
    wanted = config_map("bound", theme="dark")
    box.apply(text_of(wanted))
    bound = {**config_map("bound", theme="light"), "metadata": {"name": "bound", "resourceVersion": "1"}}
    change = box.plan_one(text_of(bound))
    assert (change.operation, change.error.endswith(": take it out of the manifest")) == (Operation.ERROR, True)

    box.apply(text_of(config_map("bound", theme="light")))

    assert box.get(path_of(wanted))["data"] == {"theme": "light"}


@follows(
    "Installed{origin}, but not in this channel: its objects and its annotation stay. To remove it, delete its "
    "objects, then the annotation {annotation} of namespace {namespace}."
)
def remove_an_addon_that_left_its_channel(box: Box) -> None:
    left, namespace, record = config_map("left"), "/api/v1/namespaces/default", "addons.k8s.io/left"
    box.apply(text_of(left))
    _send(box, "PATCH", namespace, MERGE_PATCH, {"metadata": {"annotations": {record: '{"id":"a"}'}}}, "kops")
    assert [one.reason.value for one in _choose(box, namespace)] == ["not-in-channel"]

    _send(box, "DELETE", path_of(left), JSON, {}, "kubectl")
    _send(box, "PATCH", namespace, MERGE_PATCH, {"metadata": {"annotations": {record: None}}}, "kubectl-annotate")

    assert _choose(box, namespace) == ()


@follows(
    "Recorded in namespace {namespace}{origin}, but the channel records it in namespace {preferred_namespace}: kOps "
    "ignores this record. To remove it, delete the annotation {annotation}."
)
def remove_a_record_in_another_namespace(box: Box) -> None:
    namespace, record = "/api/v1/namespaces/default", "addons.k8s.io/moved"
    _send(box, "PATCH", namespace, MERGE_PATCH, {"metadata": {"annotations": {record: '{"id":"a"}'}}}, "kops")
    moved = Addon("moved", id="a")
    assert [one.reason.value for one in _choose(box, namespace, moved)] == [
        "not-installed",
        "other-namespace",
    ]

    _send(box, "PATCH", namespace, MERGE_PATCH, {"metadata": {"annotations": {record: None}}}, "kubectl-annotate")

    assert [one.reason.value for one in _choose(box, namespace, moved)] == ["not-installed"]


def _choose(box: Box, namespace: str, *addons: Addon) -> tuple[AddonPlan, ...]:
    found = box.get(namespace)["metadata"].get("annotations", {})
    return choose(addons, kubernetes="v1.36.3", annotations={"default": found}, faults={})


@follows(
    "`{written[:_SHOWN]}` is read as {json.dumps(value)}: quote it",
    "`{json.dumps(value)}` is read as a {'boolean' if isinstance(value, bool) else 'number'}: quote it",
)
def quote_a_label_that_is_no_text(box: Box) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: labeled, labels: {a: WRITTEN}}}"
    for written in ("y", "8080"):
        (problem,) = parse_manifests(text.replace("WRITTEN", written).encode(), "a.yaml").problems
        assert problem.advice.endswith(": quote it")

        box.apply(text.replace("WRITTEN", f"'{written}'"))

        assert box.get(path_of(config_map("labeled")))["metadata"]["labels"] == {"a": written}
