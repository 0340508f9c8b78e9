"""The steps of a three-way patch: do they merge to the patch that is sent, and to the one that kubectl sends?"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from applyviz.conformance import plans
from applyviz.conformance.stories import load_story
from applyviz.engine.merge import last_applied, patches
from applyviz.engine.merge.application import merge_maps
from applyviz.engine.merge.calculation import MergedPatch, PatchSteps, explain_steps
from applyviz.engine.merge.json_merge import apply_json_merge
from applyviz.engine.merge.shapes import PatchShape
from applyviz.engine.objects.exchange import MERGE_PATCH
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at, is_same_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.planning.simulation.kubectl import unbind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema

DATA = Path(__file__).parents[2] / "conformance" / "data"
STORIES = sorted((DATA / "recorded").glob("*.json.gz"))
ANNOTATED = ("metadata", "annotations", LAST_APPLIED)


def merge_shown(found: PatchSteps, annotation: str | None, content_type: str, kind: KindSchema | None) -> Any:
    """Merge the steps as people see them: additions and the annotation into the deletions."""
    additions = dict(found.additions)
    assert found.sets_annotation == (annotation is not None)
    if annotation is not None:
        metadata = additions.get("metadata") or {}
        annotations = {**(metadata.get("annotations") or {}), LAST_APPLIED: annotation}
        additions["metadata"] = {**metadata, "annotations": annotations}
    if content_type == MERGE_PATCH:
        return apply_json_merge(found.deletions, additions)
    assert kind is not None
    assert kind.root is not None
    return merge_maps(found.deletions, additions, PatchShape(kind.root), is_object=False)


def read_cases(family: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "random" / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = (json.loads(line) for line in lines)
        yield from (case for case in cases if "patch" in case["expected"] and "original" in case["input"])


@pytest.mark.parametrize("family", ["smp3", "jmp3"])
def test_steps_merge_to_the_patch_of_kubectls_own_libraries(family: str) -> None:
    count = 0
    for case in read_cases(family):
        given = case["input"]
        if not given.get("overwrite", True):  # the patch is then compared with what others changed, and reordered
            continue
        named = given.get("gvk")
        kind = bundled().find_kind(GroupVersionKind(**named)) if family == "smp3" else None
        found = patches.compute(given["original"], given["modified"], given["current"], kind=kind)
        annotation = get_at(found.body, ANNOTATED)

        merged = merge_shown(found.calculation, annotation, found.content_type, kind)

        assert is_same_json(merged, case["expected"]["patch"]), case
        count += 1
    assert count > 150


@pytest.mark.core(10)
@pytest.mark.covering
@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.name.partition(".")[0])
def test_shown_steps_merge_to_the_request_of_the_plan(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client-side patch of every recorded story, masked as pages show it."""
    changes: list[PlannedObject] = []
    check = plans._check

    def keep(change: PlannedObject, *rest: Any) -> Any:
        changes.append(change)
        return check(change, *rest)

    monkeypatch.setattr(plans, "_check", keep)
    for _verdict in plans.judge_story(load_story(path), "plan-estimated"):
        pass

    for change in changes:
        shown = mask_change(change, tag_key=b"key")
        for request in (r for r in shown.requests if shown.calculation is not None and r.purpose == "patch"):
            body = unbind(request).body
            kind = bundled().find_kind(shown.ref.gvk)
            assert shown.calculation is not None

            merged = merge_shown(shown.calculation, get_at(body, ANNOTATED), request.content_type, kind)

            # What a manifest no longer says of version and uid is not sent: the write is bound to what was read.
            assert is_same_json(unbind(replace(request, body=merged)).body, body), change.ref
        patched = [r for r in change.requests if r.purpose == "patch"]
        assert change.calculation is not None or not patched or change.operation.is_deletion


def test_recorded_stories_have_client_side_patches() -> None:
    """The property above is about something: one story, counted."""
    story = load_story(DATA / "recorded" / "merge-table-lists-of-objects.json.gz")

    sent = [e for step in story.steps for e in step.exchanges if e.method == "PATCH"]

    assert sent


def test_annotation_is_a_step_of_its_own() -> None:
    manifest = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"b": "2"}}
    applied = {**manifest, "data": {"a": "1"}}
    live = last_applied.attach({**applied, "metadata": {"name": "a", "annotations": {"mine": "1"}}})

    kind = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    found = patches.compute(last_applied.find(live), last_applied.attach(manifest), live, kind=kind).calculation

    assert found == PatchSteps(
        {"data": {"a": None}, "metadata": {"annotations": {"mine": None}}}, {"data": {"b": "2"}}, sets_annotation=True
    )


@pytest.mark.parametrize(
    ("additions", "left", "is_set"),
    [
        ({}, {}, False),
        ({"metadata": 5}, {"metadata": 5}, False),
        ({"metadata": {"annotations": None}}, {"metadata": {"annotations": None}}, False),
        ({"metadata": {"annotations": {"a": "1"}}}, {"metadata": {"annotations": {"a": "1"}}}, False),
        ({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}, {}, True),
        (
            {"metadata": {"annotations": {LAST_APPLIED: "{}", "a": "1"}}},
            {"metadata": {"annotations": {"a": "1"}}},
            True,
        ),
        ({"metadata": {"annotations": {LAST_APPLIED: "{}"}, "labels": {}}}, {"metadata": {"labels": {}}}, True),
    ],
)
def test_additions_are_shown_without_the_annotation(additions: Any, left: Any, is_set: bool) -> None:
    found = explain_steps(MergedPatch({}, {}, additions))

    assert (found.additions, found.sets_annotation) == (left, is_set)
