"""Apply runs: progress, endings, requests and answers, cancel."""

import pytest
from django.db.models import F
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import ApplyRun, Approval, JournalEntry, ObjectResult
from applyviz.workflow.audit import trail
from tests.builders import make_approval, make_person
from tests.web import builders, reading, rows
from tests.web.runs import scenes

HTMX = {"HX-Request": "true"}


def url(run) -> str:
    return reverse("runs:show-run", args=[run.number])


def test_run_shows_how_far_it_is_and_polls(as_viewer, run):
    page = as_viewer.get(url(run)).content.decode()
    fragment = as_viewer.get(url(run), headers=HTMX).content.decode()

    assert "1 of 1 object applied" in page
    assert ('hx-trigger="look, every' in page, 'hx-trigger="look, every' in fragment, "<html" in fragment) == (
        True,
        True,
        False,
    )


@pytest.mark.core(1)
@pytest.mark.parametrize("objects", [1, 40])
def test_run_asks_the_database_a_fixed_number_of_times(as_viewer, alice, bob, objects, django_assert_num_queries):
    change = builders.build_change()
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(objects)])
    run = rows.make_run(plan, bob)
    as_viewer.get(url(run))

    with django_assert_num_queries(13):
        as_viewer.get(url(run))


def test_finished_run_stops_polling_and_says_how_it_ended(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="applied")

    page = as_viewer.get(url(run)).content.decode()
    fragment = as_viewer.get(url(run), headers=HTMX).content.decode()

    assert "Applied." in page
    assert ('hx-trigger="look, every' in page, 'hx-trigger="look, every' in fragment) == (False, False)


@pytest.mark.parametrize(
    ("state", "text"), [("stale", "The cluster changed after the plan was created"), ("failed", "stopped on an error")]
)
def test_run_that_went_wrong_says_why(as_viewer, plan, bob, state, text):
    run = rows.make_run(plan, bob, state=state, outcome="failed")

    page = as_viewer.get(url(run)).content.decode()

    assert text in page
    assert 'class="failure' in page


def test_result_shows_requests_and_answers(as_viewer, run):
    address = reverse("runs:show-result", args=[run.number, 0])

    page = as_viewer.get(address).content.decode()
    fragment = as_viewer.get(address, headers=HTMX).content.decode()

    assert [text for text in ("PATCH", "fieldManager=ci", "200", "9 ms") if text not in fragment] == []
    assert ("<html" in page, "<html" in fragment) == (True, False)


def test_unknown_run_or_object_is_not_found(as_viewer, run):
    assert as_viewer.get("/runs/99/").status_code == 404
    assert as_viewer.get(reverse("runs:show-result", args=[run.number, 99])).status_code == 404


def test_run_is_hidden_from_outsiders(as_charlie, run):
    assert as_charlie.get(url(run)).status_code == 404


def test_canceling_asks_the_run_to_stop(as_bob, run):
    address = reverse("runs:cancel-run", args=[run.number])

    assert f'action="{address}"' in as_bob.get(url(run)).content.decode()
    assert as_bob.post(address).status_code == 302
    assert ApplyRun.objects.get().cancel_requested_at is not None
    assert "Stopping: objects in progress" in as_bob.get(url(run)).content.decode()
    assert as_bob.post(address).status_code == 409


def test_author_may_not_cancel(as_alice, run):
    address = reverse("runs:cancel-run", args=[run.number])

    assert address not in as_alice.get(url(run)).content.decode()
    assert as_alice.post(address).status_code == 403


def test_canceling_takes_no_get(as_bob, run):
    assert as_bob.get(reverse("runs:cancel-run", args=[run.number])).status_code == 405


def test_steps_are_numbered_without_gaps_and_never_empty(as_viewer, alice, bob):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    names = ("first", "second", "third", "fourth")
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=name)) for name in names])
    run = rows.make_run(plan, bob, state="failed")
    ObjectResult.objects.update(step=F("position") * 2)
    ObjectResult.objects.filter(position=1).update(outcome="failed")

    page = reading.read(as_viewer, url(run))
    (waves,) = reading.find_all(page, "ol", has="waves") or reading.find_all(page, "ol")[-1:]
    listed = [reading.text_of(item).split(" Deployment")[0] for item in reading.find_all(waves, "li")]

    assert listed == ["1", "2", "3", "4"]


