"""A watch over HTTP: events as they happen, whoever writes; bookmarks, time, slots; through a worker without keys."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient
from django.test.client import AsyncRequestFactory

from applyviz.clusters.sandbox import hash_token, open_sandbox
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.models import Cluster, WorkerRequest
from applyviz.web.clusters import sandbox_watch
from applyviz.web.clusters.sandbox_watch import WatchClock, WatchQuestion, WatchSlots
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.worker_requests import sealed_answers as carrying
from tests.keyless import go_without_keys

pytestmark = pytest.mark.django_db
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(name="sandboxes", autouse=True)
def _sandboxes_are_rows():
    """Watches ask the database for news, and open nothing."""


@pytest.fixture
def cluster():
    made = registration.create_sandbox(slug="box", name="Box")
    open_sandbox(made).handle(Request("GET", MAPS))
    return made


@pytest.fixture
def token(cluster):
    return cluster.credential.open_bytes().decode()


def write(cluster, name):
    """What another process does: a sandbox of its own over the same rows."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    assert open_sandbox(Cluster.objects.get(pk=cluster.pk)).handle(Request("POST", MAPS, {}, JSON, body)).status == 201


def delete(cluster, name):
    assert open_sandbox(cluster).handle(Request("DELETE", f"{MAPS}/{name}")).is_ok


class Clock:
    """A clock that only sleeping moves; `turns` are done one at each sleep."""

    def __init__(self, *turns):
        self.time, self.turns = 0.0, list(turns)

    async def sleep(self, seconds):
        self.time += seconds
        if self.turns:
            turn = self.turns.pop(0)
            await sync_to_async(turn)()

    @property
    def clock(self):
        return WatchClock(lambda: self.time, self.sleep, pause=1.0, bookmark_every=60.0)


def watch(cluster, token, query="watch=true", *, clock, slots=None):
    slots = slots or WatchSlots()
    request = AsyncRequestFactory().get(f"/sandboxes/box{MAPS}?{query}")
    question = WatchQuestion("box", MAPS, query, {"Authorization": f"Bearer {token}"})

    @async_to_sync
    async def read():
        response: Any = await sync_to_async(sandbox_watch.watch)(request, question, slots=slots, clock=clock.clock)
        if not response.streaming:
            return response, [response.content]
        return response, [piece async for piece in response]

    response, pieces = read()
    assert slots.taken == 0
    return response, [json.loads(line) for piece in pieces for line in piece.splitlines()]


def brief(events):
    return [(e["type"], e["object"]["metadata"].get("name", "")) for e in events]


def nothing():
    """Time passes."""


def test_watch_stays_open_and_tells_what_others_write(cluster, token):
    clock = Clock(
        nothing, lambda: write(cluster, "a"), nothing, lambda: write(cluster, "b"), lambda: delete(cluster, "a")
    )

    response, events = watch(cluster, token, "watch=true&timeoutSeconds=100", clock=clock)

    assert brief(events) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert clock.time == 100
    assert (response["Content-Type"], response["Content-Encoding"]) == ("application/json", "identity")


def test_watch_lives_for_five_minutes_at_most_and_tells_how_far_it_is(cluster, token):
    clock = Clock(lambda: write(cluster, "a"))

    _, events = watch(cluster, token, "watch=true&allowWatchBookmarks=true&timeoutSeconds=9999", clock=clock)

    assert clock.time == 300
    assert [e["type"] for e in events] == ["BOOKMARK", "ADDED", *["BOOKMARK"] * 5]
    assert {e["object"]["metadata"]["resourceVersion"] for e in events[2:]} == {
        events[1]["object"]["metadata"]["resourceVersion"]
    }


def test_looks_that_find_nothing_open_nothing(cluster, token, django_assert_max_num_queries, monkeypatch):
    monkeypatch.setattr(sandbox_watch, "do_and_let_go", lambda do: do())
    with django_assert_max_num_queries(2 * 20 + 20):
        watch(cluster, token, "watch=true&timeoutSeconds=20&resourceVersion=1", clock=Clock())


