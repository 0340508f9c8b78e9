"""Pages of a closed review, and of a plan with a run, say nothing that is true only of an open one."""

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ApplyRun, Plan, Review
from applyviz.workflow.policies import Freeze
from tests.builders import grant_role, make_policy
from tests.web import builders, reading, rows

FROZEN = {"freezes": (Freeze("2020-01-01T00:00", "2099-01-04T08:00", "UTC", "Holidays"),)}


def address(plan: Plan, name: str = "show-plan") -> str:
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def close() -> None:
    Review.objects.update(state="closed")


def track(browser, plan: Plan) -> str:
    """The steps of a review, as people read them."""
    steps = reading.find_all(reading.read(browser, address(plan)), "ol")
    (found,) = [one for one in steps if reading.attribute(one, "class") == "track"]
    return reading.text_of(found)


def make_update(author, **values) -> Plan:
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    return rows.make_plan(author, [change], **values)


def run_without_approval(plan: Plan, by) -> ApplyRun:
    return ApplyRun.objects.create(number=1, plan=plan, requested_by=by, created_at=rows.NOW)


def test_steps_of_a_closed_review_wait_for_nobody(as_bob, refused_plan):
    before = track(as_bob, refused_plan)
    close()

    after = track(as_bob, refused_plan)

    assert ("Resolve alice is next" in before, "0 of 1" in before) == (True, True)
    assert ("Closed Approve" in after, "is next" in after, "0 of 1" in after) == (True, False, False)


def test_approve_page_of_a_closed_review_names_nobody_who_could_approve(as_bob, plan):
    def read() -> tuple[bool, bool]:
        page = as_bob.get(address(plan, "confirm-plan")).content.decode()
        return "eligible" in page, "right now" in page

    before = read()
    close()

    assert (before, read()) == ((True, False), (False, False))


def test_closed_review_offers_no_emergency_apply(as_bob, bob, plan):
    grant_role(bob, "break-glass")
    link = f'href="{address(plan, "emergency-apply")}"'
    assert link in as_bob.get(address(plan)).content.decode()

    close()

    assert link not in as_bob.get(address(plan)).content.decode()


@pytest.mark.parametrize(("state", "shown"), [("open", True), ("closed", False)])
def test_page_of_a_closed_review_asks_for_no_news_of_its_plan(as_bob, alice, state, shown):
    plan = make_update(alice, state="planning", applied_by="helm")
    Review.objects.update(state=state)

    page = as_bob.get(address(plan)).content.decode()

    assert (f'hx-get="{address(plan, "show-watch")}"' in page) is shown


def test_run_without_approval_is_not_called_approved(as_bob, bob, plan):
    run_without_approval(plan, bob)

    shown = reading.text_of(reading.read(as_bob, address(plan, "confirm-plan")))

    assert "Approve without approval" in track(as_bob, plan)
    assert "none; run 1 used no approval" in shown


def test_plan_that_needs_no_approval_is_not_called_approved_by_nobody(as_bob, alice):
    make_policy(approvals=0)

    assert "Approve not required" in track(as_bob, make_update(alice))


def test_change_window_says_nothing_about_a_plan_with_a_run(as_bob, bob, alice):
    make_policy(**FROZEN)
    plan = make_update(alice)
    before = as_bob.get(address(plan, "confirm-plan")).content.decode()
    rows.make_run(plan, bob)

    after = as_bob.get(address(plan, "confirm-plan")).content.decode()

    assert ("Holidays" in before, "Holidays" in after) == (True, False)