def test_person_who_approved_and_started_is_named_once(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="applied")
    alone = reading.text_of(reading.read(as_viewer, url(run)))
    second = make_approval(plan, make_person("erin", Role.APPROVER))
    Approval.objects.filter(pk=second.pk).update(spent_at=rows.NOW, run=run)

    both = reading.text_of(reading.read(as_viewer, url(run)))

    assert ("approved and started by bob" in alone, "· started by" in alone) == (True, False)
    assert ("approved by bob, erin" in both, "· started by bob" in both) == (True, True)


def test_finished_run_can_be_asked_what_would_undo_it(as_alice, as_bob, plan, bob):
    run = rows.make_run(plan, bob, state="applied")
    address = reverse("runs:undo-run", args=[run.number])

    assert f'action="{address}"' in as_alice.get(url(run)).content.decode()
    assert address not in as_bob.get(url(run)).content.decode()
    assert (as_bob.post(address).status_code, as_alice.get(address).status_code) == (403, 405)
    review = as_alice.post(address)["Location"]
    assert review.startswith("/reviews/")
    assert "Reverts run" in as_alice.get(review, follow=True).content.decode()


def test_lost_worker_and_who_took_over_are_told(as_viewer, run, bob):
    ApplyRun.objects.filter(pk=run.pk).update(epoch=2, lease_until=rows.NOW)
    for epoch, worker in ((1, "one:11"), (2, "two:22")):
        subject = trail.AuditSubject(run=run.number)
        trail.record(AuditAction.RUN_CLAIMED, by=None, about=subject, detail={"worker": worker, "epoch": epoch})

    page = as_viewer.get(url(run)).content.decode()

    said = " ".join(page.split())
    assert "the last one stopped, or does not respond. The next worker takes over, and first checks" in said
    assert ("two:22 continued the run" in page, "one:11" in page) == (True, False)


def test_rules_rollout_and_retries_are_shown(as_viewer, run):
    ApplyRun.objects.update(rules={"carries_on": True, "at_once": 8, "waits_for_rollout": True, "rollout_seconds": 90})
    ObjectResult.objects.update(rollout="rolling-out", rollout_detail="2 of 3 pods are ready")
    entry = JournalEntry.objects.get()
    entry.pk, entry.sequence = None, 2
    entry.save(force_insert=True)

    page = as_viewer.get(url(run)).content.decode()
    pane = as_viewer.get(reverse("runs:show-result", args=[run.number, 0]), headers=HTMX).content.decode()

    rules = ("up to 8 objects at once", "continues after a failure", "up to 90 s per rollout")
    assert [text for text in (*rules, "2 requests", "1 retry", "Rolling out") if text not in page] == []
    assert [text for text in ("1 retry", "Rolling out", "2 of 3 pods are ready") if text not in pane] == []


def test_second_attempt_of_an_addon_is_shown(as_viewer, run):
    ObjectResult.objects.update(addon_attempt=2)
    entry = JournalEntry.objects.get()
    entry.pk, entry.sequence = None, 2
    entry.save(force_insert=True)

    page = as_viewer.get(url(run)).content.decode()
    pane = as_viewer.get(reverse("runs:show-result", args=[run.number, 0]), headers=HTMX).content.decode()

    assert ("1 retry · addon tried twice" in page, "1 retry · addon tried twice" in pane) == (True, True)


def test_stale_object_tells_what_was_reviewed_and_what_is_live(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="stale", outcome="stale")
    ObjectResult.objects.update(differences=[{"path": ".spec.replicas", "reviewed": "3", "live": ""}])

    page = as_viewer.get(url(run)).content.decode()

    assert "3 when reviewed, nothing now" in page


def test_stale_object_is_counted_as_stale_and_not_as_failed(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="stale", outcome="stale")
    ObjectResult.objects.update(detail="it was deleted since it was reviewed", differences=[])

    page = reading.read(as_viewer, url(run))
    text = reading.text_of(page)

    assert "frontend would no longer change as approved" in text
    assert "it was deleted since it was reviewed" in text
    (counts,) = [one for one in reading.find_all(page, "ul") if "failed" in reading.text_of(one)]
    assert ("0 failed" in reading.text_of(counts), "1 stale" in reading.text_of(counts)) == (True, True)
    assert "1 failed" not in text


