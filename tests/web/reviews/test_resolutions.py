"""Deciding a conflict: one of three ways, by who may, and only what is still open."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.blocked_removals import BlockedRemoval, Holder, Keeper
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolvedField
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import ObjectResult, Plan, Resolution
from tests.web import builders, rows


def url(plan) -> str:
    return reverse("reviews:resolve-conflict", args=[plan.review.number, plan.number, 0])


@pytest.mark.parametrize("resolution", ["overwrite", "give-up", "share"])
def test_decision_makes_the_next_plan(as_alice, refused_plan, resolution):
    answer = as_alice.post(url(refused_plan), {"resolution-0": resolution})

    following = Plan.objects.get(number=2)
    decision = Resolution.objects.get()
    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[refused_plan.review.number, 2])
    assert (decision.choice, decision.manager) == (resolution, "kubectl-set")
    assert [d["resolution"] for d in following.decisions] == [resolution]
    assert tuple(following.decisions[0]["path"]) == builders.IMAGE


def test_every_conflict_is_taken_over_at_once(as_alice, refused_plan):
    as_alice.post(
        reverse("reviews:replan", args=[refused_plan.review.number, refused_plan.number]), {"takes_over": "1"}
    )

    assert list(Resolution.objects.values_list("choice", flat=True)) == ["overwrite"]


@pytest.mark.parametrize(
    "form", [{}, {"resolution-7": "overwrite"}, {"resolution-0": "ignore"}, {"resolution-0x": "overwrite"}]
)
def test_decision_that_names_no_conflict_is_asked_again_with_its_reason(as_alice, refused_plan, form):
    answer = as_alice.post(url(refused_plan), {**form, "note": "the <b> hotfix"})

    text = answer.content.decode()
    assert (answer.status_code, Resolution.objects.count()) == (422, 0)
    assert [word in text for word in ("Nothing was chosen", 'value="the &lt;b&gt; hotfix"')] == [True, True]
    assert (text.count('name="resolution-0"'), f'action="{url(refused_plan)}"' in text) == (3, True)


def test_object_without_a_conflict_has_nothing_to_choose(as_alice, alice):
    change = replace(builders.build_change(), open_fields=(), conflicts=(), operation=Operation.UPDATE)

    assert as_alice.post(url(rows.make_plan(alice, [change])), {}).status_code == 409


def test_ways_are_offered_to_those_who_may_decide(as_alice, as_viewer, refused_plan):
    address = reverse("reviews:show-changes", args=[refused_plan.review.number, 1])

    for_alice, for_viewer = (browser.get(address).content.decode() for browser in (as_alice, as_viewer))

    assert for_alice.count('name="resolution-0"') == 3
    assert "checked" not in for_alice.partition('id="scroll"')[2]
    assert url(refused_plan) not in for_viewer
    assert 'name="resolution-0"' not in for_viewer
    assert "Give up the field" in for_viewer


def test_own_update_is_named_apart_from_the_own_apply(as_alice, alice):
    """A conflict with your own manager name concerns fields that it wrote by another operation."""
    change = builders.build_change()
    own = [replace(one, manager="ci", operation="Update") for one in change.conflicts]
    fields = [replace(one, managers=("ci",)) for one in change.open_fields]
    plan = rows.make_plan(alice, [replace(change, conflicts=tuple(own), open_fields=tuple(fields))])

    text = as_alice.get(reverse("reviews:show-changes", args=[plan.review.number, 1])).content.decode()

    assert "ci (Update) loses the field" in text
    assert "ci loses the field" not in text


def test_viewer_may_not_decide(as_viewer, as_charlie, refused_plan):
    form = {"resolution-0": "overwrite"}

    assert [b.post(url(refused_plan), form).status_code for b in (as_viewer, as_charlie)] == [403, 404]


def test_deciding_takes_no_get(as_alice, refused_plan):
    assert as_alice.get(url(refused_plan)).status_code == 405


@pytest.mark.parametrize(("manager", "status", "count"), [("kubectl-set", 302, 1), ("", 302, 1), ("nobody", 409, 0)])
def test_conflicts_of_one_field_manager_are_decided_at_once(as_alice, refused_plan, manager, status, count):
    address = reverse("reviews:resolve-everywhere", args=[refused_plan.review.number, refused_plan.number])

    answer = as_alice.post(address, {"resolution": "give-up", "manager": manager})

    assert (answer.status_code, Resolution.objects.count()) == (status, count)


def test_undone_decision_is_left_out_of_the_next_plan_and_stays_on_record(as_alice, refused_plan):
    as_alice.post(url(refused_plan), {"resolution-0": "give-up"})
    Plan.objects.filter(number=2).update(state="complete")

    answer = as_alice.post(reverse("reviews:undo-resolution", args=[refused_plan.review.number, 2, 0]))

    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[refused_plan.review.number, 3])
    assert [len(p.decisions) for p in Plan.objects.order_by("number")] == [0, 1, 0]
    assert Resolution.objects.count() == 1


def test_decision_of_a_plan_that_was_replaced_cannot_be_undone(as_alice, refused_plan):
    as_alice.post(url(refused_plan), {"resolution-0": "give-up"})

    address = reverse("reviews:undo-resolution", args=[refused_plan.review.number, refused_plan.number, 0])

    assert as_alice.post(address).status_code == 409


def test_what_it_comes_to_is_shown_before_anything_is_decided(as_alice, refused_plan):
    page = as_alice.post(url(refused_plan), {"resolution-0": "give-up", "then": "preview", "note": "<b>"})

    text = page.content.decode()
    assert (page.status_code, Resolution.objects.count()) == (200, 0)
    assert "Give up the field" in text
    assert "<code>PATCH</code>" not in text
    assert 'name="resolution-0" value="give-up"' in text
    assert 'value="&lt;b&gt;"' in text
    body = text.partition('aria-label="Body">')[2].partition("</pre>")[0]
    assert "image" not in body
    assert "name: server" in body


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ("", 200),
        ("position=0&manager=kubectl-set", 200),
        ("manager=kubectl-set", 200),
        ("kind=apps/Deployment", 200),
        ("kind=apps/StatefulSet", 409),
        ("position=9", 409),
    ],
)
def test_more_than_one_field_is_shown_and_decided_by_its_scope(as_alice, refused_plan, scope, status):
    address = reverse("reviews:resolve-everywhere", args=[refused_plan.review.number, refused_plan.number])

    shown = as_alice.get(address, {"resolution": "overwrite", "scope": scope})
    assert (shown.status_code, Resolution.objects.count()) == (status, 0)
    if status == 200:
        assert "Sent with force" in shown.content.decode()
        as_alice.post(address, {"resolution": "overwrite", "scope": scope, "note": "agreed"})
        assert list(Resolution.objects.values_list("choice", "note")) == [("overwrite", "agreed")]


@pytest.mark.parametrize(
    ("of", "index", "option", "status"),
    [
        ("open", 0, 2, 200),
        ("open", 0, 1, 404),
        ("open", 7, 1, 404),
        ("all", 0, 0, 404),
        ("answers", 0, 0, 404),
        ("else", 0, 0, 404),
    ],
)
def test_patch_is_taken_away_as_a_file(as_viewer, refused_plan, of, index, option, status):
    address = reverse("reviews:show-patch", args=[refused_plan.review.number, 1, 0, of, index, option])

    answer = as_viewer.get(address)

    assert answer.status_code == status
    if status == 200:
        assert answer.headers["Content-Type"] == "text/x-diff; charset=utf-8"
        assert answer.content.decode().startswith("--- a/frontend.yaml\n+++ b/frontend.yaml\n@@ ")


def test_plan_without_ways_asks_to_plan_again(as_alice, alice):
    plan = rows.make_plan(alice, [replace(builders.build_change(), open_fields=())])

    page = as_alice.get(reverse("reviews:show-changes", args=[plan.review.number, 1])).content.decode()

    assert "has no preview of the resolutions" in page
    assert 'name="resolution-0"' not in page


def test_conflict_that_stays_without_the_field_says_why_and_can_only_be_overwritten(as_alice, alice):
    change = builders.build_change()
    overwrite, *others = change.open_fields[0].options
    stays = (overwrite, *(replace(one, is_possible=False, converted="apps/v1beta2") for one in others))
    plan = rows.make_plan(alice, [replace(change, open_fields=(replace(change.open_fields[0], options=stays),))])

    text = as_alice.get(reverse("reviews:show-changes", args=[plan.review.number, 1])).content.decode()

    assert text.count('name="resolution-0"') == 1
    assert text.count("Not possible: the conflict would stay. ci last applied this object at apps/v1beta2;") == 2
    assert "does not set this field itself" not in text


def test_resolution_that_is_possible_nowhere_is_refused_with_the_reason(as_alice, alice):
    change = builders.build_change()
    overwrite, *others = change.open_fields[0].options
    stays = (overwrite, *(replace(one, is_possible=False) for one in others))
    plan = rows.make_plan(alice, [replace(change, open_fields=(replace(change.open_fields[0], options=stays),))])
    address = reverse("reviews:resolve-everywhere", args=[plan.review.number, 1])

    answer = as_alice.get(address, {"resolution": "give-up", "scope": ""})

    assert answer.status_code == 409
    assert "one of these conflicts can be resolved this way" in answer.content.decode()
    assert as_alice.get(address, {"resolution": "overwrite", "scope": ""}).status_code == 200


def test_preview_lists_the_conflicts_that_a_resolution_leaves_open(as_alice, alice):
    change = builders.build_change()
    overwrite, *others = change.open_fields[0].options
    stays = (overwrite, *(replace(one, is_possible=False, converted="apps/v1beta2") for one in others))
    ref = change.ref._replace(name="other<b>")
    other = replace(change, ref=ref, open_fields=(replace(change.open_fields[0], options=stays),))
    plan = rows.make_plan(alice, [change, other])
    address = reverse("reviews:resolve-everywhere", args=[plan.review.number, 1])

    given_up, forced = (
        as_alice.get(address, {"resolution": one, "scope": ""}).content.decode() for one in ("give-up", "overwrite")
    )
    following = as_alice.post(address, {"resolution": "give-up", "scope": ""})

    left = given_up.partition("1 field stays in conflict")[2].partition("</table>")[0]
    assert "other&lt;b&gt;" in left
    assert "Not possible: the conflict would stay. ci last applied this object at apps/v1beta2;" in left
    assert "other&lt;b&gt;" not in given_up.partition("1 field stays in conflict")[0].partition("<main")[2]
    assert "in conflict" not in forced.partition("<main")[2]
    assert (following.status_code, Resolution.objects.count()) == (302, 1)


def test_preview_of_an_impossible_resolution_is_refused(as_alice, alice):
    change = builders.build_change()
    overwrite, *others = change.open_fields[0].options
    stays = (overwrite, *(replace(one, is_possible=False) for one in others))
    plan = rows.make_plan(alice, [replace(change, open_fields=(replace(change.open_fields[0], options=stays),))])

    refused, shown = (
        as_alice.post(url(plan), {"resolution-0": one, "then": "preview"}) for one in ("give-up", "overwrite")
    )

    assert (refused.status_code, shown.status_code) == (409, 200)


def test_conflict_that_the_server_reports_after_its_resolution_is_planned_again(as_alice, alice):
    change = builders.build_change()
    given = ResolvedField(builders.IMAGE, "kubectl-set", ResolutionKind.GIVE_UP)
    plan = rows.make_plan(alice, [replace(change, open_fields=(), answers=(given,))])

    text = as_alice.get(reverse("reviews:show-changes", args=[plan.review.number, 1])).content.decode()

    assert "the server reported this conflict again." in text
    assert "Other conflicts of this object are still open." not in text
    assert text.count(f'action="{reverse("reviews:replan", args=[plan.review.number, 1])}"') >= 1


def test_removal_that_will_not_happen_offers_its_way_out(as_viewer, alice):
    holder = Holder(builders.AUTOSCALER, Keeper.CONTROLLER)
    release = BlockedRemoval(builders.REPLICAS, (holder,), "kubectl patch deployments.apps frontend", True, True)
    plan = rows.make_plan(alice, [replace(builders.build_change(), blocked_removals=(release,))])

    page = as_viewer.get(reverse("reviews:show-changes", args=[plan.review.number, 1])).content.decode()

    assert "kubectl patch deployments.apps frontend" in page
    assert "is a controller and will write it again" in page
    assert "until its owner writes it again" in page


def read_last_applied(browser, plan) -> str:
    page = browser.get(reverse("reviews:show-changes", args=[plan.review.number, plan.number])).content.decode()
    (said,) = set(re.findall(r"last applied ([^;]*); manifest registry.example/frontend:v0.10.1; live", page))
    return said


def test_conflict_shows_what_a_run_last_applied(as_viewer, alice, bob):
    change = builders.build_change()
    image = "registry.example/frontend:v0.9.0"
    applied = replace(change.versions, manifest=builders.build_deployment("v0.9.0", image))
    for manager, options in (("ci", None), ("another", ApplyOptions(field_manager="another", namespace="shop"))):
        versions = applied if manager == "ci" else change.versions
        former = replace(change, operation=Operation.UPDATE, conflicts=(), fields=(), versions=versions)
        run = rows.make_run(rows.make_plan(alice, [former], options=options), bob, state="applied")
        ObjectResult.objects.filter(run=run).update(finished_at=rows.NOW)

    assert read_last_applied(as_viewer, rows.make_plan(alice, [change])) == image


def test_conflict_before_any_run_does_not_know_what_was_applied(as_viewer, refused_plan):
    assert read_last_applied(as_viewer, refused_plan) == "not known"
