"""Policies about deletions: approvals that they need, and objects that no plan may delete, prune or replace."""

import pytest

from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode, SetAction
from applyviz.engine.risks.deletions import DELETED
from applyviz.records.enums import ReviewStatus, Role, RunState
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import approving, plan_facts
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.plans import object_choices, planner, reviews
from applyviz.workflow.plans.left_behind import list_staying
from applyviz.workflow.policies import editing
from applyviz.workflow.policies.rules import RiskDemand, Rules
from tests.blockers import name_blockers
from tests.builders import make_person, make_policy
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
DELETE = {"action": SetAction.DELETE}
CLIENT = {"mode": ApplyMode.CLIENT}
KEPT = "policy strict does not allow deleting ConfigMap/settings"


def blockers(plan):
    return [text for text in name_blockers(plan) if "allow deleting" in text]


@pytest.mark.long
def test_deletions_need_the_approvals_that_a_policy_asks_for_them(team):
    team.apply(config_map(a="1"))
    make_policy(for_risks=(RiskDemand(DELETED, 2),))

    deleting, applying = team.plan(config_map(a="1"), **DELETE), team.plan(config_map(a="2"))

    needed = [
        [demand.approvals for demand in policies.list_demands(policy, policies.count_high_risks(plan, policy))]
        for plan in (deleting, applying)
        for policy in [policies.find_policy(plan)]
    ]
    assert needed == [[2], [1]]


def test_kept_kind_is_not_deleted_and_others_are(team):
    team.apply(config_map(a="1"), secret(password="p"))
    make_policy(kept_kinds=("core/ConfigMap",))

    kept = team.plan(config_map(a="1"), secret(password="p"), **DELETE)
    others = team.plan(secret(password="p"), **DELETE)

    assert (blockers(kept), blockers(others)) == ([KEPT], [])
    assert plan_facts.list_outlines([kept, others])[kept.pk].status is ReviewStatus.BLOCKED
    assert plan_facts.list_outlines([kept, others])[others.pk].status is ReviewStatus.NEEDS_APPROVAL
    with pytest.raises(NotPossibleError, match="does not allow deleting"):
        team.start(kept)
    assert team.work(team.start(others)).state == RunState.APPLIED
    assert team.live() is not None


def test_approved_plan_is_not_started_once_a_policy_keeps_its_object(team):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), **DELETE)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    make_policy(kept_kinds=("*",))

    with pytest.raises(NotPossibleError, match="does not allow deleting ConfigMap/settings"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)


def test_run_that_waits_for_its_worker_deletes_nothing_that_a_policy_keeps_meanwhile(team):
    team.apply(config_map(a="1"))
    started = team.start(team.plan(config_map(a="1"), **DELETE))
    make_policy(kept_kinds=("*",))

    run = team.work(started)

    assert (run.state, "the policy changed" in run.error) == (RunState.FAILED, True)
    assert team.live() is not None


@pytest.mark.core(1)
@pytest.mark.parametrize(
    "members",
    [
        {"prune": Prune(PruneMode.APPLYSET, applyset="parent")},
        {"prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True), "mode": ApplyMode.CLIENT},
    ],
    ids=["applyset", "allowlist"],
)
def test_kept_kind_is_not_pruned(team, members):
    team.apply(config_map(a="1"), config_map("other", a="1"), **members)
    make_policy(kept_kinds=("core/ConfigMap",))

    plan = team.plan(config_map("other", a="1"), **members)

    assert [row.operation for row in plan.changes.filter(name="settings")] == ["prune"]
    assert blockers(plan) == [KEPT]


@pytest.mark.long
@pytest.mark.parametrize(
    "members",
    [
        {"prune": Prune(PruneMode.APPLYSET, applyset="parent")},
        {"prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap", "core/v1/Secret"), is_all=True), **CLIENT},
    ],
    ids=["applyset", "allowlist"],
)
def test_next_plan_prunes_the_others_and_leaves_what_a_policy_keeps(team, members):
    team.apply(config_map(a="1"), secret(password="p"), config_map("other", a="1"), **members)
    make_policy(kept_kinds=("core/ConfigMap",))
    blocked = team.plan(config_map("other", a="1"), **members)
    assert object_choices.find_kept_kinds(blocked) == ("core/ConfigMap",)

    options = object_choices.keep_kinds(blocked)
    made = reviews.replan_review(blocked.review, by=team.alice, options=options)
    planner.make_plan(made.pk)
    made.refresh_from_db()

    assert (options.prune.excepted, blockers(made)) == (("core/ConfigMap",), [])
    assert list(made.changes.filter(operation="prune").values_list("name", flat=True)) == ["login"]
    staying = [(one.ref.name, one.why.value) for one in list_staying(made, for_user=team.alice)]
    assert staying == [("settings", "excepted")]
    assert team.work(team.start(made)).state == RunState.APPLIED
    assert team.live() is not None


@pytest.mark.long
def test_plan_that_prunes_nothing_that_a_policy_keeps_has_no_kinds_to_keep(team):
    team.apply(config_map(a="1"))
    make_policy(kept_kinds=("*",))

    assert object_choices.find_kept_kinds(team.plan(config_map(a="1"), **DELETE)) == ()
    assert object_choices.find_kept_kinds(team.plan(config_map(a="2"), **CLIENT)) == ()


@pytest.mark.long
def test_policy_keeps_the_objects_of_its_namespaces_and_the_namespaces_themselves(team):
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    inside = config_map(a="1").replace("name: settings", "name: settings\n  namespace: shop")
    team.apply(namespace)
    team.apply(inside, config_map(a="1"))
    make_policy(namespace="shop", is_cluster_scoped=False, kept_kinds=("core/ConfigMap",))

    both = team.plan(inside, config_map(a="1"), **DELETE)
    whole = team.plan(namespace, **DELETE)

    assert blockers(both) == [KEPT]
    assert len(policies.find_kept([both])[both.pk]) == 1
    assert blockers(whole) == ["policy strict does not allow deleting Namespace/shop"]


@pytest.mark.long
def test_trial_names_what_a_policy_would_keep(team):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), **DELETE)

    found = editing.evaluate(plan, slug="draft", scope=Scope(), rules=Rules(kept_kinds=("*",)))
    elsewhere = editing.evaluate(plan, slug="draft", scope=Scope("prod-*"), rules=Rules(kept_kinds=("*",)))

    assert sentences.describe_all(found.kept) == ("policy draft does not allow deleting ConfigMap/settings",)
    assert elsewhere.kept == ()


def test_odd_kind_is_refused():
    dana = make_person("dana", Role.ADMINISTRATOR)

    with pytest.raises(NotValidError, match="'ConfigMap' is not a kind: use group/Kind"):
        editing.save_policy("p", by=dana, scope=Scope(), rules=Rules(kept_kinds=("ConfigMap", "*")))