def test_skipped_object_says_why(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="failed", outcome="left-out")
    ObjectResult.objects.update(detail="it needs ConfigMap shop/settings, which was refused")

    assert "it needs ConfigMap shop/settings, which was refused" in as_viewer.get(url(run)).content.decode()


def test_error_of_a_server_is_folded_behind_a_sentence(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="failed", outcome="refused")
    raw = 'secrets "one" is forbidden: exceeded quota: full, requested: count/secrets=1, limited: count/secrets=0'
    ObjectResult.objects.update(detail=raw)

    for address in (url(run), f"{url(run)}objects/0/"):
        page = as_viewer.get(address).content.decode()
        sentence, folded = page.find("The resource quota of the namespace is used up."), page.find("exceeded quota")

        assert page.rfind("<summary>Server message</summary>", 0, folded) > sentence >= 0
        assert page.count("exceeded quota") == 1


@pytest.mark.parametrize("more", ["", " (and 2 more)"])
def test_error_of_an_object_is_not_printed_a_second_time_as_that_of_the_run(as_viewer, plan, bob, more):
    run = rows.make_run(plan, bob, state="failed", outcome="failed")
    ObjectResult.objects.update(detail="it timed out.")
    ApplyRun.objects.update(error=f"Deployment shop/frontend: it timed out.{more}")

    page = reading.text_of(reading.read(as_viewer, url(run)))

    assert "Deployment shop/frontend: it timed out." not in page
    assert "it timed out." in page


def test_objects_that_were_not_reached_are_not_done(as_viewer, plan, bob):
    rows.make_run(plan, bob, state="canceled", outcome="not-attempted")

    assert "0 of 1 object applied" in as_viewer.get("/runs/1/").content.decode()


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("not-attempted", "The run was canceled before it changed anything."),
        ("unknown", "The run was canceled. Objects applied before stay applied."),
        ("applied", "The run was canceled. Objects applied before stay applied."),
    ],
)
def test_canceled_run_says_what_stays_and_no_step_is_in_progress(as_viewer, plan, bob, outcome, text):
    run = rows.make_run(plan, bob, state="canceled", outcome=outcome)

    page = reading.read(as_viewer, url(run))

    assert text in reading.text_of(page)
    (track,) = [one for one in reading.find_all(page, "ol") if reading.attribute(one, "class") == "track"]
    states = [reading.attribute(step, "class") for step in reading.find_all(track, "li")]
    assert states == ["is-done", "is-done", "is-bad", "is-next"]


def test_more_failures_than_are_listed_are_counted_and_lead_to_all(as_viewer, alice, bob):
    change = builders.build_change()
    many = [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(60)]
    run = rows.make_run(rows.make_plan(alice, many), bob, state="failed", outcome="failed")

    page = as_viewer.get(url(run)).content.decode()

    assert "57 more failures" in page
    assert f'<a href="{url(run)}?rows=all#objects">All objects</a>' in page


@pytest.mark.parametrize(("state", "outcome"), [("applying", "waiting"), ("canceled", "not-attempted")])
def test_objects_that_the_plan_leaves_unchanged_are_never_counted_as_open(as_viewer, alice, bob, state, outcome):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    calm = replace(change, ref=change.ref._replace(name="calm"), operation=Operation.UNCHANGED)
    run = rows.make_run(rows.make_plan(alice, [change, calm]), bob, state=state, outcome=outcome)

    page = reading.text_of(reading.read(as_viewer, url(run)))

    assert "0 of 1 object applied · 1 object unchanged" in page
    assert "1 not attempted" in page


def test_all_objects_are_shown_with_what_was_sent_and_one_is_a_click_away(as_viewer, run):
    page = as_viewer.get(url(run)).content.decode()
    table = page.partition('run-table"')[2].partition("</table>")[0]

    assert [text for text in ("frontend", "Verified", "PATCH 200", "9 ms") if text not in table] == []
    assert reverse("runs:show-result", args=[run.number, 0]) in table


