"""Policies: which hold, the strictest of them, when plans may run, versions that nobody changes."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from applyviz.engine.risks.planning.whole import MANY_OBJECTS
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, PolicyVersion
from applyviz.workflow import policies
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.blockers import ChangesFrozen
from applyviz.workflow.foundation.errors import NotAllowedError, NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.people.teams import create_team
from applyviz.workflow.policies import BUILT_IN, POLICY_RISKS, Demand, OnFailure, RiskDemand, Rules, editing
from applyviz.workflow.policies.rules import find_strictest, rules_from_json, rules_to_json
from applyviz.workflow.policies.windows import Freeze, Window, find_closed, find_opening, parse_freeze, parse_window
from tests.blockers import name_blockers
from tests.builders import make_person, make_plan_row, make_policy

OFFICE = Window((0, 1, 2, 3, 4), "09:00", "17:00", "Europe/Berlin")
NIGHT = Window((4,), "22:00", "02:00", "UTC")
ALWAYS = Window(tuple(range(7)), "01:00", "02:00")
PLACES = (("prod-eu", "shop"), ("prod-eu", ""), ("prod-eu", "kube-system"), ("dev", "kube-system"), ("dev", ""))
RULES = st.builds(
    Rules,
    approvals=st.integers(0, 4),
    approving_team=st.sampled_from(["", "sre", "security"]),
    for_risks=st.lists(
        st.builds(RiskDemand, st.sampled_from(POLICY_RISKS), st.integers(1, 4), st.sampled_from(["", "sre"])),
        max_size=3,
    ).map(tuple),
    many_objects=st.integers(1, 90),
    windows=st.sampled_from([(), (OFFICE,), (OFFICE, NIGHT)]),
    approval_hours=st.integers(0, 90),
    may_run_estimated=st.booleans(),
    may_run_unknown=st.booleans(),
    on_failure=st.sampled_from(OnFailure),
    concurrency=st.integers(1, 32),
    waits_for_rollout=st.booleans(),
    rollout_seconds=st.integers(1, 900),
)


@pytest.fixture
def dana(db):
    return make_person("dana", Role.ADMINISTRATOR)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(st.lists(RULES, min_size=1, max_size=4))
def test_together_is_never_laxer_than_any_alone(several):
    together = find_strictest((f"p{n}", 1, rules) for n, rules in enumerate(several))

    for rules in several:
        alone = find_strictest([("p", 1, rules)])
        for danger in (None, *POLICY_RISKS):
            high_risks = {danger} if danger else set()
            asked = {d.team: d.approvals for d in policies.list_demands(together, high_risks)}
            assert all(asked[d.team] >= d.approvals for d in policies.list_demands(alone, high_risks))
        assert together.many_objects <= alone.many_objects
        assert together.concurrency <= alone.concurrency
        assert not (together.may_run_estimated and not alone.may_run_estimated)
        assert not (together.may_run_unknown and not alone.may_run_unknown)
        assert together.waits_for_rollout or not alone.waits_for_rollout
        assert together.on_failure is OnFailure.STOP or alone.on_failure is OnFailure.CONTINUE
        if alone.approval_lasts is not None:
            assert together.approval_lasts is not None
            assert together.approval_lasts <= alone.approval_lasts
        assert set(alone.windows) <= set(together.windows)


@given(RULES)
def test_rules_are_stored_without_loss(rules):
    assert rules_from_json(rules_to_json(rules)) == rules


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2026-11-20T08:00", True),
        ("2026-11-20T07:59", False),
        ("2026-11-20T15:59", True),
        ("2026-11-20T16:00", False),
        ("2026-11-21T10:00", False),  # a Saturday
        ("2026-07-10T07:00", True),  # summer time
        ("2026-07-10T15:00", False),
    ],
)
def test_window_follows_the_clock_on_the_wall(moment, is_open):
    assert OFFICE.contains(at(moment)) is is_open


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [("2026-11-20T22:00", True), ("2026-11-21T01:59", True), ("2026-11-21T02:00", False), ("2026-11-20T01:00", False)],
)
def test_window_over_midnight_belongs_to_the_day_it_starts(moment, is_open):
    assert NIGHT.contains(at(moment)) is is_open


def test_freeze_closes_what_a_window_opens():
    freeze = Freeze("2026-12-20T18:00", "2027-01-04T08:00", "Europe/Berlin", "Holidays")

    assert find_closed([(OFFICE,)], [freeze], at("2026-12-18T10:00")) == ()
    closed = find_closed([(OFFICE,)], [freeze], at("2026-12-21T10:00"))
    assert closed == (ChangesFrozen(freeze.ends_at, "Europe/Berlin", "Holidays"),)
    assert sentences.describe(closed[0]) == "changes are frozen until 4 Jan 2027 08:00 Europe/Berlin: Holidays"
    assert find_opening([(OFFICE,)], [freeze], at("2026-12-21T10:00")) == at("2027-01-04T08:00")


def test_every_group_of_windows_must_be_open():
    closed = find_closed([(OFFICE,), (NIGHT,)], [], at("2026-11-20T10:00"))

    assert sentences.describe_all(closed) == ("the change window is closed; it is open Fri 22:00-02:00 UTC",)


@pytest.mark.parametrize(
    "window", [OFFICE, NIGHT, Window((0, 2, 5, 6), "00:00", "23:00"), Window(tuple(range(7)), "01:00", "02:00")]
)
def test_windows_and_freezes_read_as_they_are_written(window):
    freeze = Freeze("2026-12-20T18:00", "2027-01-04T08:00", "Europe/Berlin", "Holidays and rest")

    assert parse_window(str(window)) == window
    assert parse_freeze(str(freeze)) == freeze


@pytest.mark.django_db
def test_policy_holds_where_its_patterns_fit():
    make_policy("prod", cluster="prod-*", approvals=2)
    make_policy("system", namespace="kube-*", is_cluster_scoped=False, approvals=3)

    found = {
        place: policies.find_policy_at([ScopeEntry(*place)]).version
        for place in (
            ("prod-eu", "shop"),
            ("prod-eu", ""),
            ("prod-eu", "kube-system"),
            ("dev", "kube-system"),
            ("dev", ""),
        )
    }

    assert found == {
        ("prod-eu", "shop"): "prod@1",
        ("prod-eu", ""): "prod@1",
        ("prod-eu", "kube-system"): "prod@1 system@1",
        ("dev", "kube-system"): "system@1",
        ("dev", ""): BUILT_IN,
    }


@pytest.mark.django_db
def test_built_in_policy_asks_for_one_approval():
    assert policies.find_policy(make_plan_row(make_person("alice"))).demands == (Demand(1),)


@pytest.mark.django_db
def test_many_objects_are_a_high_risk():
    make_policy(many_objects=2, for_risks=(RiskDemand(MANY_OBJECTS, 2),))
    plan = make_plan_row(make_person("alice"), changes=3)
    policy = policies.find_policy(plan)

    high_risks = policies.count_high_risks(plan, policy)

    assert high_risks == {MANY_OBJECTS: 3}
    assert policies.list_demands(policy, high_risks) == (Demand(2, "", "many-objects"),)


def test_each_edit_is_a_version_and_an_entry(dana):
    editing.save_policy("prod", by=dana, scope=Scope("prod-*"), rules=Rules(approvals=2), note="first")
    editing.save_policy("prod", by=dana, scope=Scope("prod-*"), rules=Rules(approvals=3))

    versions = editing.list_versions("prod", for_user=dana)
    assert [(v.number, v.rules) for v in versions] == [(2, {"approvals": 3}), (1, {"approvals": 2})]
    assert policies.find_policy_at([ScopeEntry("prod-eu", "shop")]).version == "prod@2"
    entry = AuditEntry.objects.filter(action=AuditAction.POLICY_CHANGED).first()
    assert entry.detail["before"] == {"approvals": 2}
    assert entry.detail["after"] == {"approvals": 3}


def test_retired_policy_holds_no_longer(dana):
    editing.save_policy("prod", by=dana, scope=Scope(), rules=Rules(approvals=2))
    editing.archive_policy("prod", by=dana)

    assert policies.find_policy_at([ScopeEntry("prod", "shop")]).version == BUILT_IN
    assert PolicyVersion.objects.count() == 1


@pytest.mark.parametrize("role", [Role.AUTHOR, Role.APPROVER, Role.OPERATOR, Role.AUDITOR, Role.BREAK_GLASS])
def test_policies_need_an_administrator(db, role):
    with pytest.raises(NotAllowedError):
        editing.save_policy("prod", by=make_person("x", role), scope=Scope(), rules=Rules())


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (Rules(approving_team="ghosts"), "team ghosts not found"),
        (Rules(approvals=10), "approvals: from 0 to 9"),
        (Rules(concurrency=0), "Objects at once"),
        (Rules(windows=(Window((0,), "09:00", "17:00", "Mars/Crater"),)), "is not a time zone"),
        (Rules(windows=(Window((), "09:00", "17:00"),)), "at least one day"),
        (Rules(windows=(Window((0,), "9am", "17:00"),)), "a start and an end like 09:30"),
        (Rules(freezes=(Freeze("2026-12-24T00:00", "2026-12-20T00:00"),)), "must be after its start"),
        (Rules(freezes=(Freeze("yesterday", "2026-12-20T00:00"),)), "a freeze needs a start and an end like"),
    ],
)
def test_bad_policy_is_refused_with_its_reason(dana, rules, problem):
    with pytest.raises(NotValidError, match=problem):
        editing.save_policy("prod", by=dana, scope=Scope(), rules=rules)


@pytest.mark.parametrize("scope", [Scope("Prod"), Scope("*", "a b"), Scope("")])
def test_bad_pattern_is_refused(dana, scope):
    with pytest.raises(NotValidError, match="is not a valid pattern"):
        editing.save_policy("prod", by=dana, scope=scope, rules=Rules())


def test_edit_makes_plans_stale(dana):
    plan = make_plan_row(make_person("alice"))
    assert name_blockers(plan) == ()

    editing.save_policy("all", by=dana, scope=Scope(), rules=Rules())

    assert name_blockers(plan) == ("the policy changed since this plan was created: re-plan",)


def test_only_named_teams_ask(dana):
    create_team(by=dana, slug="shop", name="Shop")
    version = make_policy(asking_teams=("shop",))
    plan = make_plan_row(make_person("alice"), policy_version=f"strict@{version.number}")

    assert name_blockers(plan) == ("the policy only allows team shop to request this",)


def test_calculated_changes_run_only_where_allowed(dana):
    make_policy(may_run_estimated=False)
    plan = make_plan_row(make_person("alice"), policy_version="strict@1", certainty="estimated")

    assert name_blockers(plan) == ("1 object is only estimated, and the policy requires a dry run",)


def test_unknown_changes_run_only_where_allowed(dana):
    make_policy(may_run_unknown=True)
    plan = make_plan_row(make_person("alice"), policy_version="strict@1", certainty="unknown")

    assert name_blockers(plan) == ()


def test_trial_tells_what_would_be_asked_and_keeps_nothing(dana):
    plan = make_plan_row(make_person("alice"))

    found = editing.evaluate(plan, slug="draft", scope=Scope("box"), rules=Rules(approvals=3))
    elsewhere = editing.evaluate(plan, slug="draft", scope=Scope("prod-*"), rules=Rules(approvals=3))

    assert (found.holds, found.demands) == (True, (Demand(3, "", "policy draft"),))
    assert (elsewhere.holds, elsewhere.demands) == (False, (Demand(1),))
    assert not PolicyVersion.objects.exists()


def test_every_rule_reaches_what_is_frozen():
    given_rules = Rules(approvals=2, approval_hours=5, waits_for_rollout=True, rollout_seconds=7, concurrency=3)
    policy = find_strictest(
        [("p", 4, given_rules), ("q", 1, Rules(refuses_sole=True, concurrency=9, replaced_kinds=("batch/Job",)))]
    )

    assert (policy.approval_lasts, policy.refuses_sole) == (timedelta(hours=5), True)
    assert (policy.waits_for_rollout, policy.rollout_deadline, policy.concurrency) == (True, timedelta(seconds=7), 3)
    assert (policy.replaced_kinds, policy.replace_annotations) == (("batch/Job",), ())
    assert {f.name for f in fields(Rules)} == {
        "asking_teams", "approvals", "approving_team", "for_risks", "owners", "many_objects", "windows", "freezes",
        "approval_hours", "may_run_estimated", "may_run_unknown", "on_failure", "concurrency",
        "waits_for_rollout", "rollout_seconds", "refuses_sole", "replaced_kinds", "replace_annotation",
        "kept_kinds", "allows_unknown_editors", "allows_tokens", "most_deletions", "most_pruned_percent",
        "critical_kinds",
    }  # fmt: skip
