"""The approve page names a field as forced while its plan forces it, and no longer."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.records.models import Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.plans import planner, resolutions, reviews
from tests.stories import SETTINGS, Team, config_map
from tests.web import reading

pytestmark = pytest.mark.django_db


def find_forced(team: Team, plan: Plan) -> str:
    browser = Client()
    browser.force_login(team.bob)
    page = reading.read(browser, reverse("reviews:confirm-plan", args=[plan.review.number, plan.number]))
    texts = [reading.text_of(one) for one in reading.find_all(page, "dd")]
    return next((text for text in texts if "taken from" in text), "")


def follow(team: Team, plan: Plan, **options: object) -> Plan:
    following = reviews.replan_review(plan.review, by=team.alice, **options)  # type: ignore[arg-type]
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


def test_field_is_named_as_forced_only_while_its_object_is_planned(team: Team) -> None:
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    plan = team.plan(config_map(a="2"))
    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)

    forcing = follow(team, plan, choices=choices)
    others = follow(team, forcing, bundle=SourceBundle((BundledFile("0.yaml", config_map("another", a="1").encode()),)))

    assert find_forced(team, forcing).replace(". ", ".") == "settings .data.a taken from kubectl-edit by alice"
    assert len(others.decisions) == 1, "the resolution stays for when the object comes back"
    assert find_forced(team, others) == ""


def test_field_is_not_forced_once_nobody_disputes_it(team: Team) -> None:
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    plan = team.plan(config_map(a="2"))
    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)

    follow(team, plan, choices=choices)
    team.edit(SETTINGS, {"data": {"a": None}})
    again = follow(team, plan)

    assert find_forced(team, again) == ""


def test_only_the_field_that_another_manager_loses_is_named(team: Team) -> None:
    team.apply(config_map(a="1", b="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand", "b": "by hand"}})
    plan = team.plan(config_map(a="2", b="2"))
    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)

    both = follow(team, plan, choices=choices)
    team.edit(SETTINGS, {"data": {"b": None}})
    again = follow(team, plan)

    assert find_forced(team, both).count("taken from kubectl-edit by alice") == 2
    assert find_forced(team, again).replace(". ", ".") == "settings .data.a taken from kubectl-edit by alice"