def test_open_pane_is_left_alone_until_it_moves(as_viewer, run):
    address = reverse("runs:show-result", args=[run.number, 0])
    pane = as_viewer.get(address, headers=HTMX).content.decode()
    seen = pane.partition('name="seen" value="')[2].partition('"')[0]
    asked = {"shows": "0", "seen": seen}

    before = as_viewer.get(url(run), asked, headers=HTMX).content.decode()
    JournalEntry.objects.update(status=409)
    after = as_viewer.get(url(run), asked, headers=HTMX).content.decode()

    assert ('<hx-partial hx-target="#pane"' in before, '<hx-partial hx-target="#pane"' in after) == (False, True)
    assert "409" in after


def test_run_that_carried_on_does_not_say_that_it_stopped(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="failed", outcome="failed")
    ApplyRun.objects.update(rules={"carries_on": True})

    page = as_viewer.get(url(run)).content.decode()

    assert ("The run continued with objects" in page, "stopped on an error" in page) == (True, False)


def test_rollout_that_failed_is_told_apart_from_what_was_written(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="failed")
    ObjectResult.objects.update(rollout="timed-out", rollout_detail="0 of 2 pods are ready")

    page = as_viewer.get(url(run)).content.decode()

    assert "All objects are written, but not all workloads became ready." in page
    assert "did not become ready" in page
    assert "0 of 2 pods are ready" in page


def test_run_that_went_wrong_leads_back_to_its_review(as_alice, as_viewer, plan, bob):
    rows.make_run(plan, bob, state="stale", outcome="stale")

    mine, theirs = (browser.get("/runs/1/").content.decode() for browser in (as_alice, as_viewer))

    assert ("Re-plan in the review" in mine, "An author can re-plan in the review" in theirs) == (True, True)


def test_who_canceled_is_named(as_viewer, run, bob):
    ApplyRun.objects.update(canceled_by=bob)

    assert "canceled by" in as_viewer.get(url(run)).content.decode()


OWNED = {"state": "verified", "fields": {"applyviz (Apply)": 12, "kubectl-edit (Update)": 1}}


def test_owners_that_were_verified_are_said(as_viewer, plan, bob):
    run = rows.make_run(plan, bob, state="applied")
    run.results.update(outcome="applied", owners=OWNED)

    page = reading.text_of(reading.read(as_viewer, url(run)))
    pane = reading.text_of(reading.read(as_viewer, reverse("runs:show-result", args=[run.number, 0])))

    assert f"field owners of {run.results.count()} object" in page
    assert "Field owners verified: applyviz (Apply) owns 12 fields, kubectl-edit (Update) owns 1 field." in pane


def test_objects_without_field_owners_do_not_count_as_unverified(as_viewer, alice, bob):
    run = rows.make_run(rows.make_plan(alice, scenes.list_changes(scenes.STEPS[:3])), bob, state="applied")
    run.results.update(outcome="applied", owners=OWNED)
    first = run.results.order_by("position")[0]
    ObjectResult.objects.filter(pk=first.pk).update(owners={"state": "not-stated"})

    page = reading.text_of(reading.read(as_viewer, url(run)))

    rest = run.results.count() - 1
    assert f"field owners of {rest} object{'s' if rest > 1 else ''} verified (1 without field owners)" in page


def test_who_cannot_revert_a_run_reads_who_can(as_viewer, as_alice, alice, bob):
    run = rows.make_run(rows.make_plan(alice, scenes.list_changes(scenes.STEPS[:3])), bob, state="applied")
    run.results.update(outcome="unchanged")
    untouched = as_viewer.get(url(run)).content.decode()
    run.results.update(outcome="applied")
    seen, offered = (browser.get(url(run)).content.decode() for browser in (as_viewer, as_alice))

    assert [("Authors can revert it" in page, "Revert…" in page) for page in (untouched, seen, offered)] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_owners_that_differ_are_never_called_verified(as_viewer, alice, bob):
    run = rows.make_run(rows.make_plan(alice, scenes.list_changes(scenes.STEPS[:3])), bob, state="applied")
    run.results.update(outcome="applied", owners=OWNED)
    first = run.results.order_by("position")[0]
    ObjectResult.objects.filter(pk=first.pk).update(outcome="applied-live-differs", owners={"state": "differ"})

    page = reading.text_of(reading.read(as_viewer, url(run)))
    pane = reading.text_of(reading.read(as_viewer, reverse("runs:show-result", args=[run.number, first.position])))

    assert f"field owners of {run.results.count() - 1} of {run.results.count()} objects verified" in page
    assert "owners verified" not in pane
