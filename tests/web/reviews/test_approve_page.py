"""Consent: to a digest, never one's own, spent once."""

import re

from django.db import connection
from django.test.html import parse_html
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.enums import ClusterKind
from applyviz.records.models import ApplyRun, Approval, Cluster, Comment
from applyviz.web.components import object_links
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.plans import reviews
from tests.builders import make_policy
from tests.web import builders, reading, rows


def url(plan) -> str:
    return reverse("reviews:confirm-plan", args=[plan.review.number, plan.number])


def test_confirm_shows_what_exactly_is_approved(as_bob, plan):
    page = as_bob.get(url(plan)).content.decode()

    wanted = (plan.digest, "frontend", "alice", "Removal will not happen", "Approve and apply 1 change")
    assert [text for text in wanted if text not in page] == []


def test_rollback_tells_pruned_objects_from_replaced_ones(as_bob, alice):
    change = replace(builders.build_change(), conflicts=())
    changes = [
        replace(change, ref=change.ref._replace(name=f"{operation.value}-{n}"), operation=operation)
        for operation, count in ((Operation.PRUNE, 2), (Operation.REPLACE, 1))
        for n in range(count)
    ]

    page = reading.text_of(reading.read(as_bob, url(rows.make_plan(alice, changes))))

    pruned = "It re-creates the 2 pruned objects; their status and anything deleted with them are not restored."
    replaced = "1 object is deleted and re-created; its status and data are lost."
    assert f"The run page can open a review that reverts the run. {pruned} {replaced}" in page


def test_approving_names_the_digest(as_bob, bob, plan):
    answer = as_bob.post(url(plan), {"digest": plan.digest, "note": "looked at it", "then": "wait"})

    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 1])
    assert list(Approval.objects.values_list("by", "digest", "note")) == [(bob.pk, plan.digest, "looked at it")]


def test_approving_another_digest_is_refused_as_stale(as_bob, plan):
    answer = as_bob.post(url(plan), {"digest": "another", "then": "wait"})

    assert answer.status_code == 409
    assert Approval.objects.count() == 0


def test_approving_and_applying_starts_the_run(as_bob, plan):
    answer = as_bob.post(url(plan), {"digest": plan.digest, "then": "apply"})

    assert answer.headers["Location"] == reverse("runs:show-run", args=[ApplyRun.objects.get().number])


def test_run_waits_for_workloads_when_asked_to(as_bob, plan):
    Cluster.objects.update(kind=ClusterKind.LIVE)
    page = as_bob.get(url(plan)).content.decode()
    as_bob.post(url(plan), {"digest": plan.digest, "then": "apply", "waits": "on"})

    assert "Wait until workloads are ready" in page
    assert ApplyRun.objects.get().rules["waits_for_rollout"] is True


def test_sandbox_runs_no_pods_to_wait_for(as_bob, plan):
    assert "Wait until workloads are ready" not in as_bob.get(url(plan)).content.decode()


def test_sandbox_that_simulates_workloads_offers_to_wait(as_bob, plan):
    Cluster.objects.update(simulates_workloads=True)

    assert "Wait until workloads are ready" in as_bob.get(url(plan)).content.decode()


def test_policy_that_waits_leaves_no_choice(as_bob, plan):
    Cluster.objects.update(kind=ClusterKind.LIVE)
    make_policy(waits_for_rollout=True)
    page = as_bob.get(url(plan)).content.decode()

    assert 'name="waits"' not in page


def test_plan_with_a_conflict_cannot_be_approved(as_bob, refused_plan):
    page = as_bob.get(url(refused_plan)).content.decode()
    answer = as_bob.post(url(refused_plan), {"digest": refused_plan.digest, "then": "wait"})

    assert "1 object with unresolved conflicts" in page
    assert 'value="wait" disabled' in page
    assert answer.status_code == 409


def test_author_is_too_weak_to_approve(as_alice, plan):
    assert as_alice.get(url(plan)).status_code == 403
    assert as_alice.post(url(plan), {"digest": plan.digest, "then": "wait"}).status_code == 403
    assert Approval.objects.count() == 0


