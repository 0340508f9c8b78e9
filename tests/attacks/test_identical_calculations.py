"""The calculation and the reads of a Secret, seen by people who may not read it: a guess of its value tells nothing.

The same two worlds as in `test_identical_pages`: the manifest has the live value, or it has not. The maps of a
three-way patch, the owners that the server computes and the requests, reads included, follow from live and last-applied
values. A person who may read the Secret sees a difference, so these addresses can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import reverse

from applyviz.engine.requests.options import ApplyMode
from applyviz.web.reviews.pages.plan_overview import read_plan
from applyviz.web.reviews.pages.search.field_lines import read_lines
from applyviz.workflow.foundation.plan_rows import list_rows
from tests.attacks.answers import Answers, read_words
from tests.attacks.test_identical_pages import RIGHT, SECRET, WRONG, World, compare, prepare
from tests.builders import open_dangers
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MANIFESTS = {
    "value": lambda value: secret(password=value),
    "removed key": lambda value: secret(token=value),
    "more keys": lambda value: secret(password=value, other="fixed"),
}


def play(team: Team, manifest: str, mode: ApplyMode) -> World:
    """A plan and a run of a manifest of the Secret."""
    world = World(team)
    plan = team.plan(manifest, config_map(b="2"), mode=mode, takes_over=True)
    world.plans.append(plan)
    open_dangers(plan, team.bob)
    world.runs.append(team.work(team.start(plan)))
    assert world.runs[0].state == "applied", world.runs[0].error
    return world


def list_addresses(world: World) -> Iterator[str]:
    """Where the calculation and the reads of the Secret are shown."""
    (plan,), (run,) = world.plans, world.runs
    address = [plan.review.number, plan.number]
    yield f"{reverse('reviews:show-changes', args=address)}?only={SECRET}&view=requests"
    yield reverse("reviews:show-requests", args=address)
    yield reverse("reviews:keep-requests", args=address)
    yield reverse("runs:list-requests", args=[run.number])
    yield reverse("runs:show-result", args=[run.number, SECRET])
    yield reverse("api:show-plan", args=address)


def read_all(world: World, readers: dict[str, User], token: str) -> Answers:
    found: Answers = {}
    for name, person in readers.items():
        client = Client()
        client.force_login(person)
        for address in list_addresses(world):
            given = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if address.startswith("/api/") else {}
            found[name, address] = read_words(client.get(address, **given))
    return found


class _OverError(Exception):
    """The world ends."""


def tell(team: Team, manifest: str, mode: ApplyMode, readers: dict[str, User], token: str, denied: set[str]) -> Answers:
    """Every answer in one world, of which nothing is left."""
    found: Answers = {}
    cache.clear()
    read_plan.cache_clear()
    list_rows.cache_clear()
    read_lines.cache_clear()
    try:
        with transaction.atomic():
            world = play(team, manifest, mode)
            team.wire.denied = denied
            found = read_all(world, readers, token)
            raise _OverError
    except _OverError:
        team.wire.denied = set()
    return found


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_calculation_and_reads_tell_nothing_of_a_live_value(
    monkeypatch: pytest.MonkeyPatch, manifest: str, mode: ApplyMode
) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)
        write = MANIFESTS[manifest]

        right, wrong = (tell(team, write(value), mode, readers, token, {"get"}) for value in (RIGHT, WRONG))

    compare(right, wrong)


@pytest.mark.long
@pytest.mark.parametrize("mode", list(ApplyMode))
def test_calculation_and_reads_differ_for_who_may_read_the_secret(
    monkeypatch: pytest.MonkeyPatch, mode: ApplyMode
) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, _readers, token = prepare(monkeypatch, mode)
        alice = {"alice": team.alice}

        right, wrong = (tell(team, secret(password=v), mode, alice, token, set()) for v in (RIGHT, WRONG))

    assert any(right[key] != wrong[key] for key in right if "requests" in key[1])
    assert not any(RIGHT in line or WRONG in line for lines in (*right.values(), *wrong.values()) for line in lines)
