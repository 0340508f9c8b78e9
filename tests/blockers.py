"""The blockers of a plan in words, as people read them."""

from applyviz.records.models import Plan
from applyviz.workflow.approvals import plan_blockers
from applyviz.workflow.foundation import sentences


def name_blockers(plan: Plan) -> tuple[str, ...]:
    """Return why a plan cannot be approved now, one clause each."""
    return sentences.describe_all(plan_blockers.find_plan_blockers(plan))
