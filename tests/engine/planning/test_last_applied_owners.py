"""The owner of the last-applied annotation while an object changes sides, and the line about it in the summary."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.paths import render_path
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.withheld_messages import withhold
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_takeover import (
    ANNOTATION,
    CHANGED,
    CONFIG,
    CONFIG_PATH,
    made_client_side,
    options,
    set_by_hand,
)


@pytest.mark.parametrize("manager", ["kubectl", "applyviz"])
def test_summary_of_an_object_without_owners_says_that_it_gets_one(manager):
    box = made_client_side(CONFIG)
    set_by_hand(box, {"metadata": {"managedFields": [{}]}})

    summary = summarize([box.plan_one(CHANGED, options(manager))])

    assert (summary.ownership_starts, summary.ownership_moves) == (1, 0)


def test_summary_names_no_move_where_last_applied_is_only_written_again():
    box = made_client_side(CONFIG)
    box.apply(CONFIG, options("kubectl"))

    summary = summarize([box.plan_one(CHANGED, options("kubectl"))])

    assert (summary.ownership_starts, summary.ownership_moves) == (0, 0)


@pytest.mark.parametrize("mode", ApplyMode)
def test_last_applied_is_written_again_beside_another_owner_of_the_annotations(mode):
    """Without another annotation, all of them are gone in between, and come back as a section of the object."""
    box = Box()
    box.apply(CONFIG, ApplyOptions(ApplyMode.CLIENT, field_manager="ci"))
    entry = read_owners(box.get(CONFIG_PATH)).entries[0]
    assert ".metadata.annotations" in map(render_path, entry.fields)
    if mode is ApplyMode.SERVER:
        entries = box.get(CONFIG_PATH)["metadata"]["managedFields"]
        set_by_hand(box, {"metadata": {"managedFields": [{**entries[0], "operation": "Apply"}]}})

    plan = box.plan(CONFIG, options("kubectl"))
    box.run(plan)

    assert ANNOTATION in box.get(CONFIG_PATH)["metadata"]["annotations"]
    assert is_same_object(box.get(CONFIG_PATH), plan.changes[0].versions.after)


LEASE = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: l}
spec: {holderIdentity: a, renewTime: '2026-01-01T00:00:00.%sZ'}
"""


def test_refusal_after_a_move_is_that_of_the_apply_and_not_of_the_update_that_was_tried():
    box = Box()
    box.apply(LEASE % "000000", ApplyOptions(ApplyMode.CLIENT, field_manager="kubectl-client-side-apply"))

    change = box.plan_one(LEASE % "0000001", options("kubectl"), server=EstimatingServer())

    assert change.error.startswith("failed to convert new object (default/l; coordination.k8s.io/v1, Kind=Lease)")


@pytest.mark.parametrize("text", ["{no", "[1]"])
def test_last_applied_that_is_no_document_is_named_beside_masked_values(text):
    box = made_client_side(CONFIG)
    set_by_hand(box, {"metadata": {"annotations": {ANNOTATION: text}}})

    change = box.plan_one(CHANGED, ApplyOptions(ApplyMode.CLIENT))

    assert change.error == "invalid JSON document"
    assert withhold(change, change.versions.manifest).error == "invalid JSON document"
