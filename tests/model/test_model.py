"""Thousands of steps of a team, its workers and a cluster that others change: nothing unapproved is ever sent."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from applyviz.workflow.clusters import registration
from tests.builders import link_rows, make_person
from tests.faults.mutants import planted
from tests.model.machine import Story
from tests.model.team import EVERYBODY, ROLES
from tests.model.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.model]
CORE_STEPS = int(os.environ.get("APPLYVIZ_MODEL_STEPS", "400"))
STEPS = int(os.environ.get("APPLYVIZ_MODEL_STEPS", "1000"))
LONG_STEPS = int(os.environ.get("APPLYVIZ_MODEL_STEPS", "2600"))
SETTINGS = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
# One round of the machine takes the steps of every run.
CORE = settings(SETTINGS, max_examples=14)


@pytest.fixture
def story(monkeypatch) -> Iterator[type[Story]]:
    """The machine, with its people and its cluster."""
    Story.world = World()
    Story.world.wire_up(monkeypatch)
    Story.people = {name: make_person(name, *ROLES[name]) for name in EVERYBODY}
    link_rows("dora", *(Story.people[name] for name in ("dora", "dodo")))
    Story.cluster = registration.create_sandbox(slug="box", name="Box")
    Story.seen.clear()
    with time_machine.travel(datetime.now(UTC), tick=True) as Story.clock:
        yield Story


def test_no_write_is_sent_that_was_not_approved_exactly(story, capsys):
    walk(story, first_seed=0, steps=CORE_STEPS, capsys=capsys, rules=CORE)


@pytest.mark.long
@pytest.mark.parametrize("number", range(4))
def test_no_write_of_many_is_sent_that_was_not_approved_exactly(story, number, capsys):
    walk(story, first_seed=1_000 * number, steps=STEPS, capsys=capsys)


@pytest.mark.long
@pytest.mark.parametrize("number", range(4, 8))
def test_no_write_of_very_many_is_sent_that_was_not_approved_exactly(story, number, capsys):
    walk(story, first_seed=1_000 * number, steps=LONG_STEPS, capsys=capsys)


def walk(
    story: type[Story], *, first_seed: int, steps: int, capsys: pytest.CaptureFixture[str], rules: settings = SETTINGS
) -> None:
    """Let the machine take so many steps, in rounds with one seed each."""
    began, rounds = time.monotonic(), 0
    while story.seen["steps"] < steps:
        chosen = seed(first_seed + rounds)(type(story.__name__, (story,), {}))
        run_state_machine_as_test(chosen, settings=rules)
        rounds += 1
    spent = time.monotonic() - began
    with capsys.disabled():
        told = ", ".join(f"{what} {count}" for what, count in sorted(story.seen.items()))
        print(f"\nmodel {first_seed}: {story.seen['steps']} steps in {spent:.0f} s; {told}")
    # A short walk must write and finish runs, too; how often varies by seed.
    assert story.seen["effective writes"] > steps // 40
    assert story.seen["runs applied"] > steps // 80


def hunt(story: type[Story], plant: str) -> int:
    """Look for a planted bug with one seed after another; gives the steps until it was found, 0 when it was not."""
    # Whoever finds a bug stops; nobody needs the shortest story then.
    quick = settings(SETTINGS, phases=(Phase.generate,))
    with planted(plant):
        for number in range(1, 13):
            chosen = seed(number)(type(story.__name__, (story,), {}))
            try:
                run_state_machine_as_test(chosen, settings=quick)
            except AssertionError:
                return story.seen["steps"]
    return 0


@pytest.mark.core(2)
@pytest.mark.parametrize(
    "plant", ["skip_cas", "skip_effect_check", "change_bytes", "send_twice", "call_everything_good"]
)
def test_model_finds_a_planted_bug(story, plant):
    assert hunt(story, plant), f"{plant} was not found in {story.seen['steps']} steps"
