"""last-applied after a server-side apply by the manager kubectl: in step, and written after the apply."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.progress import is_rest, leave_record
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_takeover import (
    ANNOTATION,
    CHANGED,
    CLIENT,
    CONFIG,
    CONFIG_PATH,
    ESTIMATED,
    RECORD,
    list_moves,
    made_client_side,
    options,
    read_record,
)


@pytest.mark.parametrize("context", [{}, ESTIMATED], ids=["confirmed", "estimated"])
def test_last_applied_stays_in_step_for_the_manager_kubectl(context):
    box = made_client_side(CONFIG)

    plan = box.plan(CHANGED, options("kubectl"), **context)
    box.run(plan)

    (change,) = plan.changes
    live = box.get(CONFIG_PATH)
    assert list_moves(change) == {".data.x", ".data.z"}
    assert summarize([change]).records_removed == 0
    assert is_same_object(live, change.versions.after)
    assert read_record(live) == yaml.safe_load(CHANGED)
    assert box.plan_one(CHANGED, options("kubectl")).requests == ()


def test_client_side_apply_of_a_colleague_still_removes_what_the_file_drops():
    box = made_client_side(CONFIG)
    box.apply(CONFIG, options("kubectl"))

    box.apply(CHANGED, replace(CLIENT, has_preconditions=False))

    assert box.get(CONFIG_PATH)["data"] == {"x": "9"}


def test_last_applied_that_would_be_too_long_is_removed():
    box = made_client_side(CONFIG)
    big = CONFIG.replace("z: '2'", f"z: '{'2' * 270_000}'")

    plan = box.plan(big, options("kubectl"))
    box.run(plan)

    assert RECORD in list_moves(plan.changes[0])
    assert is_same_object(box.get(CONFIG_PATH), plan.changes[0].versions.after)
    assert read_record(box.get(CONFIG_PATH)) is None


def test_record_is_what_is_left_after_the_apply():
    box = made_client_side(CONFIG)
    change = box.plan_one(CHANGED, options("kubectl"))
    for request in change.requests[:2]:
        assert box.handle(placeholders.fill(request, box.get(CONFIG_PATH))).is_ok

    now = box.plan_one(CHANGED, options("kubectl"))

    assert now.operation is Operation.UNCHANGED
    assert is_rest(change, 2, now)
    left = leave_record(change.requests[2:], change.versions.after)
    assert ANNOTATION not in left["metadata"].get("annotations", {})
    assert leave_record(change.requests[3:], change.versions.after) is change.versions.after


def test_annotation_of_a_manifest_alone_is_not_applied_by_kubectl():
    box = Box()
    annotated = CONFIG.replace("{name: a}", "{name: a, annotations: {" + ANNOTATION + ": '{}'}}")

    plan = box.plan(annotated, options("kubectl"))
    box.run(plan)

    assert [request.purpose for request in plan.changes[0].requests] == ["apply"]
    assert read_record(box.get(CONFIG_PATH)) is None
    assert box.plan_one(annotated, options("kubectl")).operation is Operation.UNCHANGED