def test_confirm_is_hidden_from_outsiders(as_charlie, plan):
    assert as_charlie.get(url(plan)).status_code == 404


def test_approved_plan_is_applied_by_its_digest(as_bob, plan):
    as_bob.post(url(plan), {"digest": plan.digest, "then": "wait"})
    page = as_bob.get(reverse("reviews:show-review", args=[plan.review.number])).content.decode()
    address = reverse("reviews:apply-plan", args=[plan.review.number, 1])

    stale = as_bob.post(address, {"digest": "another"})
    empty = as_bob.post(address)
    answer = as_bob.post(address, {"digest": plan.digest})

    assert f'action="{address}"' in page
    assert (stale.status_code, empty.status_code, answer.status_code) == (409, 409, 302)
    assert ApplyRun.objects.count() == 1


def test_approval_is_revoked_by_who_gave_it(as_bob, plan):
    as_bob.post(url(plan), {"digest": plan.digest, "then": "wait"})
    address = reverse("reviews:revoke-approval", args=[plan.review.number, 1])

    answer = as_bob.post(address)
    again = as_bob.post(address)

    assert (answer.status_code, again.status_code) == (302, 409)
    assert Approval.objects.get().revoked_at is not None


HTMX = {"HX-Request": "true"}


def test_sheet_is_the_form_of_the_page_and_leads_on_by_itself(as_bob, plan):
    sheet = as_bob.get(url(plan), headers=HTMX).content.decode()
    answer = as_bob.post(url(plan), {"digest": plan.digest, "then": "wait"}, headers=HTMX)

    assert ("<html" in sheet, f'hx-post="{url(plan)}"' in sheet, 'value="wait" checked' in sheet) == (False, True, True)
    assert answer["HX-Redirect"] == reverse("reviews:show-plan", args=[plan.review.number, 1])
    assert Approval.objects.count() == 1


def test_sheet_of_a_plan_that_was_superseded_keeps_what_was_typed_and_chosen(as_bob, alice, plan):
    reviews.replan_review(plan.review, by=alice, seen=plan)
    given = {"digest": plan.digest, "then": "wait", "note": "Looks right to me", "applies": "on"}

    answer = as_bob.post(url(plan), given, headers=HTMX)
    page = answer.content.decode()
    text = " ".join(re.sub(r"<[^>]+>", "", page).split())

    assert (answer.status_code, Approval.objects.count()) == (409, 0)
    assert "Nothing was recorded: superseded by plan 2" in text
    assert ">Looks right to me</textarea>" in page
    assert f'href="{reverse("reviews:show-plan", args=[plan.review.number, 2])}"' in page
    inputs = reading.find_all(parse_html(page), "input", has="checked")
    kept = [(reading.attribute(one, "name"), reading.attribute(one, "value")) for one in inputs]
    assert kept == [("then", "wait"), ("applies", None)]
    assert [one for one in inputs if reading.attribute(one, "disabled") is not None] == []
    as_bob.post(url(plan), given, headers=HTMX)
    assert Comment.objects.count() == 0


def test_options_of_a_refused_approval_go_with_what_cannot_be_approved_again(as_bob, plan, run):
    given = {"digest": plan.digest, "then": "wait", "note": "Looks right to me", "applies": "on"}

    page = as_bob.post(url(plan), given, headers=HTMX).content.decode()

    assert ('value="wait" checked' in page, 'name="applies"' in page) == (True, False)
    assert "This plan already has a run" in page


def test_tick_applies_at_once(as_bob, plan):
    as_bob.post(url(plan), {"digest": plan.digest, "then": "wait", "applies": "on"})

    assert ApplyRun.objects.count() == 1


def test_comment_is_no_decision(as_bob, plan):
    empty = as_bob.post(url(plan), {"digest": plan.digest, "then": "comment", "note": " "}, headers=HTMX)
    answer = as_bob.post(url(plan), {"digest": plan.digest, "then": "comment", "note": "Is Friday fine?"})

    made = Comment.objects.get()
    assert (empty.status_code, "Write a comment." in empty.content.decode()) == (422, True)
    assert 'value="comment" checked' in empty.content.decode()
    assert answer.headers["Location"].endswith(f"/activity/#comment-{made.pk}")
    assert (made.text, Approval.objects.count()) == ("Is Friday fine?", 0)


