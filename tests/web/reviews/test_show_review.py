"""The review page: deck, brief, list, and its states."""

from dataclasses import replace

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from tests.web import builders, reading, rows

HTMX = {"HX-Request": "true"}


def url(plan) -> str:
    return reverse("reviews:show-review", args=[plan.review.number])


def test_review_shows_deck_brief_and_first_object(as_alice, refused_plan):
    answer = as_alice.get(url(refused_plan))

    page = answer.content.decode()
    assert answer.status_code == 200
    assert [
        text for text in ("Upgrade the shop", "1 blocked by conflicts", "unresolved", "hotfix-3") if text not in page
    ] == []


def test_review_names_both_values_owners_and_reason(as_alice, plan):
    page = as_alice.get(url(plan)).content.decode()

    wanted = ("v0.8.0", "v0.10.1", "kube-controller-manager", "Update · scale", "Removal blocked", "RollingUpdate")
    assert [text for text in wanted if text not in page] == []


def test_blockers_link_to_the_very_conflict_and_to_the_broken_object(as_bob, alice):
    conflicting, first = builders.build_change(), ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", "first")
    risks = (Risk(RiskKind.CRD_CHANGED, RiskLevel.HIGH),)
    risky = replace(conflicting, ref=first, operation=Operation.UPDATE, conflicts=(), fields=(), risks=risks)
    broken = replace(risky, ref=first._replace(name="broken"), operation=Operation.ERROR, error="no", risks=())
    page = reading.read(as_bob, url(rows.make_plan(alice, [risky, broken, conflicting])))

    shown, found = reading.follow(as_bob, page, "1 object with unresolved conflicts")
    target, nothing = reading.follow(as_bob, page, "1 object has errors")

    assert (found[-1].name, reading.attribute(found[-1], "id")) == ("fieldset", "conflict-4")
    (field,) = (e for e in reading.find_all(shown, "details") if reading.attribute(e, "id") == "field-4")
    assert (reading.attribute(field, "open") is not None, "image" in reading.text_of(field)) == (True, True)
    current = [reading.text_of(a) for a in reading.find_all(target, "a", has="aria-current")]
    assert (nothing, any("broken" in text for text in current)) == ((), True)


def test_blocked_plan_cannot_be_approved(as_bob, refused_plan):
    page = as_bob.get(url(refused_plan)).content.decode()

    assert reverse("reviews:confirm-plan", args=[refused_plan.review.number, 1]) not in page


def test_author_is_told_that_another_approves(as_alice, plan):
    page = as_alice.get(url(plan)).content.decode()

    assert "Only approvers can approve." in page


def test_approver_gets_a_link_to_confirm(as_bob, plan):
    page = as_bob.get(url(plan)).content.decode()

    assert f'href="{reverse("reviews:confirm-plan", args=[plan.review.number, 1])}"' in page


def test_plan_that_is_being_made_polls_and_its_fragment_ends_with_it(as_alice, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")
    address = reverse("reviews:show-plan", args=[plan.review.number, 1])

    page = as_alice.get(address).content.decode()
    fragment = as_alice.get(address, headers=HTMX).content.decode()
    type(plan).objects.filter(pk=plan.pk).update(state="complete", digest=rows.DIGEST)
    finished = as_alice.get(address, headers=HTMX).content.decode()
    waiting = as_alice.get(address, {"waits": "on"}, headers=HTMX).content.decode()

    assert 'hx-trigger="look, every' in page
    assert 'id="pane-waits"' in page
    swap = '<hx-partial hx-target="#pane"'
    assert (swap in finished, swap in waiting) == (False, True)
    assert "<span data-progress-done>1</span> of 9 objects planned" in page
    assert ("<html" in fragment, 'hx-trigger="look, every' in fragment) == (False, True)
    assert 'hx-trigger="look, every' not in finished


def test_failed_plan_tells_the_reason_and_offers_another(as_alice, alice):
    plan = rows.make_plan(alice, [], state="failed", error="the cluster did not answer")

    page = as_alice.get(url(plan)).content.decode()

    assert "the cluster did not answer" in page
    assert f'action="{reverse("reviews:replan", args=[plan.review.number])}"' in page


def test_problems_are_told_with_file_line_and_column(as_alice, alice):
    problem = {"reason": "mapping values are not allowed here", "file": "flags.yaml", "line": 7, "column": 12}
    plan = rows.make_plan(alice, [builders.build_change()], problems=(problem,))

    assert "flags.yaml:7:12: mapping values are not allowed here" in as_alice.get(url(plan)).content.decode()


def test_identical_changes_are_read_once(as_alice, alice):
    one = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
    many = [replace(one, ref=one.ref._replace(name=f"service-{n}")) for n in range(4)]
    plan = rows.make_plan(alice, many)

    page = as_alice.get(url(plan)).content.decode()

    assert "Identical changes" in page
    assert "3 more" in page


def test_review_is_hidden_from_outsiders(as_charlie, plan):
    assert as_charlie.get(url(plan)).status_code == 404


def test_review_sends_visitors_to_the_login(client, plan):
    assert client.get(url(plan)).headers["Location"] == f"/login/?next={url(plan)}"


def test_unknown_review_is_not_found(as_alice):
    assert as_alice.get("/reviews/99/").status_code == 404


def test_review_refuses_other_methods(as_alice, plan):
    assert as_alice.post(url(plan)).status_code == 405


@pytest.mark.parametrize("objects", [3, 300])
def test_review_asks_the_database_a_fixed_number_of_times(as_alice, alice, objects, django_assert_num_queries):
    change = builders.build_change()
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(objects)])
    as_alice.get(url(plan))

    with django_assert_num_queries(39):
        as_alice.get(url(plan))


@pytest.mark.parametrize(("waits", "told"), [(False, "rollouts not watched"), (True, "rollouts watched")])
def test_track_says_whether_rollouts_were_awaited(as_viewer, plan, bob, waits, told):
    run = rows.make_run(plan, bob)
    type(run).objects.filter(pk=run.pk).update(state="succeeded", rules={"waits_for_rollout": waits})

    assert told in as_viewer.get(url(plan)).content.decode()


def test_picture_says_what_its_underline_means(as_viewer, alice, plan):
    danger = Risk(RiskKind.REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    risky = rows.make_plan(alice, [replace(builders.build_change(), risks=(danger,))])

    pages = [as_viewer.get(url(one)).content.decode() for one in (plan, risky)]

    assert ["Red bar: high risk" in page for page in pages] == [False, True]
