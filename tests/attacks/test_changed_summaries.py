"""A run writes nothing if the summary of its plan is not the one that the planner stored.

Counts, overview and owners are in separate columns. If they are changed in the database, an approver reads "1 to
update" although the plan deletes five objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import compress

import pytest
from pytest_django import DjangoDbBlocker

from applyviz.records import triggers
from applyviz.records.models import Plan, PlanDetails
from tests.shared_stories import SharedStory, share_story
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CHANGED: dict[str, object] = {
    "counts": {"unchanged": 2},
    "compared": [],
    "problems": [{"reason": "read anyway", "file": "", "line": 0, "column": 0}],
    "denied": ["get secrets"],
    "impact": {"pods": 9},
    "overview": {"alike": [], "risks": [], "managers": []},
    "quotas": [{}],
    "staying": [{}],
    "forecast": {"conflicts": 1},
    "graph": compress(b"{}"),
    "owners": compress(b"{}"),
    "summary_seal": "0" * 64,
}


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedStory]:
    """A plan of a ConfigMap and a Secret that is live already."""

    def play(team: Team) -> None:
        team.apply(secret(password="one"))
        team.plan(config_map(a="1"), secret(password="two"))

    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played: SharedStory, db: None, monkeypatch: pytest.MonkeyPatch) -> Team:
    return played.go_on(monkeypatch)


@pytest.mark.parametrize("name", CHANGED)
def test_a_plan_with_another_summary_writes_nothing(team: Team, name: str) -> None:
    plan = Plan.objects.latest("pk")
    run, before = team.start(plan), list(team.wire.writes)
    model, key = (PlanDetails, "plan") if hasattr(PlanDetails, name) else (Plan, "pk")
    triggers.lift("default")
    model._default_manager.filter(**{key: plan.pk}).update(**{name: CHANGED[name]})

    run = team.work(run)

    assert (run.state, team.wire.writes) == ("failed", before)
    assert "its summary" in run.error


def test_a_plan_without_its_details_writes_nothing(team: Team) -> None:
    run, before = team.start(Plan.objects.latest("pk")), list(team.wire.writes)
    triggers.lift("default")
    PlanDetails.objects.all().delete()

    run = team.work(run)

    assert (run.state, team.wire.writes) == ("failed", before)


def test_an_unchanged_summary_of_a_plan_that_was_shown_fits(team: Team) -> None:
    assert team.work(team.start(Plan.objects.latest("pk"))).state == "applied"
