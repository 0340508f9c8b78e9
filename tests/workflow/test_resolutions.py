"""Decisions on conflicts: three ways out, one field and field manager each, carried by later plans."""

import pytest

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import AuditAction, RunState
from applyviz.records.models import AuditEntry, Plan, Resolution
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.plans import changes, planner, resolutions, reviews
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db


def dispute(team):
    """Two fields are in dispute: somebody changed both by hand."""
    team.apply(config_map(a="1", b="1", c="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand", "b": "by hand"}})
    team.plan(config_map(a="2", b="2", c="2"))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, dispute)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def plan(team):
    return Plan.objects.latest("pk")


def decide(team, plan, *kinds):
    """The next plan, with a way for each conflict in the order of its fields."""
    open_now = sorted(resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE), key=lambda choice: choice.path)
    choices = [
        resolutions.Choice(choice.ref, choice.path, choice.manager, kind)
        for choice, kind in zip(open_now, kinds, strict=False)
    ]
    following = reviews.replan_review(plan.review, by=team.alice, choices=choices, note="agreed")
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


@pytest.mark.parametrize(
    ("kinds", "data"),
    [
        ((ResolutionKind.OVERWRITE, ResolutionKind.OVERWRITE), {"a": "2", "b": "2", "c": "2"}),
        ((ResolutionKind.GIVE_UP, ResolutionKind.GIVE_UP), {"a": "by hand", "b": "by hand", "c": "2"}),
        ((ResolutionKind.SHARE, ResolutionKind.OVERWRITE), {"a": "by hand", "b": "2", "c": "2"}),
    ],
)
def test_resolutions_are_applied_as_they_were_decided(team, plan, kinds, data):
    following = decide(team, plan, *kinds)
    run = team.work(team.start(following))

    assert (run.state, run.error, team.outcomes(run)) == (RunState.APPLIED, "", ["applied"])
    assert team.live()["data"] == data


def test_half_decided_object_stays_refused(team, plan):
    following = decide(team, plan, ResolutionKind.OVERWRITE)

    assert following.counts == {"blocked": 1}
    assert len(following.decisions) == 1


def test_decisions_are_kept_with_who_made_them(team, plan):
    decide(team, plan, ResolutionKind.OVERWRITE, ResolutionKind.GIVE_UP)

    kept = [(d.by.username, d.path, d.manager, d.choice, d.note) for d in Resolution.objects.order_by("path")]
    assert kept == [
        ("alice", ".data.a", "kubectl-edit", "overwrite", "agreed"),
        ("alice", ".data.b", "kubectl-edit", "give-up", "agreed"),
    ]
    entry = AuditEntry.objects.get(action=AuditAction.CONFLICT_RESOLVED)
    assert (entry.kind, entry.name, entry.actor_name) == ("ConfigMap", "settings", "alice")


def test_later_plans_carry_decisions_on(team, plan):
    second = decide(team, plan, ResolutionKind.OVERWRITE, ResolutionKind.OVERWRITE)

    third = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(third.pk)
    third.refresh_from_db()

    assert third.decisions == second.decisions
    assert third.digest == second.digest != plan.digest


def test_taking_over_forces_nothing_that_nobody_saw(team, plan):
    following = reviews.replan_review(plan.review, by=team.alice, options=ApplyOptions(takes_over=True))
    planner.make_plan(following.pk)
    following.refresh_from_db()
    run = team.start(following)
    team.edit(SETTINGS, {"data": {"c": "by hand, later"}})

    team.work(run)

    assert following.options.get("takes_over", False) is False
    assert run.state == RunState.STALE
    assert team.live()["data"]["c"] == "by hand, later"


def test_impossible_resolution_leaves_a_conflict_open_and_cannot_be_chosen(team, plan, monkeypatch):
    read = changes.read_masked

    def forbid(row):
        change = read(row)
        first, *others = change.open_fields
        options = tuple(replace(o, is_possible=o.resolution is ResolutionKind.OVERWRITE) for o in first.options)
        return replace(change, open_fields=(replace(first, options=options), *others))

    monkeypatch.setattr(changes, "read_masked", forbid)
    (possible,) = resolutions.choose_everywhere(plan, ResolutionKind.GIVE_UP)
    overwritten = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)
    (other,) = (one for one in overwritten if one.path != possible.path)

    assert possible.path == ("f:data", "f:b")
    ((_change, left_open),) = resolutions.list_impossible(plan, ResolutionKind.GIVE_UP).values()
    assert left_open == (other.path,)
    assert resolutions.list_impossible(plan, ResolutionKind.OVERWRITE) == {}
    with pytest.raises(NotPossibleError, match="the conflict would stay; choose another resolution"):
        reviews.replan_review(plan.review, by=team.alice, choices=[replace(other, resolution=ResolutionKind.GIVE_UP)])
    assert not Resolution.objects.exists()


def test_conflict_that_is_not_there_cannot_be_decided(team, plan):
    choice = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)[0]
    invented = resolutions.Choice(choice.ref, ("f:data", "f:c"), "kubectl-edit", ResolutionKind.OVERWRITE)

    with pytest.raises(NotPossibleError, match="has no open conflict"):
        reviews.replan_review(plan.review, by=team.alice, choices=[invented])
    with pytest.raises(NotAllowedError):
        reviews.replan_review(plan.review, by=team.bob, choices=[choice])
