"""Full garbage collections are deferred while plans are made and run, until the last of them has ended."""

from __future__ import annotations

import gc

import pytest

from applyviz.records.enums import RunState
from applyviz.sources import collector
from applyviz.sources.collector import defer_full_gc
from applyviz.workflow.foundation import failpoints
from tests.stories import Team, config_map


def test_collector_is_patient_until_the_last_plan_is_ready() -> None:
    usual = gc.get_threshold()

    with defer_full_gc():
        patient = gc.get_threshold()
        with pytest.raises(ValueError, match="odd"), defer_full_gc():
            raise ValueError("odd")
        still = gc.get_threshold()

    assert (patient, still, gc.get_threshold()) == ((50_000, 20, 1_000), patient, usual)
    assert gc.isenabled()


def test_what_a_process_has_loaded_is_visited_no_more_from_its_first_plan_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_has_frozen", False)
    loaded, before = [[number] for number in range(1_000)], gc.get_freeze_count()

    with defer_full_gc():
        first = gc.get_freeze_count()
    later = [[number] for number in range(1_000)]
    with defer_full_gc():
        second = gc.get_freeze_count()

    assert first >= before + len(loaded)
    assert second < first + len(later)


@pytest.mark.django_db
def test_collector_is_patient_from_the_claim_of_a_plan_or_run_until_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, team = gc.get_threshold(), Team().wire_up(monkeypatch)
    seen: dict[str, int] = {}
    monkeypatch.setattr(failpoints, "hooks", [lambda name: seen.setdefault(name, gc.get_threshold()[0])])

    run = team.apply(config_map("a", a="1"))

    assert run.state == RunState.APPLIED
    points = ("plan.stored", "plan.completing", "run.prepared", "run.intending", "run.telling")
    assert {name: seen[name] for name in points} == dict.fromkeys(points, 50_000)
    assert gc.get_threshold() == usual