def test_full_server_says_so_and_when_to_come_again(cluster, token):
    slots = WatchSlots(most=3, most_of_one=1)
    held = slots.take("box")
    assert slots.take("other") is not None
    request = AsyncRequestFactory().get(f"/sandboxes/box{MAPS}?watch=true")
    question = WatchQuestion("box", MAPS, "watch=true", {"Authorization": f"Bearer {token}"})

    answer: Any = sandbox_watch.watch(request, question, slots=slots)

    assert (answer.status_code, answer["Retry-After"]) == (429, "5")
    assert json.loads(answer.content)["reason"] == "TooManyRequests"
    held.release()
    held.release()
    assert slots.taken == 0


def test_response_that_is_never_read_keeps_no_slot(cluster, token):
    slots = WatchSlots()
    request = AsyncRequestFactory().get(f"/sandboxes/box{MAPS}?watch=true")
    question = WatchQuestion("box", MAPS, "watch=true", {"Authorization": f"Bearer {token}"})

    response = sandbox_watch.watch(request, question, slots=slots)

    assert slots.taken == 1
    del response
    assert slots.taken == 0


def test_stranger_is_refused_and_takes_no_slot(cluster):
    response, events = watch(cluster, "wrong", clock=Clock())

    assert (response.status_code, events[0]["reason"]) == (401, "Unauthorized")


def test_watch_ends_when_the_token_changes_or_the_sandbox_goes(cluster, token):
    def change():
        Cluster.objects.filter(pk=cluster.pk).update(token_hash=hash_token(cluster.slug, "another"))

    clock = Clock(nothing, change, lambda: write(cluster, "a"))
    _, events = watch(cluster, token, clock=clock)
    assert (events, clock.time) == ([], 2.0)

    remade = Clock(lambda: Cluster.objects.filter(pk=cluster.pk).delete())
    _, events = watch(cluster, "another", clock=remade)
    assert (events, remade.time) == ([], 1.0)


def test_watch_goes_on_through_a_worker_where_web_opens_nothing(cluster, token, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)

    def write_elsewhere(name):
        with web.as_worker():
            write(cluster, name)

    clock = Clock(lambda: write_elsewhere("a"), nothing, nothing, lambda: write_elsewhere("b"))
    _, events = watch(cluster, token, "watch=true&timeoutSeconds=30", clock=clock)

    assert brief(events) == [("ADDED", "a"), ("ADDED", "b")]
    assert web.served == ["sandbox"] * 4  # the beginning, two parts, and the end
    assert not WorkerRequest.objects.exists()


def test_watch_outlives_a_worker_that_is_away_for_a_moment(cluster, token, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)
    monkeypatch.setattr(carrying, "wait", lambda worker_request, seconds: worker_questions.wait(worker_request, 0.2))

    def write_and_leave():
        with web.as_worker():
            write(cluster, "a")
        web.works = False

    def come_back():
        web.works = True

    _, events = watch(cluster, token, "watch=true&timeoutSeconds=9", clock=Clock(write_and_leave, nothing, come_back))

    assert brief(events) == [("ADDED", "a")]


def test_watch_goes_over_the_wire(cluster, token):
    @async_to_sync
    async def read():
        response: Any = await AsyncClient().get(
            f"/sandboxes/box{MAPS}?watch=true&timeoutSeconds=1",
            headers={"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"},
        )
        return response, b"".join([piece async for piece in response])

    response, text = read()

    assert (response.status_code, response.streaming, text) == (200, True, b"")
    assert sandbox_watch.SLOTS.taken == 0


def test_object_of_a_name_is_given_at_once(cluster, token, client):
    write(cluster, "a")

    answer = client.get(f"/sandboxes/box{MAPS}/a?watch=true", headers={"Authorization": f"Bearer {token}"})

    assert answer.json()["metadata"]["name"] == "a"


def test_server_that_cannot_stream_tells_what_is_there(cluster, token, client):
    write(cluster, "a")

    answer = client.get(f"/sandboxes/box{MAPS}?watch=true", headers={"Authorization": f"Bearer {token}"})

    assert brief([json.loads(answer.content)]) == [("ADDED", "a")]
