"""What a page or an answer of the API costs grows with the size of an object, not with its square.

Every address of a review and a run is read in two sizes of one Deployment, of which each entry of a list changes and
each conflicts. The exponent tells: 1 is linear, 2 the square.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.handlers.base import BaseHandler
from django.test import Client, RequestFactory

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.web.reviews.pages.plan_overview import read_plan
from applyviz.web.reviews.pages.search.field_lines import read_lines
from applyviz.workflow.foundation.plan_rows import list_rows
from tests.attacks.test_identical_pages import READ, World, make_token
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SMALL, TIMES, TRIES = 100, 4, 4
# A fixed part flattens small pages: what takes less than this counts as this.
LEAST_SECONDS, MOST_EXPONENT = 0.03, 1.45
LIVE = "/apis/apps/v1/namespaces/default/deployments/shop"
# The addresses that print every field of an object.
CORE = ("reviews:show-owners", "reviews:show-record", "api:show-plan", "reviews:take-fields")
GROUPS = [
    pytest.param(CORE, id="core"),
    *(
        pytest.param(tuple(name for name in READ if name.startswith(area) and name not in CORE), id=area.strip(":"))
        for area in ("reviews:", "runs:", "api:", "history:", "clusters:", "home", "search")
    ),
]


def write_deployment(count: int, word: str) -> str:
    """Return a Deployment with so many variables."""
    env = [{"name": f"V{n}", "value": f"{word}{n}"} for n in range(count)]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b", "env": env}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": spec})


def play(team: Team, count: int, *, has_run: bool) -> World:
    """Return a plan that conflicts in each entry, one that overwrites each, and one that was run."""
    world = World(team)
    body = yaml.safe_load(write_deployment(count, "live"))
    assert team.send(Request("PATCH", LIVE, {"fieldManager": "other", "force": "true"}, APPLY_PATCH, body)).is_ok
    world.plans.append(team.plan(write_deployment(count, "wanted")))
    world.plans.append(team.plan(write_deployment(count, "wanted"), takes_over=True))
    world.plans.append(world.plans[1])
    if has_run:
        world.runs.append(team.work(team.start(world.plans[1])))
    return world


class Reader:
    """Reads addresses, as an author or somebody else, and as their program."""

    def __init__(self, team: Team, person: User | None = None) -> None:
        person = person or team.alice
        self.token, self.client, self.handler = make_token(person), Client(), BaseHandler()
        self.client.force_login(person)
        self.handler.load_middleware()

    def time(self, name: str, address: str) -> float:
        """Return the processor seconds of one answer; it must not be a page of an error."""
        headers = {"Authorization": f"Bearer {self.token}"} if name.startswith("api:") else {}
        request = RequestFactory(headers=headers).get(address)
        request.COOKIES = {key: cookie.value for key, cookie in self.client.cookies.items()}
        read_plan.cache_clear()
        list_rows.cache_clear()
        read_lines.cache_clear()
        began = time.process_time()
        answer = self.handler.get_response(request)
        seconds = time.process_time() - began
        assert answer.status_code < 500, address
        return seconds


def list_addresses(names: tuple[str, ...], world: World) -> Iterator[tuple[str, int, str]]:
    for name in names:
        yield from ((name, number, address) for number, address in enumerate(dict.fromkeys(READ[name](world))))


def find_exponent(small: float, large: float) -> float:
    return math.log(large / max(small, LEAST_SECONDS), TIMES)


@pytest.mark.core(1)
@pytest.mark.parametrize("names", GROUPS)
def test_cost_of_an_answer_grows_in_proportion(monkeypatch, names: tuple[str, ...]) -> None:
    team = Team().wire_up(monkeypatch)
    reader = Reader(team)
    has_run = names != CORE
    small = play(team, SMALL, has_run=has_run)
    first = {(name, n): (address, reader.time(name, address)) for name, n, address in list_addresses(names, small)}
    large = play(team, SMALL * TIMES, has_run=has_run)
    steep = {}
    for name, number, address in list_addresses(names, large):
        if (name, number) not in first:  # one entry of the history more
            continue
        before, short = first[name, number]
        found = find_exponent(short, reader.time(name, address))
        for _ in range(TRIES):
            if found < MOST_EXPONENT:
                break
            short = min(short, reader.time(name, before))
            found = find_exponent(short, reader.time(name, address))
        if found >= MOST_EXPONENT:
            steep[address] = round(found, 2)

    assert first
    assert not steep


@pytest.mark.parametrize(("power", "is_steep"), [(1, False), (2, True)])
def test_exponent_tells_a_square(power: int, is_steep: bool) -> None:
    assert (find_exponent(0.1, 0.1 * TIMES**power) >= MOST_EXPONENT) is is_steep
