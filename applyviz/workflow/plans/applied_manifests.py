"""What a field manager last applied to an object, as the runs of this installation recorded it.

A field that has another owner now does not say what was applied before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db.models import OuterRef, Q, Subquery

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import PRODUCT_MANAGER
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange, ObjectResult, Plan
from applyviz.workflow.plans.changes import read_masked

_APPLIED = (Outcome.VERIFIED, Outcome.DIFFERS, Outcome.UNCHANGED)


def is_kept_by_others(reason: FieldReason) -> bool:
    """Return whether a field stays although the manifest does not have it, because another manager owns it."""
    return reason.operation is FieldOperation.KEPT and reason.reason is Reason.OWNED_BY_OTHERS


def _is_of_manager(manager: str) -> Q:
    """Select results of a field manager; stored options leave out what is as by default."""
    named = Q(run__plan__options__field_manager=manager)
    return named | Q(run__plan__options__field_manager__isnull=True) if manager == PRODUCT_MANAGER else named


class AppliedManifests:
    """The manifests that the last run before a plan applied to its objects, read for some objects at once.

    - Counts only applies of the plan's field manager in its cluster. A Secret has none: its values would be compared.
    - A plan that does not apply its manifests, but patches, deletes or records, leaves no field out: it has none.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._options = options_from_json(plan.options)
        self._known: dict[int, FieldFinder | None] = {}

    def find_fields(self, position: int) -> FieldFinder | None:
        """Return the fields that were last applied to the object at a position of the plan; None if there are none."""
        if position not in self._known:
            self._fetch([position])
        return self._known[position]

    def find_for(self, position: int, change: PlannedObject) -> FieldFinder | None:
        """Return what was last applied to an object that has a conflict or a field of others that stays, else None."""
        return self.find_fields(position) if self._asks_for_applied(change) else None

    def _asks_for_applied(self, change: PlannedObject) -> bool:
        """Return whether what was last applied to an object says more than the live object does."""
        is_kept = change.operation is Operation.UPDATE and any(is_kept_by_others(reason) for reason in change.fields)
        return self._options.is_applying and (bool(change.conflicts) or is_kept)

    def prepare(self, changes: Mapping[int, PlannedObject]) -> None:
        """Read what was last applied to some objects by their positions, in two queries."""
        self._fetch([position for position, change in changes.items() if self._asks_for_applied(change)])

    def _fetch(self, positions: Collection[int]) -> None:
        missing = [position for position in positions if position not in self._known]
        if missing:
            self._known |= {**dict.fromkeys(missing), **self._read(missing)}

    def _read(self, positions: Collection[int]) -> dict[int, FieldFinder | None]:
        results = ObjectResult.objects.filter(
            _is_of_manager(self._options.field_manager),
            run__plan__options__action__isnull=True,  # stored options leave out that manifests are applied
            run__plan__target__cluster=self._plan.target.cluster_id,
            outcome__in=[outcome.value for outcome in _APPLIED],
            finished_at__lte=self._plan.created_at,
            **{f"change__{name}": OuterRef(name) for name in ("group", "kind", "namespace", "name")},
        )
        rows = self._plan.changes.filter(position__in=positions).exclude(group="", kind="Secret")
        last = Subquery(results.order_by("-finished_at", "-pk").values("change")[:1])
        applied = dict(rows.annotate(applied=last).values_list("position", "applied"))
        wanted = [pk for pk in applied.values() if pk is not None]
        changes = ObjectChange.objects.defer("sealed").in_bulk(wanted) if wanted else {}
        return {position: _find_manifest(changes.get(pk)) for position, pk in applied.items()}


def _find_manifest(row: ObjectChange | None) -> FieldFinder | None:
    versions = read_masked(row).versions if row is not None else None
    return versions.in_manifest if versions is not None and versions.manifest is not None else None
