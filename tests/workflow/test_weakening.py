"""What a version of a policy requires less than the one before: each rule, in both directions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import fields

from applyviz.engine.objects.kinds import EVERY_KIND
from applyviz.engine.objects.structs import replace
from applyviz.engine.risks.deletions import DELETED
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.policies.owners import OwnerOf, OwnerRule
from applyviz.workflow.policies.rules import OnFailure, RiskDemand, Rules
from applyviz.workflow.policies.weakening import find_weakened
from applyviz.workflow.policies.windows import Freeze, Window

NOW = datetime(2026, 11, 24, 10, tzinfo=UTC)
OPEN, LATE = Window((0,), "09:00", "10:00"), Window((1,), "22:00", "23:00")
FREEZE, OVER = Freeze("2026-12-20T18:00", "2027-01-04T08:00"), Freeze("2025-12-20T18:00", "2026-01-04T08:00")
DEMAND = RiskDemand(DELETED, 2)
OWNER = OwnerRule(OwnerOf.KIND, "core/Secret", "security", 2)
# Of each pair the second requires less, and the first requires nothing less than the second.
PAIRS = {
    "asking_teams": ((("a",), ("a", "b")), (("a",), ())),
    "approvals": ((2, 1), (1, 0)),
    "approving_team": (("a", ""),),
    "for_risks": (
        ((DEMAND,), ()),
        ((DEMAND,), (replace(DEMAND, approvals=1),)),
        ((replace(DEMAND, team="a"),), (DEMAND,)),
    ),
    "owners": (((OWNER,), ()), ((OWNER,), (replace(OWNER, approvals=1),))),
    "many_objects": ((50, 51),),
    "windows": (((OPEN,), ()), ((OPEN,), (OPEN, LATE))),
    "freezes": (((FREEZE,), ()),),
    "approval_hours": ((24, 0), (24, 25)),
    "refuses_sole": ((True, False),),
    "allows_unknown_editors": ((False, True),),
    "allows_tokens": ((False, True),),
    "may_run_estimated": ((False, True),),
    "may_run_unknown": ((False, True),),
    "on_failure": ((OnFailure.STOP, OnFailure.CONTINUE),),
    "waits_for_rollout": ((True, False),),
    "replaced_kinds": (((), ("batch/Job",)),),
    "replace_annotation": (("", "example.com/replace"),),
    "kept_kinds": ((("core/Secret",), ()), ((EVERY_KIND,), ("core/Secret",))),
    "most_deletions": ((5, 0), (5, 6)),
    "most_pruned_percent": ((20, 0), (20, 21)),
    "critical_kinds": ((("core/Secret",), ()),),
}
# They say how a run goes, not what it requires.
NEUTRAL = {"concurrency", "rollout_seconds"}


def weakened(before: Rules, after: Rules) -> tuple[str, ...]:
    return find_weakened((Scope(), before), (Scope(), after), now=NOW)


@pytest.mark.core(8)
@pytest.mark.parametrize(
    ("name", "strict", "weak"), [(name, strict, weak) for name, pairs in PAIRS.items() for strict, weak in pairs]
)
def test_each_rule_weakens_in_one_direction(name: str, strict: object, weak: object) -> None:
    stricter, weaker = (replace(Rules(), **{name: value}) for value in (strict, weak))

    assert len(weakened(stricter, weaker)) == 1
    assert (weakened(weaker, stricter), weakened(weaker, weaker)) == ((), ())


def test_every_rule_is_compared() -> None:
    assert {field.name for field in fields(Rules)} == {*PAIRS, *NEUTRAL}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Rules(approving_team="a"), Rules(approving_team="b")),
        (Rules(asking_teams=("a",)), Rules(asking_teams=("b",))),
        (Rules(windows=(OPEN,)), Rules(windows=(LATE,))),
        (Rules(kept_kinds=("core/Secret",)), Rules(kept_kinds=("core/Service",))),
        (Rules(owners=(OWNER,)), Rules(owners=(replace(OWNER, team="b"),))),
        (Rules(owners=(OWNER,)), Rules(owners=(replace(OWNER, pattern="core/Service"),))),
    ],
)
def test_another_choice_requires_less_as_well(before: Rules, after: Rules) -> None:
    assert len(weakened(before, after)) == 1


def test_freeze_that_is_over_may_go() -> None:
    assert weakened(Rules(freezes=(OVER,)), Rules()) == ()


def test_first_version_is_compared_with_the_built_in_rules() -> None:
    assert find_weakened(None, (Scope("prod-*"), Rules(approvals=0)), now=NOW) == ("approvals",)
    assert find_weakened(None, (Scope("prod-*"), Rules(approvals=3)), now=NOW) == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Scope("prod-*"), Scope(), ()),
        (Scope(), Scope("prod-*"), ("scope",)),
        (Scope("a"), Scope("b"), ("scope",)),
        (Scope(), Scope(is_cluster_scoped=False), ("scope",)),
        (Scope("*", "shop"), Scope("*", "*"), ()),
    ],
)
def test_scope_that_leaves_something_out_requires_less(before: Scope, after: Scope, expected: tuple[str, ...]) -> None:
    assert find_weakened((before, Rules(approvals=2)), (after, Rules(approvals=2)), now=NOW) == expected


def test_scope_that_grows_over_the_built_in_rules_requires_less_there() -> None:
    weak = Rules(approvals=0)

    assert find_weakened((Scope("dev"), weak), (Scope(), weak), now=NOW) == ("approvals",)
