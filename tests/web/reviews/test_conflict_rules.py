"""Conflict rules on pages: proposed from a decision or a field, agreed to by another person, ended."""

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolvedField
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ConflictRule
from tests.web import builders, rows

WHY = "it is scaled by somebody else"


@pytest.fixture
def decided(alice):
    answer = ResolvedField(builders.IMAGE, "kubectl-set", ResolutionKind.GIVE_UP)
    change = replace(
        builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=(), answers=(answer,)
    )
    return rows.make_plan(alice, [change])


def address(plan, query="answer=0"):
    return reverse("reviews:propose-rule", args=[plan.review.number, plan.number, 0]) + f"?{query}"


def act(plan, verb, number=1):
    return reverse(f"clusters:{verb}-rule", args=[plan.target.cluster.slug, number])


def propose(browser, plan, **values):
    return browser.post(address(plan), {"name": "frontend", "namespace": "shop", "reason": WHY, **values})


def read(browser, plan):
    return browser.get(reverse("clusters:list-rules", args=[plan.target.cluster.slug])).content.decode()


def test_decision_is_made_a_rule_by_two_people(as_alice, as_bob, decided):
    page = as_alice.get(address(decided)).content.decode()
    assert "Give up the field" in page
    assert 'value="frontend"' in page

    answer = propose(as_alice, decided, name="front*")
    assert answer.headers["Location"].endswith("/rules/#rule-1")
    assert "An approver other than the proposer must approve it" in read(as_alice, decided)
    assert act(decided, "agree") not in read(as_alice, decided)
    assert act(decided, "agree") in read(as_bob, decided)

    as_bob.post(act(decided, "agree"))
    rule = ConflictRule.objects.get()
    assert (rule.state, rule.name, rule.manager, rule.agreed_by.username) == (
        "in-force",
        "front*",
        "kubectl-set",
        "bob",
    )
    assert "In force" in read(as_alice, decided)

    as_alice.post(act(decided, "revoke"), {"note": "over"})
    assert "over" in read(as_bob, decided)
    rule.refresh_from_db()
    assert rule.state == "revoked"


def test_rule_for_whoever_is_in_the_way(as_alice, decided):
    propose(as_alice, decided, is_for_all="on", namespace="")

    rule = ConflictRule.objects.get()
    assert (rule.manager, rule.namespace) == ("", "")


def test_field_is_left_out_of_comparison(as_alice, decided):
    page = as_alice.get(address(decided, "field=3")).content.decode()
    assert "Ignore differences" in page

    as_alice.post(address(decided, "field=3"), {"name": "frontend", "namespace": "shop", "reason": WHY})

    rule = ConflictRule.objects.get()
    assert (rule.resolution, tuple(rule.elements)) == ("ignore", builders.ROLLING)


def test_own_proposal_is_taken_back(as_alice, decided):
    propose(as_alice, decided)
    as_alice.post(act(decided, "decline"))

    assert ConflictRule.objects.get().state == "declined"


@pytest.mark.parametrize("values", [{"reason": ""}, {"name": ""}, {"name": "a b"}, {"namespace": "Shop"}])
def test_what_cannot_be_a_rule_comes_back_with_its_errors(as_alice, decided, values):
    answer = propose(as_alice, decided, **values)

    assert answer.status_code == 422
    assert 'class="error"' in answer.content.decode()
    assert ConflictRule.objects.count() == 0


@pytest.mark.parametrize("query", ["", "answer=7", "field=99", "answer=x"])
def test_rule_of_nothing_is_not_found(as_alice, decided, query):
    assert as_alice.get(address(decided, query)).status_code == 404


def test_who_may_do_what(as_alice, as_bob, as_viewer, as_charlie, decided):
    assert [b.get(address(decided)).status_code for b in (as_bob, as_viewer, as_charlie)] == [403, 403, 404]
    propose(as_alice, decided)

    answers = {
        verb: [b.post(act(decided, verb)).status_code for b in (as_viewer, as_charlie)]
        for verb in ("agree", "decline", "revoke")
    }
    assert answers == {verb: [403, 404] for verb in ("agree", "decline", "revoke")}
    assert as_alice.post(act(decided, "agree")).status_code == 403
    assert as_bob.post(act(decided, "revoke")).status_code == 409
    assert as_bob.post(act(decided, "agree", 9)).status_code == 404


def test_cluster_without_rules_says_how_to_make_one(as_viewer, decided):
    assert "No conflict rules yet" in read(as_viewer, decided)
    assert as_viewer.get(act(decided, "agree")).status_code == 405
