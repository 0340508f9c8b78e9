"""The move of ownership that would end a deletion is tried, because the server checks the object in it."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.request_sequence import StepPurpose, list_sequence
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
REFUSAL = 'ConfigMap "a" is invalid: data: Invalid value: "x": refused'


def made_client_side(*, is_refused: bool) -> Box:
    """A cluster with an object that is being deleted, and that nothing holds any more."""
    box = Box()
    box.apply(TEXT, CLIENT)

    def intercept(request: Request) -> Answer | None:
        if request.method == "PATCH" and is_refused:
            return Answer(422, {"kind": "Status", "reason": "Invalid", "message": REFUSAL})
        answer = box.handle(request)
        if request.path.endswith("/configmaps/a") and answer.is_ok:
            metadata = {**answer.body["metadata"], "deletionTimestamp": "2026-06-01T00:00:00Z"}
            return Answer(200, {**answer.body, "metadata": metadata})
        return answer

    box.intercept = intercept
    return box


@pytest.mark.parametrize("is_refused", [False, True])
def test_move_that_ends_a_deletion_is_tried(is_refused: bool) -> None:
    box = made_client_side(is_refused=is_refused)

    change = box.plan_one(TEXT, ApplyOptions(field_manager="kubectl"))

    assert {request.purpose for request in box.asked if request.method == "PATCH"} == {"migrate"}
    if is_refused:
        assert (change.operation, change.requests) == (Operation.ERROR, ())
        assert "refused" in change.error
    else:
        assert change.operation is Operation.DELETE
        assert [request.purpose for request in change.requests] == ["migrate"]
        last = [(step.purpose, step.method, step.status) for step in list_sequence(change)][-2:]
        assert last == [(StepPurpose.WRITE, "PATCH", 200), (StepPurpose.WAIT, "GET", 404)]
