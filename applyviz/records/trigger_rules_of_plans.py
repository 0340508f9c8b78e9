"""Guards of plans in the database: a complete plan, its changes and its details are never changed or deleted.

The same holds for the scopes of its review, which decide who sees it. A resolution can only be undone.
"""

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
        "resolution_is_fixed",
        "records_resolution",
        "UPDATE",
        "OLD.review_id <> NEW.review_id OR OLD.plan_id <> NEW.plan_id OR OLD.by_id <> NEW.by_id"
        " OR OLD.object_key <> NEW.object_key OR OLD.path <> NEW.path OR OLD.manager <> NEW.manager"
        " OR OLD.choice <> NEW.choice OR OLD.note <> NEW.note OR OLD.created_at <> NEW.created_at"
        " OR CAST(OLD.elements AS text) <> CAST(NEW.elements AS text) OR OLD.undone_at IS NOT NULL",
        "a resolution is only ever undone, once",
    ),
    Guard("resolution_no_delete", "records_resolution", "DELETE", "", "resolutions are never deleted"),
    Guard("scope_no_update", "records_reviewscope", "UPDATE", "", "scopes of reviews are never changed"),
    Guard("scope_no_delete", "records_reviewscope", "DELETE", "", "scopes of reviews are never deleted"),
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
