"""One person, with any number of sessions, tokens and tabs, leaves room for everybody else."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse

from applyviz.web.frame import middleware, shares

pytestmark = pytest.mark.attacks
TURNS = 4


class Site:
    """Answers when it is let go; knows whose cookie and token is whose."""

    def __init__(self):
        self.inside, self.let_go, self.lock = [], threading.Event(), threading.Lock()

    def __call__(self, request):
        with self.lock:
            self.inside.append(request.META["REMOTE_ADDR"])
        self.let_go.wait(10)
        token, session = request.headers.get("Authorization"), request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        request.user = AnonymousUser() if not session else type("Person", (), {"pk": session[0]})()
        if token:
            request.META[shares.PERSON] = token.split()[1][0]
        return HttpResponse("done")


def wait_for(is_so):
    deadline = time.monotonic() + 5
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


@pytest.fixture
def site(settings, monkeypatch):
    settings.APPLYVIZ_CONCURRENT_REQUESTS = TURNS
    monkeypatch.setattr(middleware, "TURN_SECONDS", 10)
    return Site()


def ask(rf, who, address="203.0.113.1"):
    request = rf.get("/", REMOTE_ADDR=address)
    if who.startswith("token "):
        request = rf.get("/", REMOTE_ADDR=address, HTTP_AUTHORIZATION=f"Bearer {who.removeprefix('token ')}")
    elif who:
        request.COOKIES[settings.SESSION_COOKIE_NAME] = who
    return request


@pytest.mark.parametrize(
    "flood",
    [["a1"] * 12, ["a1", "a2", "token a3", "token a4"] * 3, [""] * 12, [f"x{n}" for n in range(12)]],
    ids=["one session", "sessions and tokens of one person", "strangers of one address", "invented sessions"],
)
def test_flood_of_one_person_leaves_turns_for_others(rf, site, flood):
    bounded = middleware.ConcurrencyMiddleware(site)
    site.let_go.set()
    for who in ("a1", "a2", "token a3", "token a4", "bob"):
        bounded(ask(rf, who))  # each has been here before
    site.let_go.clear()

    site.inside.clear()

    with ThreadPoolExecutor(16) as threads:
        flooding = [threads.submit(bounded, ask(rf, who)) for who in flood]
        wait_for(lambda: len(site.inside) >= TURNS // 2)
        others = [threads.submit(bounded, ask(rf, "bob", "203.0.113.2")) for _ in range(2)]
        is_let_in = wait_for(lambda: site.inside.count("203.0.113.2") == 2)
        site.let_go.set()
        found = [one.result().status_code for one in others]
        flooded = [one.result().status_code for one in flooding]

    assert is_let_in
    assert found == [200, 200]
    assert flooded == [200] * len(flood)  # they waited for their own turns
