"""Conflict rules: two people make one, every plan from then on follows it, and its end opens what it decided."""

import pytest
from django.db import DatabaseError, transaction

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.records.enums import AuditAction, Role, RuleState, RunState
from applyviz.records.models import AuditEntry, ConflictRule
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.plans import conflict_rules, planner, resolutions, reviews
from tests.blockers import name_blockers
from tests.builders import make_person
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
FIELD = ("f:data", "f:a")


def dispute(team):
    """One field is in dispute: somebody changes it by hand, again and again."""
    team.apply(config_map(a="1", b="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, dispute)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def plan(team):
    return team.plan(config_map(a="2", b="2"))


def draft(**values):
    named = {"group": "", "kind": "ConfigMap", "namespace": "default", "name": "settings", "path": FIELD}
    return FieldRule(**{**named, "resolution": RuleResolution.GIVE_UP, "manager": "kubectl-edit", **values})


def propose(team, plan, **values):
    return conflict_rules.propose_rule(plan, draft(**values), by=team.alice, reason="it is theirs")


def agree(team, plan, **values):
    rule = propose(team, plan, **values)
    conflict_rules.agree_rule(rule, by=team.bob)
    rule.refresh_from_db()
    return rule


def plan_again(team, plan):
    following = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


def read_answers(plan):
    (change,) = (change.document for change in plan.changes.all())
    return [(a["resolution"], a["manager"], a.get("rule", 0)) for a in change.get("answers", ())]


def test_proposal_decides_nothing_yet(team, plan):
    propose(team, plan)

    assert plan_again(team, plan).counts == {"blocked": 1}


def test_rule_decides_in_every_plan_from_now_on(team, plan):
    rule = agree(team, plan)

    following = plan_again(team, plan)

    assert (following.counts, read_answers(following)) == ({"update": 1}, [("give-up", "kubectl-edit", 1)])
    assert [frozen["number"] for frozen in following.rules] == [rule.number]
    run = team.work(team.start(following))
    assert (run.state, team.live()["data"]) == (RunState.APPLIED, {"a": "by hand", "b": "2"})


def test_decision_of_a_person_goes_before_the_rule(team, plan):
    agree(team, plan)

    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)
    following = reviews.replan_review(plan.review, by=team.alice, choices=choices)
    planner.make_plan(following.pk)

    assert read_answers(following) == [("overwrite", "kubectl-edit", 0)]


def test_nobody_agrees_to_their_own(team, plan):
    both = make_person("dora", Role.AUTHOR, Role.APPROVER)
    rule = conflict_rules.propose_rule(plan, draft(), by=both, reason="because")

    with pytest.raises(NotAllowedError, match="you can't approve your own conflict rule"):
        conflict_rules.agree_rule(rule, by=both)
    with pytest.raises(DatabaseError), transaction.atomic():
        ConflictRule.objects.filter(pk=rule.pk).update(state=RuleState.IN_FORCE, agreed_by=both)
    rule.refresh_from_db()
    assert rule.state == RuleState.PROPOSED


def test_weak_roles_and_outsiders_are_refused(team, plan):
    rule = propose(team, plan)

    with pytest.raises(NotAllowedError):
        conflict_rules.agree_rule(rule, by=team.alice)
    with pytest.raises(NotAllowedError):
        conflict_rules.propose_rule(plan, draft(path=("f:data", "f:b")), by=team.bob, reason="because")
    with pytest.raises(NotVisibleError):
        conflict_rules.list_rules(team.cluster, for_user=make_person("charlie"))


def test_revoked_rule_opens_what_it_decided_and_blocks_plans_made_with_it(team, plan):
    rule = agree(team, plan)
    ruled = plan_again(team, plan)
    assert name_blockers(ruled) == ()

    conflict_rules.revoke_rule(rule, by=team.bob, note="the fix is out")

    assert name_blockers(ruled) == ("conflict rule 1 changed since this plan was created: re-plan",)
    with pytest.raises(NotPossibleError, match="conflict rule 1 changed"):
        team.start(ruled)
    following = plan_again(team, plan)
    assert following.counts == {"blocked": 1}
    assert following.digest != ruled.digest


@pytest.mark.long
def test_new_rule_blocks_only_plans_that_it_reaches(team, plan):
    calm = team.plan(config_map("calm", a="1"))
    reached = team.plan(config_map(b="2", c="3"))

    agree(team, plan)

    assert name_blockers(calm) == ()
    assert name_blockers(reached) == ("conflict rule 1 changed since this plan was created: re-plan",)


@pytest.mark.long
def test_rule_ends_once_and_is_never_rewritten(team, plan):
    rule = agree(team, plan)
    conflict_rules.revoke_rule(rule, by=team.alice)

    for again in (conflict_rules.revoke_rule, conflict_rules.decline_rule):
        with pytest.raises(NotPossibleError):
            again(rule, by=team.bob)
    with pytest.raises(NotPossibleError):
        conflict_rules.agree_rule(rule, by=team.bob)
    for values in ({"resolution": "overwrite"}, {"state": RuleState.IN_FORCE}):
        with pytest.raises(DatabaseError), transaction.atomic():
            ConflictRule.objects.filter(pk=rule.pk).update(**values)
    with pytest.raises(DatabaseError), transaction.atomic():
        ConflictRule.objects.filter(pk=rule.pk).delete()


@pytest.mark.long
def test_second_rule_for_one_field_is_refused(team, plan):
    rule = propose(team, plan)

    with pytest.raises(NotPossibleError, match="rule 1 already covers this field"):
        propose(team, plan, resolution=RuleResolution.OVERWRITE)
    conflict_rules.decline_rule(rule, by=team.alice)

    assert propose(team, plan, resolution=RuleResolution.OVERWRITE).number == 2


@pytest.mark.core(1)
@pytest.mark.parametrize(("values", "reason"), [({}, "  "), ({"name": " "}, "because"), ({"path": ()}, "because")])
def test_rule_needs_reason_name_and_field(team, plan, values, reason):
    with pytest.raises(NotValidError):
        conflict_rules.propose_rule(plan, draft(**values), by=team.alice, reason=reason)


@pytest.mark.long
def test_history_tells_of_every_step(team, plan):
    rule = agree(team, plan)
    conflict_rules.revoke_rule(rule, by=team.bob, note="over")
    other = propose(team, plan, path=("f:data", "f:b"))
    conflict_rules.decline_rule(other, by=team.bob, note="no")

    told = [
        (entry.action, entry.actor_name, entry.name, entry.detail["rule"], entry.detail.get("note", ""))
        for entry in AuditEntry.objects.filter(action__startswith="rule.").order_by("sequence")
    ]
    assert told == [
        ("rule.proposed", "alice", "settings", 1, ""),
        ("rule.agreed", "bob", "settings", 1, ""),
        ("rule.revoked", "bob", "settings", 1, "over"),
        ("rule.proposed", "alice", "settings", 2, ""),
        ("rule.declined", "bob", "settings", 2, "no"),
    ]


@pytest.mark.long
def test_undone_decision_is_told_as_such(team, plan):
    choices = resolutions.choose_everywhere(plan, ResolutionKind.GIVE_UP)
    second = reviews.replan_review(plan.review, by=team.alice, choices=choices, note="theirs")
    planner.make_plan(second.pk)
    second.refresh_from_db()
    made = resolutions.list_made(second)
    assert [(d.by, d.note, d.plan.number) for d in made.values()] == [(team.alice, "theirs", 1)]

    third = reviews.replan_review(plan.review, by=team.alice, undone=0)
    planner.make_plan(third.pk)

    entry = AuditEntry.objects.get(action=AuditAction.RESOLUTION_UNDONE)
    assert (entry.actor_name, entry.detail) == (
        "alice",
        {"undone": [["give-up", "kubectl-edit", ".data.a"]]},
    )
    third.refresh_from_db()
    assert (third.counts, resolutions.list_made(third)) == ({"blocked": 1}, {})
    decision = next(iter(made.values()))
    decision.refresh_from_db()
    assert (decision.undone_by, decision.undone_at is not None) == (team.alice, True)


@pytest.mark.long
def test_field_left_out_of_comparison_neither_stops_a_run_nor_breaks_its_promise(team):
    """Somebody stamps the object between approval and run; the plan does not set that field."""
    plan = team.plan(config_map(b="2"))
    agree(team, plan, resolution=RuleResolution.IGNORE, manager="", path=("f:metadata", "f:annotations", "f:stamp"))
    following = plan_again(team, plan)
    assert following.changes.get().document["ignored"] == [["metadata", "annotations", "stamp"]]

    run = team.start(following)
    team.edit(SETTINGS, {"metadata": {"annotations": {"stamp": "now"}}})
    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
