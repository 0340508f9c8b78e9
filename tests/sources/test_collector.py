"""The garbage collector is patient while plans are made, and as before when the last of them is ready."""

from __future__ import annotations

import gc

import pytest

from applyviz.sources.collector import defer_full_gc


def test_collector_is_patient_until_the_last_plan_is_ready() -> None:
    usual = gc.get_threshold()

    with defer_full_gc():
        patient = gc.get_threshold()
        with pytest.raises(ValueError, match="odd"), defer_full_gc():
            raise ValueError("odd")
        still = gc.get_threshold()

    assert (patient, still, gc.get_threshold()) == ((50_000, 20, 1_000), patient, usual)
    assert gc.isenabled()
