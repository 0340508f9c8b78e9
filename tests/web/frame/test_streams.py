"""Streams: what they tell, when they end, who gets none; JSON that waits; files that are drawn line by line."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient, AsyncRequestFactory, RequestFactory
from django.urls import reverse

from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.frame import streams
from applyviz.web.frame.shares import Seats
from applyviz.web.frame.streams import StreamClock, StreamEvent
from applyviz.web.reviews.pages.plan_events import find_arrivals
from applyviz.web.runs.pages.run_events import find_moves
from applyviz.workflow.foundation.errors import NotVisibleError
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
    def pace(self) -> StreamClock:
        return StreamClock(lambda: self.time, self.sleep, lifetime=10.0, pause=1.0, silence=4.0)


@async_to_sync
async def listen(look, pace, place=""):
    return [text async for text in streams._stream_events(look, place, pace)]


def test_stream_tells_each_event_with_its_place_and_ends_with_the_last():
    told = [StreamEvent("objects", "{}", "1"), None, StreamEvent("done", "{}", "2", is_last=True)]
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
    monkeypatch.setattr(streams, "STREAM_SEATS", Seats(1, each=1))

    def fail(place):
        raise RuntimeError("the look failed")

    with pytest.raises(RuntimeError, match="the look failed"):
        listen(fail, Clock().pace)
    assert streams.STREAM_SEATS.take("")
    assert listen(lambda place: None, Clock().pace) == []


@pytest.fixture
def planning(alice):
    return rows.make_plan(alice, [builders.build_change()], state=PlanState.PLANNING)


def test_arrivals_tell_objects_since_the_last_ones(planning):
    first = find_arrivals(planning.pk, "")

    assert (first.name, first.cursor) == ("objects", "1")
    assert json.loads(first.data) == {"done": 1, "expected": 9}
    assert find_arrivals(planning.pk, "1") is None
    assert find_arrivals(planning.pk, "9" * 5_000) == first, "the page sends its cursor"
    ObjectChange.objects.filter(plan=planning).delete()
    assert find_arrivals(planning.pk, "1") == StreamEvent("moved", "{}", "0")


def test_finished_plan_ends_its_stream(plan):
    assert find_arrivals(plan.pk, "x") == StreamEvent("done", "{}", "x", is_last=True)


def test_run_tells_that_it_moved_until_it_ends(run):
    moved = find_moves(run.pk, "")

    assert (moved.name, find_moves(run.pk, moved.cursor)) == ("moved", None)
    run.results.update(outcome="failed")
    assert find_moves(run.pk, moved.cursor).name == "moved"
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
    assert text.startswith('retry: 500\n\nid: 1\nevent: objects\ndata: {"done": 1, "expected": 9}')


def test_server_that_cannot_stream_says_that_there_is_none(as_bob, planning):
    url = reverse("reviews:plan-events", args=[planning.review.number, planning.number])

    assert as_bob.get(url).status_code == 204


def test_outsider_hears_nothing(as_charlie, planning):
    url = reverse("reviews:plan-events", args=[planning.review.number, planning.number])

    assert as_charlie.get(url).status_code == 404
    assert Plan.objects.count() == 1


def test_connection_is_let_go_between_looks_and_a_transaction_is_not(monkeypatch):
    class Connection:
        def __init__(self, is_held):
            self.in_atomic_block, self.is_open = is_held, True

        def close(self):
            self.is_open = False

    free, held = Connection(False), Connection(True)
    monkeypatch.setattr(streams, "connections", type("All", (), {"all": staticmethod(lambda **_: [free, held])}))
    open_while_asleep = []
    clock = Clock(lambda: open_while_asleep.append((free.is_open, held.is_open)))

    listen(lambda place: setattr(free, "is_open", True), clock.pace)

    assert open_while_asleep == [(False, True)]


def ask_when(*documents, seconds=10.0, is_async=True, **given):
    """What is answered, by a look that finds one document after the other, and how long that took."""
    clock, left = Clock(), list(documents)

    def look():
        return left.pop(0) if len(left) > 1 else left[0]

    async def ask():
        request = AsyncRequestFactory().get("/") if is_async else RequestFactory().get("/")
        response: Any = await sync_to_async(streams.answer_when)(
            request,
            look,
            is_enough=lambda document: document["mark"] != "old",
            finish=lambda document: {**document, "finished": True},
            seconds=seconds,
            pace=clock.pace,
            **given,
        )
        if not response.streaming:
            return response.content
        return b"".join([part async for part in response.streaming_content])

    return async_to_sync(ask)(), clock.time


@pytest.mark.parametrize(
    ("documents", "told", "time"),
    [
        (["new"], "new", 0.0),
        (["old", "old", "old", "new"], "new", 2.0),
        (["old"], "old", 10.0),
    ],
)
def test_json_is_answered_when_there_is_news_or_the_time_is_over(documents, told, time):
    text, took = ask_when(*({"mark": mark} for mark in documents))

    assert (json.loads(text), took) == ({"mark": told, "finished": True}, time)


@pytest.mark.parametrize("given", [{"seconds": 0.0}, {"is_async": False}])
def test_json_is_answered_at_once_where_nobody_waits_or_can(given):
    assert ask_when({"mark": "old"}, **given)[1] == 0.0


def test_json_is_answered_at_once_when_too_many_wait(monkeypatch):
    monkeypatch.setattr(streams, "STREAM_SEATS", Seats(1, each=1))
    assert streams.STREAM_SEATS.take("another")

    assert ask_when({"mark": "old"})[1] == 0.0


def test_waiting_is_bounded_whatever_is_asked_for(monkeypatch):
    chosen = []

    async def wait(look, is_enough, finish, pace, reader):
        chosen.append(pace.lifetime)
        yield b"{}"

    monkeypatch.setattr(streams, "_wait", wait)

    async def ask():
        request = AsyncRequestFactory().get("/")
        given = {"is_enough": lambda document: False, "finish": dict, "seconds": 9_999.0}
        response: Any = await sync_to_async(streams.answer_when)(request, dict, **given)
        return [part async for part in response.streaming_content]

    async_to_sync(ask)()

    assert chosen == [streams.LIFETIME]


def test_what_may_no_longer_be_seen_is_told_as_json():
    def refuse(document):
        raise NotVisibleError("there is no such plan")

    async def ask():
        parts = streams._wait(dict, lambda document: True, refuse, Clock().pace)
        return b"".join([part async for part in parts])

    assert json.loads(async_to_sync(ask)()) == {"error": {"code": "forbidden", "message": "there is no such plan"}}


def draw(lines, **given):
    """The pieces of a file as a server that can stream takes them."""

    async def read():
        response = streams.send_file(
            AsyncRequestFactory().get("/"), lines, name="a.csv", content_type="text/csv", check=lambda: None
        )
        return [part async for part in response.streaming_content]

    return async_to_sync(read)()


def test_file_is_drawn_as_it_is_taken(monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 4)
    made = []

    def lines():
        for number in range(5):
            made.append(number)
            yield f"{number}\n"

    async def read_one():
        response: Any = streams.send_file(
            AsyncRequestFactory().get("/"), lines(), name="a.csv", content_type="text/csv", check=lambda: None
        )
        parts = response.streaming_content
        first = await anext(parts)
        await parts.aclose()
        return first

    assert (async_to_sync(read_one)(), made) == (b"0\n1\n", [0, 1])
    assert draw(lines()) == [b"0\n1\n", b"2\n3\n", b"4\n"]
    plain: Any = streams.send_file(
        RequestFactory().get("/"), lines(), name="a.csv", content_type="text/csv", check=lambda: None
    )
    assert list(plain.streaming_content) == [b"0\n1\n", b"2\n3\n", b"4\n"]
