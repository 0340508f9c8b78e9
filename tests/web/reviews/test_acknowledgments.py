"""Acknowledging risks on the page: offered to who may, linked from what blocks, only what was shown, undone."""

from dataclasses import replace

import pytest
from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.records.models import Acknowledgement
from applyviz.workflow.approvals import acknowledgements
from tests.builders import make_policy
from tests.web import builders, rows

KIND = RiskKind.PODS_RESTART.value


def make_dangerous(alice, *names, level=RiskLevel.HIGH):
    change = builders.build_change()
    change = replace(
        change,
        operation=Operation.UPDATE,
        conflicts=(),
        ways=(),
        risks=(Risk(RiskKind.PODS_RESTART, level, facts={"strategy": "Recreate"}),),
    )
    return rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=name)) for name in names])


@pytest.fixture
def dangerous(alice):
    return make_dangerous(alice, "one", "two")


def url(plan, name="acknowledge"):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def show(browser, plan, position=0):
    address = reverse("reviews:show-object", args=[plan.review.number, plan.number, position, "changes"])
    return browser.get(address).content.decode()


def test_blocker_leads_to_the_risk(as_bob, dangerous):
    page = show(as_bob, dangerous)

    address = reverse("reviews:show-object", args=[dangerous.review.number, 1, 0, "changes"])
    assert f'<a href="{address}#risk-{KIND}">1 risk to acknowledge</a>' in page
    assert "Acknowledge for this and the listed object" in page
    assert 'name="shown" value="1"' in page


def test_note_is_taken_for_one_object_and_taken_back(as_bob, dangerous):
    answer = as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "note": "at night"})

    assert answer.headers["Location"].endswith(f"/objects/0/changes/#risk-{KIND}")
    assert [(a.object_key, a.note) for a in Acknowledgement.objects.all()] == [("apps/Deployment/shop/one", "at night")]
    page = show(as_bob, dangerous)
    assert "at night" in page
    assert "Undo" in page

    as_bob.post(url(dangerous, "withdraw-acknowledgement"), {"kind": KIND, "position": 0})
    assert Acknowledgement.objects.exclude(withdrawn_at=None).count() == 1


def test_note_is_taken_for_all_at_once(as_bob, dangerous):
    as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "all": "1", "shown": ["1"]})

    assert Acknowledgement.objects.count() == 2
    assert "to acknowledge" not in show(as_bob, dangerous)


def test_what_was_not_shown_is_not_acknowledged(as_bob, alice):
    """A plan with an object of the same risk that the page did not list: the button does not reach it."""
    plan = make_dangerous(alice, "one", "two", "three")
    page = show(as_bob, plan)
    assert "Deployment/two" in page
    assert "all pods stop before new ones start" in page

    as_bob.post(url(plan), {"kind": KIND, "position": 0, "all": "1", "shown": ["2", "x", "-1"]})

    assert {a.object_key.rpartition("/")[2] for a in Acknowledgement.objects.all()} == {"one", "three"}


def test_many_objects_are_acknowledged_on_the_page_of_the_plan(as_bob, alice):
    make_policy(many_objects=1)
    plan = make_dangerous(alice, "one", "two", level=RiskLevel.INFO)
    page = as_bob.get(reverse("reviews:show-plan", args=[plan.review.number, 1])).content.decode()
    assert "2 objects change in one run; the policy limit for a large change is 1." in page
    assert 'id="risk-many-objects"' in page

    answer = as_bob.post(url(plan), {"kind": "many-objects", "position": -1})

    assert answer.headers["Location"].endswith("#risk-many-objects")
    assert acknowledgements.find_open(plan) == ()


def test_viewer_sees_it_and_may_not(as_viewer, as_charlie, dangerous):
    page = show(as_viewer, dangerous)

    assert "This must be acknowledged" in page
    assert url(dangerous) not in page
    form = {"kind": KIND, "position": 0}
    assert [b.post(url(dangerous), form).status_code for b in (as_viewer, as_charlie)] == [403, 404]


@pytest.mark.parametrize("form", [{}, {"kind": "nothing"}, {"kind": KIND, "position": 7}])
def test_button_of_a_stale_page_is_refused(as_bob, dangerous, form):
    assert as_bob.post(url(dangerous), form).status_code == 409


def test_taking_note_takes_no_get(as_bob, dangerous):
    assert [as_bob.get(url(dangerous, n)).status_code for n in ("acknowledge", "withdraw-acknowledgement")] == [405] * 2