def test_sheet_says_who_acknowledged(as_bob, alice):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=(risk,))
    plan = rows.make_plan(alice, [change])
    acknowledgments.acknowledge_risks(plan, REMOVAL_WILL_NOT_HAPPEN, by=alice)

    page = as_bob.get(url(plan)).content.decode().replace("<wbr>", "")

    text = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert "Removal will not happen · acknowledged by alice: Deployment/frontend" in text


def test_page_says_each_thing_once_and_the_decision_first(as_bob, alice):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=(risk,))
    plan = rows.make_plan(alice, [change])

    text = reading.text_of(reading.read(as_bob, url(plan)))

    facts = (plan.digest, "Removal will not happen", "The run page can open a review", "1 to update", "0 of 1 approval")
    assert {fact: text.count(fact) for fact in facts} == dict.fromkeys(facts, 1)
    order = ("Request changes", "Comment (optional", "1 to update", "About this plan", "Requested by")
    assert sorted(order, key=text.index) == list(order)


def test_risk_of_many_objects_leads_to_all_of_them(as_bob, alice):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=(risk,))
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(5)])

    page = reading.read(as_bob, url(plan))

    more = next(one for one in reading.find_all(page, "a") if reading.text_of(one) == "and 2 more")
    risks = reverse("reviews:show-risks", args=[plan.review.number, plan.number])
    assert reading.attribute(more, "href") == f"{risks}#risk-{REMOVAL_WILL_NOT_HAPPEN.slug}"
    assert f'id="risk-{REMOVAL_WILL_NOT_HAPPEN.slug}"' in as_bob.get(risks).content.decode()


def test_other_risk_of_many_objects_leads_to_all_of_them(as_bob, alice):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.MEDIUM, builders.REPLICAS, {"owners": "x"})
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=(risk,))
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(14)])

    links = reading.find_all(reading.read(as_bob, url(plan)), "a")
    more = next(one for one in links if reading.text_of(one) == "and 2 more")

    address, _hash, anchor = (reading.attribute(more, "href") or "").partition("#")
    assert address == reverse("reviews:show-risks", args=[plan.review.number, plan.number])
    assert f'id="{anchor}"' in as_bob.get(address).content.decode()


def test_risk_of_the_whole_plan_names_no_object(as_bob, alice):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(51)])

    answer = as_bob.get(url(plan))

    assert (answer.status_code, "Large change" in answer.content.decode()) == (200, True)


def test_plan_that_ran_names_its_run_and_who_approved(as_bob, plan, run):
    make_policy(approvals=3)

    page = reading.text_of(reading.read(as_bob, url(plan)))

    assert "This plan already has a run" in page
    assert f"Run {run.number}: applying" in page
    assert re.search(rf"Approvals 1 approval, used by run {run.number} bob", page)
    assert [text for text in ("0 of 1 approval", "0 of 3", "eligible", "right now") if text in page] == []
    assert reverse("runs:show-run", args=[run.number]) in as_bob.get(url(plan)).content.decode()


def test_page_of_many_objects_reads_their_rows_and_resolves_their_address_once(as_bob, alice, monkeypatch):
    """A page of five thousand objects read its rows three times, and resolved an address for each link."""
    change = replace(builders.build_change(), conflicts=(), operation=Operation.PRUNE)
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"web-{n}")) for n in range(30)])
    resolved = []
    monkeypatch.setattr(object_links, "reverse", lambda *a, **k: resolved.append(a) or reverse(*a, **k))
    object_links._reverse_changes.cache_clear()

    with CaptureQueriesContext(connection) as asked:
        page = as_bob.get(url(plan)).content.decode()

    assert page.count("#object-") >= 30
    assert len(resolved) == 1
    assert sum('FROM "records_objectchange"' in query["sql"] for query in asked) == 1
