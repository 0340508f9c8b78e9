"""Planning again, and closing."""

from types import SimpleNamespace

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json, options_to_json
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan, Review
from applyviz.web.reviews.forms.reviews import ReplanForm
from applyviz.web.reviews.pages.available_actions import list_replan_options
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import reviews
from tests.web import rows


def test_replan_makes_the_next_plan(as_alice, plan):
    answer = as_alice.post(reverse("reviews:replan", args=[plan.review.number, plan.number]))

    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 2])
    assert list(Plan.objects.values_list("number", flat=True)) == [1, 2]


def test_old_plan_points_to_the_latest(as_alice, plan):
    as_alice.post(reverse("reviews:replan", args=[plan.review.number, plan.number]))

    page = as_alice.get(reverse("reviews:show-plan", args=[plan.review.number, 1])).content.decode()

    assert "Superseded by plan 2" in page


def test_replan_twice_is_refused_while_one_is_made(as_alice, plan):
    address = reverse("reviews:replan", args=[plan.review.number, plan.number])
    as_alice.post(address)

    assert as_alice.post(address).status_code == 409


def test_superseded_plan_is_not_planned_again(as_alice, plan):
    """Its choices (force every conflict, another mode) would apply to a plan that the person did not read."""
    reviews.replan_review(plan.review, by=plan.review.author)
    Plan.objects.filter(number=2).update(state=PlanState.FAILED)

    answer = as_alice.post(reverse("reviews:replan", args=[plan.review.number, 1]), {"takes_over": "1"})

    assert (answer.status_code, Plan.objects.count()) == (409, 2)
    assert "superseded by a later plan" in answer.content.decode()


def test_viewer_may_not_replan(as_viewer, plan):
    assert as_viewer.post(reverse("reviews:replan", args=[plan.review.number, plan.number])).status_code == 403


def test_replan_takes_no_get(as_alice, plan):
    assert as_alice.get(reverse("reviews:replan", args=[plan.review.number, plan.number])).status_code == 405


def test_closing_ends_the_review(as_alice, plan):
    as_alice.post(reverse("reviews:close-review", args=[plan.review.number]))

    assert Review.objects.get().state == "closed"


def test_author_is_offered_what_else_can_be_done_and_a_viewer_nothing(as_alice, as_viewer, plan):
    address = reverse("reviews:show-review", args=[plan.review.number])
    names = ("replan", "replace-manifests", "close-review")
    here = {"replan": [plan.review.number, plan.number]}
    acts = [reverse(f"reviews:{name}", args=here.get(name, [plan.review.number])) for name in names]

    mine, theirs = (browser.get(address).content.decode() for browser in (as_alice, as_viewer))

    assert [act for act in acts if act not in mine] == []
    assert [act for act in acts if act in theirs] == []


def test_other_manifests_make_the_next_plan(as_alice, as_viewer, plan):
    address = reverse("reviews:replace-manifests", args=[plan.review.number])
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"

    assert "Upload new manifests" in as_alice.get(address).content.decode()
    assert (as_viewer.get(address).status_code, as_alice.post(address, {}).status_code) == (403, 422)
    assert "found</p>" not in as_alice.post(address, {"text": "nothing: here"}).content.decode()
    answer = as_alice.post(address, {"text": text})

    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 2])
    assert Plan.objects.get(number=2).revision_id != plan.revision_id


def test_run_that_went_wrong_leaves_an_author_with_planning_again(as_alice, as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="stale")
    header_line = (
        browser.get(reverse("reviews:show-review", args=[plan.review.number])) for browser in (as_alice, as_viewer)
    )

    mine, theirs = (page.content.decode().partition('class="go"')[2].partition("</div>")[0] for page in header_line)

    assert ("Re-plan" in mine, f"Run {run.number}: stale" in mine) == (True, True)
    assert ("Re-plan" in theirs, f"View run {run.number}" in theirs) == (False, True)


@pytest.mark.parametrize(
    ("how", "changed"),
    [
        ("client-side", {"mode": ApplyMode.CLIENT}),
        ("server-side", {"mode": ApplyMode.SERVER}),
        ("keep-ownership", {"takes_client_side": False}),
        ("move-ownership", {"takes_client_side": True}),
        ("", {}),
        ("nonsense", {}),
    ],
)
def test_one_click_plans_the_same_manifests_another_way(as_alice, plan, how, changed):
    before = options_from_json(plan.options)

    as_alice.post(reverse("reviews:replan", args=[plan.review.number, plan.number]), {"how": how})

    latest = Plan.objects.get(number=2)
    assert options_from_json(latest.options) == replace(before, **changed)
    assert latest.revision_id == plan.revision_id


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        (ApplyOptions(), ["client-side", "keep-ownership"]),
        (ApplyOptions(takes_client_side=False), ["client-side", "move-ownership"]),
        (ApplyOptions(takes_client_side=False, takes_from=("helm",)), ["client-side", "keep-ownership"]),
        (ApplyOptions(field_manager="kubectl"), ["client-side"]),
        (ApplyOptions(mode=ApplyMode.CLIENT), ["server-side", "keep-ownership"]),
        (ApplyOptions(prune=Prune(PruneMode.APPLYSET)), ["client-side", "keep-ownership", "keep-objects"]),
        (
            ApplyOptions(mode=ApplyMode.CLIENT, prune=Prune(PruneMode.ALLOWLIST)),
            ["keep-ownership", "keep-objects"],
        ),
        (ApplyOptions(mode=ApplyMode.CLIENT, takes_client_side=False), ["server-side", "move-ownership"]),
    ],
)
def test_other_ways_are_offered_by_how_the_plan_applies(options, offered):
    assert [option.how for option in list_replan_options(options)] == offered


def test_prune_is_dropped_by_one_click_and_never_taken_server_side_by_allowlist():
    options = ApplyOptions(mode=ApplyMode.CLIENT, selector="a=b", prune=Prune(PruneMode.ALLOWLIST))
    plan = SimpleNamespace(options=options_to_json(options))

    kept = ReplanForm({"how": "keep-objects"}).read_options(plan)

    assert kept == replace(options, prune=Prune())
    with pytest.raises(NotPossibleError, match="needs client-side apply"):
        ReplanForm({"how": "server-side"}).read_options(plan)


def test_page_has_a_button_for_each_way(as_alice, plan):
    page = as_alice.get(reverse("reviews:show-review", args=[plan.review.number])).content.decode()

    assert 'name="how" value="client-side"' in page
    assert "Re-plan without ownership migration" in page


def test_kinds_that_a_policy_keeps_are_offered_by_name():
    options = ApplyOptions(prune=Prune(PruneMode.APPLYSET))

    offered = {
        option.how.value: option.text for option in list_replan_options(options, ("core/Secret", "apps/Deployment"))
    }

    assert offered["keep-kinds"] == "Re-plan without pruning Secret, Deployment"
    assert "keep-objects" in offered
