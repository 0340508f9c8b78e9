"""Server-sent events: what they tell, when they end, and who gets none."""

import json
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.urls import reverse

from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan
from applyviz.web import streams
from applyviz.web.presenters.arrivals import find_arrivals, find_moves
from applyviz.web.streams import Event, Pace
from tests.web import builders, rows

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that only sleeping moves; `turns` are done one at each sleep."""

    def __init__(self, *turns):
        self.time, self.turns = 0.0, list(turns)

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.turns:
            self.turns.pop(0)()

    @property
    def pace(self) -> Pace:
        return Pace(lambda: self.time, self.sleep, lifetime=10.0, pause=1.0, silence=4.0)


@async_to_sync
async def listen(look, pace, place=""):
    return [text async for text in streams._tell(look, place, pace)]


def test_stream_tells_each_event_with_its_place_and_ends_with_the_last():
    told = [Event("objects", "{}", "1"), None, Event("done", "{}", "2", is_last=True)]
    places = []

    def look(place):
        places.append(place)
        return told[len(places) - 1]

    assert listen(look, Clock().pace, "0") == [
        "retry: 500\n\n",
        "id: 1\nevent: objects\ndata: {}\n\n",
        "id: 2\nevent: done\ndata: {}\n\n",
    ]
    assert places == ["0", "1", "1"]


def test_silent_stream_writes_now_and_then_and_does_not_live_for_good():
    clock = Clock()

    assert listen(lambda place: None, clock.pace) == ["retry: 500\n\n", ": still here\n\n", ": still here\n\n"]
    assert clock.time == 10.0


def test_seats_are_given_back_and_full_ones_end_at_once(monkeypatch):
    monkeypatch.setattr(streams, "SEATS", threading.BoundedSemaphore(1))

    def fail(place):
        raise RuntimeError("the look failed")

    with pytest.raises(RuntimeError, match="the look failed"):
        listen(fail, Clock().pace)
    assert streams.SEATS.acquire(blocking=False)
    assert listen(lambda place: None, Clock().pace) == []


@pytest.fixture
def planning(alice):
    return rows.make_plan(alice, [builders.build_change()], state=PlanState.PLANNING)


def test_arrivals_tell_objects_since_the_last_ones(planning):
    first = find_arrivals(planning.pk, "")

    data = json.loads(first.data)
    assert (first.name, first.place, data["done"], data["expected"]) == ("objects", "1", 1, 9)
    assert '<span class="name">frontend</span>' in data["html"]
    assert find_arrivals(planning.pk, "1") is None
    ObjectChange.objects.filter(plan=planning).delete()
    assert find_arrivals(planning.pk, "1") == Event("moved", "{}", "0")


def test_finished_plan_ends_its_stream(plan):
    assert find_arrivals(plan.pk, "x") == Event("done", "{}", "x", is_last=True)


def test_run_tells_that_it_moved_until_it_ends(run):
    moved = find_moves(run.pk, "")

    assert (moved.name, find_moves(run.pk, moved.place)) == ("moved", None)
    run.results.update(outcome="failed")
    assert find_moves(run.pk, moved.place).name == "moved"
    type(run).objects.filter(pk=run.pk).update(state="failed")
    assert find_moves(run.pk, "").is_last


def test_stream_goes_over_the_wire_unpacked_and_names_its_events(planning, bob):
    async def read():
        browser = AsyncClient()
        await browser.aforce_login(bob)
        url = reverse("reviews:plan-events", args=[planning.review.number, planning.number])
        response: Any = await browser.get(url, headers={"Accept-Encoding": "gzip", "Last-Event-ID": "0"})
        parts = response.streaming_content
        found = [await anext(parts), await anext(parts)]
        await parts.aclose()
        return response, b"".join(found).decode()

    response, text = async_to_sync(read)()

    assert (response["Content-Type"], response["Content-Encoding"]) == ("text/event-stream", "identity")
    assert text.startswith('retry: 500\n\nid: 1\nevent: objects\ndata: {"html"')


def test_server_that_cannot_stream_says_that_there_is_none(as_bob, planning):
    url = reverse("reviews:plan-events", args=[planning.review.number, planning.number])

    assert as_bob.get(url).status_code == 204


def test_outsider_hears_nothing(as_charlie, planning):
    url = reverse("reviews:plan-events", args=[planning.review.number, planning.number])

    assert as_charlie.get(url).status_code == 404
    assert Plan.objects.count() == 1
