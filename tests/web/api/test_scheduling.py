"""A program schedules a run, reads when it may start, and cancels it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz.records.models import ScheduledStart
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def test_program_schedules_a_run_and_cancels_it(team, program):
    plan = team.plan(config_map(a="1"))
    last = (timezone.now() + timedelta(hours=1)).isoformat()
    address = "reviews/1/plans/1/schedule/"

    odd = program.post(address, {"digest": plan.digest, "not_after": "tomorrow", "not_before": "2026-11-23T10:00:00"})
    late = program.post(address, {"digest": plan.digest, "not_after": "2020-01-01T00:00:00+00:00"})
    made = program.post(address, {"digest": plan.digest, "not_after": last})
    again = program.post(address, {"digest": plan.digest, "not_after": last})
    canceled = program.post(f"{address}cancel/", {})

    assert [answer.status_code for answer in (odd, late, made, again, canceled)] == [422, 422, 201, 409, 200]
    assert [problem["field"] for problem in odd.json()["error"]["problems"]] == ["not_before", "not_after"]
    assert (made.json()["scheduled_start"]["by"], made.json()["scheduled_start"]["not_after"]) == ("alice", last)
    assert (canceled.json()["scheduled_start"], ScheduledStart.objects.get().end) == (None, "by-person")
