"""What a field manager last applied to an object, as the runs of this installation recorded it.

A field in conflict has another owner now, so the live object no longer says what was applied before.
"""

from __future__ import annotations

from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.refs import ObjectRef
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectResult, Plan
from applyviz.workflow.plans.changes import read_masked

_APPLIED = (Outcome.VERIFIED, Outcome.DIFFERS, Outcome.UNCHANGED)


def find_applied_fields(plan: Plan, ref: ObjectRef) -> FieldFinder | None:
    """Return the fields of the manifest that the last run before a plan applied to an object; None if there is none.

    - Counts only runs of the plan's field manager in its cluster. A Secret has none: its values would be compared.
    """
    if (ref.gvk.group, ref.gvk.kind) == ("", "Secret"):
        return None
    results = ObjectResult.objects.filter(
        run__plan__target__cluster=plan.target.cluster_id,
        run__plan__options__field_manager=plan.options.get("field_manager", ""),
        change__group=ref.gvk.group,
        change__kind=ref.gvk.kind,
        change__namespace=ref.namespace,
        change__name=ref.name,
        outcome__in=[outcome.value for outcome in _APPLIED],
        finished_at__lte=plan.created_at,
    )
    last = results.select_related("change").defer("change__sealed").order_by("-finished_at", "-pk").first()
    if last is None:
        return None
    versions = read_masked(last.change).versions
    return versions.in_manifest if versions.manifest is not None else None
