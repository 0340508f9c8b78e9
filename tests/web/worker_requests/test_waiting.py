"""Errands: a page is busy until a worker answered, says when nobody does, and what a worker does it does once."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz import clock
from applyviz.records.models import Review, WorkerRequest
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.worker_requests import handlers
from tests import moments

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}


def test_page_is_busy_until_a_worker_answered(slow, root):
    address = reverse("clusters:show-objects", args=["box"])
    busy = root.get(address)
    poll = reverse("worker-requests:show-worker-request", args=[WorkerRequest.objects.get().pk])
    waiting = root.get(poll, **HTMX)
    slow.work()
    finished, page = root.get(poll, **HTMX), root.get(address)

    assert (busy.status_code, waiting.status_code, finished["HX-Refresh"], page.status_code) == (202, 202, "true", 200)
    assert f'hx-get="{poll}"' in busy.content.decode()
    assert "settings" in page.content.decode()
    assert WorkerRequest.objects.count() == 1


def test_part_of_a_page_asks_for_itself(slow, root):
    address = reverse("clusters:show-state", args=["box"])

    busy = root.get(address, **HTMX)
    slow.work()

    assert (busy.status_code, f'hx-get="{address}"' in busy.content.decode()) == (202, True)
    assert "<html" not in busy.content.decode()
    assert root.get(address, **HTMX).status_code == 200


def test_form_leads_to_what_was_made(slow, root, run):
    answer = root.post(reverse("runs:undo-run", args=[run.number]))
    waiting = root.get(answer["Location"])
    slow.work()
    slow.work()
    done = root.get(answer["Location"])

    (made,) = Review.objects.filter(title__startswith="Revert")
    assert (waiting.status_code, done["Location"]) == (202, reverse("reviews:show-review", args=[made.number]))


def test_comparison_waits_and_is_asked_once_for_everybody(slow, root, team):
    address = reverse("reviews:compare-plans", args=[2])
    other = Client()
    other.force_login(team.bob)

    busy = [browser.get(address).status_code for browser in (root, other)]
    poll = other.get(
        reverse(
            "worker-requests:show-worker-request", args=[WorkerRequest.objects.get(kind=WorkerRequestKind.COMPARE).pk]
        ),
        **HTMX,
    )
    slow.work()

    assert (busy, poll.status_code) == ([202, 202], 202)
    assert [browser.get(address).status_code for browser in (root, other)] == [200, 200]
    assert WorkerRequest.objects.filter(kind=WorkerRequestKind.COMPARE).count() == 1


def test_unanswered_page_says_so_and_can_ask_again(slow, root, move_clock):
    address = reverse("clusters:show-objects", args=["box"])
    root.get(address)
    first = WorkerRequest.objects.get()
    move_clock(clock.now() + worker_questions.PATIENCE)

    late = root.get(address)
    slow.work()
    again = root.get(f"{address}?again={first.pk}")

    assert (late.status_code, again.status_code) == (503, 202)
    assert f"?again={first.pk}" in late.content.decode()
    assert [one.state for one in WorkerRequest.objects.order_by("pk")] == [
        WorkerRequestState.EXPIRED,
        WorkerRequestState.WAITING,
    ]


def test_worker_that_comes_too_late_does_nothing(slow, root, run, monkeypatch, move_clock):
    root.post(reverse("runs:undo-run", args=[run.number]))
    act = handlers.prepare

    def slowly(*given):
        done = act(*given)
        move_clock(clock.now() + worker_questions.PATIENCE)
        return done

    monkeypatch.setattr(handlers, "prepare", slowly)
    slow.work()

    assert not Review.objects.filter(title__startswith="Revert").exists()
    sweep_at = timezone.now() + 2 * worker_questions.PATIENCE
    worker_requests.end_late(now=sweep_at)
    assert WorkerRequest.objects.get().state == WorkerRequestState.EXPIRED


def test_worker_requests_of_others_are_not_there(slow, root, team):
    root.get(reverse("clusters:show-objects", args=["box"]))
    other = Client()
    other.force_login(team.bob)

    assert (
        other.get(reverse("worker-requests:show-worker-request", args=[WorkerRequest.objects.get().pk])).status_code
        == 404
    )


def test_rights_are_looked_at_again_by_the_worker(slow, team, run):
    browser = Client()
    browser.force_login(team.alice)
    answer = browser.post(reverse("runs:undo-run", args=[run.number]))
    team.alice.is_active = False
    User.objects.filter(pk=team.alice.pk).update(is_active=False)

    slow.work()

    assert answer.status_code == 302
    assert WorkerRequest.objects.get().state == WorkerRequestState.REFUSED
    assert not Review.objects.filter(title__startswith="Revert").exists()


def test_lost_worker_request_is_found_and_answered_once(slow, root):
    root.get(reverse("clusters:show-state", args=["box"]))
    worker_request = WorkerRequest.objects.get()
    now = timezone.now()

    soon, lost = (worker_requests.find_unfinished(now=now + timedelta(seconds=after)) for after in (0, 4))
    WorkerRequest.objects.update(attempts=1, lease_until=now + timedelta(seconds=30))
    held = worker_requests.find_unfinished(now=now + timedelta(seconds=4))
    dropped = worker_requests.find_unfinished(now=now + timedelta(seconds=31))

    assert (soon, lost, held, dropped) == ([], [worker_request.pk], [], [worker_request.pk])


def test_poison_is_given_up(slow, root):
    root.get(reverse("clusters:show-state", args=["box"]))
    WorkerRequest.objects.update(attempts=3)

    slow.work()

    assert (WorkerRequest.objects.get().state, WorkerRequest.objects.get().reasons) == (
        "refused",
        ["it was interrupted several times"],
    )


def test_answers_go_after_some_minutes(web, root):
    root.get(reverse("clusters:show-state", args=["box"]))
    root.get(reverse("reviews:compare-plans", args=[2]))
    now = timezone.now()

    worker_requests.end_late(now=now + timedelta(minutes=11))
    after_minutes = list(WorkerRequest.objects.values_list("kind", flat=True))
    worker_requests.end_late(now=now + timedelta(days=2))

    assert (after_minutes, WorkerRequest.objects.count()) == ([WorkerRequestKind.COMPARE], 0)


def test_asking_again_and_again_sends_one_request(slow, root, move_clock):
    """Whoever reloads faster than questions are sent again; on a slow machine three pages take longer than that."""
    move_clock(moments.read_moment(), tick=False)
    address = reverse("clusters:show-objects", args=["box"])
    root.get(address)
    slow.work()
    for _ in range(3):
        root.get(f"{address}?again={WorkerRequest.objects.latest('pk').pk}")

    assert WorkerRequest.objects.count() == 1
