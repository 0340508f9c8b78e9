"""A plan, its changes and its details in the database: once it is complete, nothing of it is changed or deleted."""

from __future__ import annotations

from applyviz.records.enums import PlanState
from applyviz.records.refusal import Guard

_IS_FINISHED = (
    f"NOT EXISTS (SELECT 1 FROM records_plan p WHERE p.id = {{0}}.plan_id AND p.state = '{PlanState.PLANNING}')"  # noqa: S608 - constants
)

OF_PLANS = (
    Guard(
        "plan_is_fixed",
        "records_plan",
        "UPDATE",
        f"OLD.state <> '{PlanState.PLANNING}'",
        "a plan is immutable once it is complete",
    ),
    Guard(
        "plan_no_delete",
        "records_plan",
        "DELETE",
        f"OLD.state <> '{PlanState.PLANNING}'",
        "a finished plan is never deleted",
    ),
    Guard(
        "change_is_fixed",
        "records_objectchange",
        "UPDATE",
        _IS_FINISHED.format("OLD"),
        "changes of a finished plan are immutable",
    ),
    Guard(
        "change_no_late_insert",
        "records_objectchange",
        "INSERT",
        _IS_FINISHED.format("NEW"),
        "no change can be added to a finished plan",
    ),
    Guard(
        "change_no_delete",
        "records_objectchange",
        "DELETE",
        _IS_FINISHED.format("OLD"),
        "changes of a finished plan are never deleted",
    ),
    Guard(
        "details_are_fixed",
        "records_plandetails",
        "UPDATE",
        _IS_FINISHED.format("OLD"),
        "the details of a finished plan are immutable",
    ),
    Guard(
        "details_no_late_insert",
        "records_plandetails",
        "INSERT",
        _IS_FINISHED.format("NEW"),
        "no details can be added to a finished plan",
    ),
    Guard(
        "details_no_delete",
        "records_plandetails",
        "DELETE",
        _IS_FINISHED.format("OLD"),
        "the details of a finished plan are never deleted",
    ),
)
