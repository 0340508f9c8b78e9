"""What a field manager last applied to an object, as the runs of this installation recorded it.

A field in conflict has another owner now, so the live object no longer says what was applied before.
"""

from __future__ import annotations

from django.db.models import OuterRef, Subquery

from applyviz.engine.objects.lookups import FieldFinder
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange, ObjectResult, Plan
from applyviz.workflow.plans.changes import read_masked

_AT_ONCE = 50
_APPLIED = (Outcome.VERIFIED, Outcome.DIFFERS, Outcome.UNCHANGED)


class AppliedManifests:
    """The manifests that the last run before a plan applied to its objects in conflict, read for some objects at once.

    - Counts only runs of the plan's field manager in its cluster. A Secret has none: its values would be compared.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[int, FieldFinder | None] = {}

    def find_fields(self, position: int) -> FieldFinder | None:
        """Return the fields that were last applied to the object at a position of the plan; None if there are none."""
        if position not in self._known:
            self._known |= {position: None, **self._read(position)}
        return self._known[position]

    def _read(self, start: int) -> dict[int, FieldFinder | None]:
        """Return the fields of the next objects in conflict, in two queries."""
        results = ObjectResult.objects.filter(
            run__plan__target__cluster=self._plan.target.cluster_id,
            run__plan__options__field_manager=self._plan.options.get("field_manager", ""),
            outcome__in=[outcome.value for outcome in _APPLIED],
            finished_at__lte=self._plan.created_at,
            **{f"change__{name}": OuterRef(name) for name in ("group", "kind", "namespace", "name")},
        )
        rows = self._plan.changes.filter(conflicts__gt=0, position__gte=start).exclude(group="", kind="Secret")
        last = Subquery(results.order_by("-finished_at", "-pk").values("change")[:1])
        applied = dict(rows.order_by("position").annotate(applied=last).values_list("position", "applied")[:_AT_ONCE])
        wanted = [pk for pk in applied.values() if pk is not None]
        changes = ObjectChange.objects.defer("sealed").in_bulk(wanted) if wanted else {}
        return {position: _find_manifest(changes.get(pk)) for position, pk in applied.items()}


def _find_manifest(row: ObjectChange | None) -> FieldFinder | None:
    versions = read_masked(row).versions if row is not None else None
    return versions.in_manifest if versions is not None and versions.manifest is not None else None
