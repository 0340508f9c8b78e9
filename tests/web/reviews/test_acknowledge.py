"""Taking note of hazards on the page: offered to who may, linked from what blocks, taken back."""

from dataclasses import replace

import pytest
from django.urls import reverse

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity
from applyviz.engine.planning.plan import Operation
from applyviz.records.models import Acknowledgement
from tests.web import builders, rows

KIND = HazardKind.PODS_RESTART.value


@pytest.fixture
def dangerous(alice):
    change = builders.build_change()
    change = replace(
        change,
        operation=Operation.UPDATE,
        conflicts=(),
        ways=(),
        hazards=(Hazard(HazardKind.PODS_RESTART, Severity.DANGER, facts={"strategy": "Recreate"}),),
    )
    return rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=name)) for name in ("one", "two")])


def url(plan, name="acknowledge"):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def show(browser, plan, position=0):
    address = reverse("reviews:show-object", args=[plan.review.number, plan.number, position, "changes"])
    return browser.get(address).content.decode()


def test_blocker_leads_to_the_hazard(as_bob, dangerous):
    page = show(as_bob, dangerous)

    address = reverse("reviews:show-object", args=[dangerous.review.number, 1, 0, "changes"])
    assert f'<a href="{address}#hazard-{KIND}">2 dangers are not taken note of</a>' in page
    assert "Take note for all 2 objects" in page


def test_note_is_taken_for_one_object_and_taken_back(as_bob, dangerous):
    answer = as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "note": "at night"})

    assert answer.headers["Location"].endswith(f"/objects/0/changes/#hazard-{KIND}")
    assert [(a.object_key, a.note) for a in Acknowledgement.objects.all()] == [("apps/Deployment/shop/one", "at night")]
    page = show(as_bob, dangerous)
    assert "at night" in page
    assert "Take it back" in page

    as_bob.post(url(dangerous, "withdraw-acknowledgement"), {"kind": KIND, "position": 0})
    assert Acknowledgement.objects.exclude(withdrawn_at=None).count() == 1


def test_note_is_taken_for_all_at_once(as_bob, dangerous):
    as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "all": "1"})

    assert Acknowledgement.objects.count() == 2
    assert "not taken note of" not in show(as_bob, dangerous)


def test_viewer_sees_it_and_may_not(as_viewer, as_charlie, dangerous):
    page = show(as_viewer, dangerous)

    assert "Somebody must take note of this" in page
    assert url(dangerous) not in page
    form = {"kind": KIND, "position": 0}
    assert [b.post(url(dangerous), form).status_code for b in (as_viewer, as_charlie)] == [403, 404]


@pytest.mark.parametrize("form", [{}, {"kind": "nothing"}, {"kind": KIND, "position": 7}])
def test_button_of_a_stale_page_is_refused(as_bob, dangerous, form):
    assert as_bob.post(url(dangerous), form).status_code == 409


def test_taking_note_takes_no_get(as_bob, dangerous):
    assert [as_bob.get(url(dangerous, n)).status_code for n in ("acknowledge", "withdraw-acknowledgement")] == [405] * 2
