"""Planning again, and closing."""

from django.urls import reverse

from applyviz.records.models import Plan, Review


def test_replan_makes_the_next_plan(as_alice, plan):
    answer = as_alice.post(reverse("reviews:replan", args=[plan.review.number]))

    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 2])
    assert list(Plan.objects.values_list("number", flat=True)) == [1, 2]


def test_old_plan_points_to_the_latest(as_alice, plan):
    as_alice.post(reverse("reviews:replan", args=[plan.review.number]))

    page = as_alice.get(reverse("reviews:show-plan", args=[plan.review.number, 1])).content.decode()

    assert "Plan 2 took the place of this one" in page


def test_replan_twice_is_refused_while_one_is_made(as_alice, plan):
    address = reverse("reviews:replan", args=[plan.review.number])
    as_alice.post(address)

    assert as_alice.post(address).status_code == 409


def test_viewer_may_not_replan(as_viewer, plan):
    assert as_viewer.post(reverse("reviews:replan", args=[plan.review.number])).status_code == 403


def test_replan_takes_no_get(as_alice, plan):
    assert as_alice.get(reverse("reviews:replan", args=[plan.review.number])).status_code == 405


def test_closing_ends_the_review(as_alice, plan):
    as_alice.post(reverse("reviews:close-review", args=[plan.review.number]))

    assert Review.objects.get().state == "closed"
