"""Policies limit deletions: their number in one plan, the share of a set that prune deletes, and critical kinds."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode, Replacement, SetAction
from applyviz.engine.risks.pruning import CRITICAL_KIND
from applyviz.engine.risks.sentences import render_risk
from applyviz.records.enums import Role, RunState
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import acknowledgments, approving
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.plans import changes
from applyviz.workflow.policies import editing
from applyviz.workflow.policies.rules import RiskDemand, Rules
from tests.blockers import name_blockers
from tests.builders import acknowledge_all, make_person, make_policy, open_dangers
from tests.shared_stories import share_story
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
DELETE = {"action": SetAction.DELETE}
PRUNE = {"prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True), "mode": ApplyMode.CLIENT}
NAMES = ("a", "b", "c", "d", "e")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'IMAGE'}]}}}
"""


def play(team):
    team.apply(*(config_map(name, x="1") for name in NAMES), **PRUNE)


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def pruned(team):
    """Create a plan that prunes two of five objects."""
    return lambda: team.plan(*(config_map(name, x="1") for name in NAMES[:3]), **PRUNE)


def limits(plan):
    return [text for text in name_blockers(plan) if text.startswith("policy strict")]


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, []),
        ({"most_deletions": 2, "most_pruned_percent": 40}, []),
        ({"most_deletions": 1}, ["policy strict allows at most 1 deletion in one plan, and this one has 2"]),
        (
            {"most_pruned_percent": 39},
            ["policy strict allows prune to delete at most 39 % of a set, and this plan prunes 2 of 5 objects"],
        ),
    ],
)
def test_plan_above_a_limit_cannot_be_approved(team, pruned, rules, expected):
    make_policy(**rules)

    plan = pruned()

    assert limits(plan) == expected
    if expected:
        with pytest.raises(NotPossibleError, match="policy strict"):
            team.start(plan)


@pytest.mark.long
def test_delete_reviews_count_and_no_share_of_them(team):
    team.apply(config_map("a", x="1"), config_map("b", x="1"))
    make_policy(most_deletions=1, most_pruned_percent=1)

    assert limits(team.plan(config_map("a", x="1"), **DELETE)) == []
    assert limits(team.plan(config_map("a", x="1"), config_map("b", x="1"), **DELETE)) == [
        "policy strict allows at most 1 deletion in one plan, and this one has 2"
    ]


@pytest.mark.long
def test_policy_counts_the_objects_of_its_own_namespaces(team):
    team.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    inside = config_map("a", x="1").replace("name: a", "name: a\n  namespace: shop")
    team.apply(inside, config_map("b", x="1"))
    make_policy(namespace="shop", is_cluster_scoped=False, most_deletions=1)

    assert limits(team.plan(inside, config_map("b", x="1"), **DELETE)) == []
    make_policy(namespace="*", most_deletions=1)
    assert limits(team.plan(inside, config_map("b", x="1"), **DELETE)) != []


def test_limit_that_is_published_later_stops_the_start(team, pruned):
    plan = pruned()
    acknowledge_all(plan, team.bob)
    open_dangers(plan, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    make_policy(most_deletions=1)

    with pytest.raises(NotPossibleError, match="policy strict allows at most 1 deletion in one plan"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)


def critical(plan):
    found = {}
    for row in plan.changes.order_by("position"):
        risks = [risk for risk in changes.read_masked(row).risks if risk.kind is CRITICAL_KIND]
        found |= {f"{row.kind}/{row.name}": render_risk(risk) for risk in risks}
    return found


def test_deleting_an_object_of_a_critical_kind_is_a_high_risk_that_may_need_more_approvals(team):
    team.apply(config_map("a", x="1"), secret(password="p"))
    make_policy(critical_kinds=("core/Secret",), for_risks=(RiskDemand(CRITICAL_KIND, 2),))

    deleting = team.plan(config_map("a", x="1"), secret(password="p"), **DELETE)
    applying = team.plan(config_map("a", x="2"), secret(password="p"))

    assert critical(deleting) == {
        "Secret/login": "Secret login is deleted, and policy strict counts its kind as critical."
    }
    assert critical(applying) == {}
    assert CRITICAL_KIND in {risk.kind for risk in acknowledgments.find_open(deleting)}
    needed = [
        max(demand.approvals for demand in policies.find_demands(plan, policies.find_policy(plan)))
        for plan in (deleting, applying)
    ]
    assert needed == [2, 1]


@pytest.mark.long
def test_pruned_and_replaced_objects_of_a_critical_kind_have_the_risk(team, pruned):
    make_policy(critical_kinds=("core/ConfigMap", "batch/Job"))
    team.apply(JOB.replace("IMAGE", "a:1"))

    replaced = team.plan(JOB.replace("IMAGE", "a:2"), replacement=Replacement(kinds=("batch/Job",)))

    assert list(critical(pruned())) == ["ConfigMap/d", "ConfigMap/e"]
    assert critical(replaced) == {
        "Job/migrate": "Job migrate is deleted and re-created, and policy strict counts its kind as critical."
    }


@pytest.mark.long
def test_kind_is_critical_where_the_policy_holds(team, pruned):
    make_policy(cluster="prod-*", critical_kinds=("core/ConfigMap",))

    assert critical(pruned()) == {}


@pytest.mark.long
def test_run_of_a_plan_within_the_limits_ends_applied(team, pruned):
    make_policy(most_deletions=2, most_pruned_percent=40, critical_kinds=("core/ConfigMap",))

    run = team.work(team.start(pruned()))

    assert (run.state, run.error) == (RunState.APPLIED, "")


@pytest.mark.long
def test_trial_names_the_limits_that_a_plan_exceeds(pruned):
    plan = pruned()

    found = editing.evaluate(plan, slug="draft", scope=Scope(), rules=Rules(most_deletions=1, most_pruned_percent=10))

    assert sentences.describe_all(found.kept) == (
        "policy draft allows at most 1 deletion in one plan, and this one has 2",
        "policy draft allows prune to delete at most 10 % of a set, and this plan prunes 2 of 5 objects",
    )


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        (Rules(most_deletions=-1), "deletions in one plan: from 0 to 100000"),
        (Rules(most_pruned_percent=101), "percent that prune may delete: from 0 to 100"),
        (Rules(critical_kinds=("Secret",)), "'Secret' is not a kind: use group/Kind"),
    ],
)
def test_odd_limits_are_refused(rules, error):
    dana = make_person("dana", Role.ADMINISTRATOR)

    with pytest.raises(NotValidError, match=error):
        editing.save_policy("p", by=dana, scope=Scope(), rules=rules)
