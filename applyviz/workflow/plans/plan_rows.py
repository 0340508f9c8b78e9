"""The rows of a plan while it is made: their content is stored and forgotten, so that memory does not grow with it.

Of each row its columns stay, and a digest of its content for the MAC of the plan (`plan_mac.py`). The risks have a
column of their own, because the whole set shows some that no object shows alone: nothing else of a row is stored twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from django.db import transaction

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.masking import mask_risks
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.row_updates import update_rows
from applyviz.workflow.plans import changes, plan_mac
from applyviz.workflow.plans.plan_mac import ContentDigest

MOST_TOGETHER = 64
_OF_RISKS = ("found_risks", "risks", "highest_risk", "risk_levels")


class PlanRows:
    """The rows of one plan in the order in which their changes were ready."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.rows: list[ObjectChange] = []
        self.counts: Counter[str] = Counter()
        self._contents: list[ContentDigest] = []

    @property
    def waiting(self) -> int:
        """The number of rows that are not stored yet."""
        return len(self.rows) - len(self._contents)

    def add(self, change: engine.PlannedObject, masked: engine.PlannedObject) -> None:
        """Add the row of the next change; it is not stored yet."""
        self.rows.append(changes.make_row(change, masked, plan=self._plan, position=len(self.rows)))
        self.counts[change.operation.value] += 1

    def store(self, renew: Callable[[], bool]) -> bool:
        """Store the rows that wait in one transaction, and forget their content; return False when `renew` does."""
        fresh = self.rows[len(self._contents) :]
        with transaction.atomic():
            if not renew():
                return False
            ObjectChange.objects.bulk_create(fresh)
        for row in fresh:
            self._contents.append(ContentDigest.of(row))
            changes.forget_content(row)
            failpoints.reach("plan.stored")
        return True

    def add_risks(self, planned: Sequence[engine.PlannedObject], renew: Callable[[], bool]) -> Iterator[int]:
        """Store the risks that only the whole set shows; yield the number of each row that has more than before.

        - `planned`: the finished changes, by the positions of the rows. Ends early when `renew` returns False.
        """
        numbers = iter([n for n, row in enumerate(self.rows) if row.risks != len(planned[row.position].risks)])
        while together := list(islice(numbers, MOST_TOGETHER)):
            if not self._store_risks(together, planned, renew):
                return
            yield from together

    def _store_risks(
        self, numbers: list[int], planned: Sequence[engine.PlannedObject], renew: Callable[[], bool]
    ) -> bool:
        tag_key, policy = self._plan.tag_key.open_bytes(), masking_settings.policy_of(self._plan)
        for number in numbers:
            row = self.rows[number]
            change = planned[row.position]
            changes.refresh_risks(row, change, mask_risks(change, tag_key=tag_key, policy=policy))
            self._contents[number] = replace(self._contents[number], risks=plan_mac.hash_risks(row))
        rows = [self.rows[n] for n in numbers]
        with transaction.atomic():
            if not renew():
                return False
            update_rows(rows, _OF_RISKS)
        for row in rows:
            changes.forget_content(row)
        return True

    def make_seal(self) -> dict[str, str]:
        """Return the MACs of the plan and of its risks with these rows, as columns of the plan."""
        pairs = sorted(zip(self.rows, self._contents, strict=True), key=lambda pair: pair[0].position)
        risks = [(row, content.risks) for row, content in pairs]
        return {
            "seal": plan_mac.make_seal(self._plan, pairs),
            "risk_seal": plan_mac.make_risk_seal(self._plan, risks),
        }
