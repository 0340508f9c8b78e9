"""One clock: a test begins at a fixed moment, and whoever reads the time in it reads the clock that it moves."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from applyviz import clock
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from tests import moments
from tests.stories import Team, config_map

ROOT = Path(__file__).parents[2]
SOON = timedelta(minutes=5)
PRINT_NOW = """
import django
django.setup()
from applyviz import clock
print(clock.host_now().isoformat())
"""


def read_child(environment: dict[str, str] | None = None) -> datetime:
    """What a process that this test starts takes for now."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_NOW], cwd=ROOT, capture_output=True, text=True, check=True, env=environment
    )
    return datetime.fromisoformat(done.stdout.strip())


@pytest.mark.django_db
def test_every_test_begins_at_the_same_moment():
    began = moments.read_moment()

    for now in (clock.now(), clock.host_now(), timezone.now(), datetime.now(UTC)):
        assert began <= now < began + SOON


@pytest.mark.django_db
def test_moved_clock_is_that_of_everybody(move_clock):
    team = Team()
    move_clock(later := datetime(2031, 3, 4, 5, tzinfo=UTC))

    config = team.apply_as("kubectl", config_map(a="1")).body["metadata"]
    review = team.review({"0.yaml": config_map(a="2")})
    now = clock.now()

    assert later <= review.created_at <= now < later + SOON
    assert config["creationTimestamp"].startswith("2031-03-04T05:0")
    assert clock.host_today().isoformat() == "2031-03-04"


@pytest.mark.django_db
def test_lease_ends_by_the_moved_clock(move_clock, settings, monkeypatch):
    team = Team().wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1")))
    lease = timedelta(seconds=settings.APPLYVIZ_LEASE_SECONDS)
    ApplyRun.objects.filter(pk=run.pk).update(state="applying", epoch=1, lease_until=clock.now() + lease)

    assert run.pk not in runs.find_unfinished(now=clock.now())
    move_clock(clock.now() + lease + timedelta(seconds=1))
    assert run.pk in runs.find_unfinished(now=clock.now())


def test_process_that_a_test_starts_follows_its_clock(move_clock):
    move_clock(later := datetime(2033, 6, 7, 8, tzinfo=UTC))

    assert later <= read_child() < later + SOON


def test_product_itself_never_follows_a_test(move_clock, tmp_path):
    move_clock(datetime(2033, 6, 7, 8, tzinfo=UTC))
    real = datetime.fromtimestamp(time_machine.escape_hatch.time.time(), UTC)
    given = {**os.environ, "DJANGO_SETTINGS_MODULE": "applyviz.settings", "APPLYVIZ_HOME": str(tmp_path)}

    assert real - SOON < read_child(given) < real + SOON


@pytest.mark.real_time
def test_test_that_needs_the_real_time_has_it_with_its_processes():
    assert moments.OFFSET not in os.environ
    assert abs(datetime.now(UTC) - read_child()) < SOON
