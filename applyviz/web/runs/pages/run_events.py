"""Events of a run for its open page."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Count

from applyviz import clock
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, RolloutSample
from applyviz.web.frame.streams import StreamEvent


def find_moves(run_id: int, cursor: str, *, hidden: Collection[int] = ()) -> StreamEvent | None:
    """Return an event if a run changed since the state `place`.

    - `hidden`: the results that are hidden from the reader. They are not counted: the position of an event would reveal
      whether a hidden Secret was written.
    """
    run = ApplyRun.objects.only("pk", "state", "lease_until", "watch_at").get(pk=run_id)
    shown = run.results.exclude(pk__in=hidden).order_by("outcome", "rollout")
    counted = shown.values_list("outcome", "rollout").annotate(number=Count("pk"))
    counts = (f"{outcome}/{rollout}={number}" for outcome, rollout, number in counted)
    samples = RolloutSample.objects.filter(result__run=run_id).count()
    stands = "|".join([run.state, "lost" if run.is_lost(clock.now()) else "", str(samples), *counts])
    if run.state not in RunState.unfinished():
        return StreamEvent("done", "{}", stands, is_last=True)
    return StreamEvent("moved", "{}", stands) if stands != cursor else None
