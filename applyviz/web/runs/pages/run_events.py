"""Events of a run for its open page."""

from __future__ import annotations

from django.db.models import Count
from django.utils import timezone

from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, RolloutSample
from applyviz.web.frame.streams import StreamEvent


def find_moves(run_id: int, place: str) -> StreamEvent | None:
    """Return an event if a run changed since the state `place`."""
    run = ApplyRun.objects.only("pk", "state", "lease_until").get(pk=run_id)
    counted = run.results.order_by("outcome", "rollout").values_list("outcome", "rollout").annotate(number=Count("pk"))
    is_lost = run.lease_until is not None and run.lease_until < timezone.now()
    told = (f"{outcome}/{rollout}={number}" for outcome, rollout, number in counted)
    samples = RolloutSample.objects.filter(result__run=run_id).count()
    stands = "|".join([run.state, "lost" if is_lost else "", str(samples), *told])
    if run.state not in RunState.unfinished():
        return StreamEvent("done", "{}", stands, is_last=True)
    return StreamEvent("moved", "{}", stands) if stands != place else None
