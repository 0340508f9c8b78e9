"""A stream that is open tells nothing more once its reader lost the session, the account, or the right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import AsyncClient, Client
from django.urls import reverse

from applyviz.records.enums import Outcome, PlanState, Role, RunState, TokenScope
from applyviz.records.models import ApiToken, ApplyRun, ObjectChange
from applyviz.web.frame import shares, streams
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.people import tokens
from tests.builders import grant_role, make_person, take_roles
from tests.stories import Team, config_map
from tests.web import builders, rows

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: old}}"


def end_session(_reader: User) -> None:
    Session.objects.all().delete()


def deactivate(reader: User) -> None:
    User.objects.filter(pk=reader.pk).update(is_active=False)


def revoke_tokens(_reader: User) -> None:
    ApiToken.objects.update(revoked_at="2020-01-01T00:00:00Z")


def set_password(reader: User) -> None:
    reader.set_password("another")
    reader.save()


@async_to_sync
async def listen(reader: User, url: str, then: Callable[[], None]) -> str:
    """Return what an open stream says after something happened to its reader and what it shows."""
    browser = AsyncClient()
    await browser.aforce_login(reader)
    response: Any = await browser.get(url)
    parts = response.streaming_content
    first = (await anext(parts)) + (await anext(parts))
    assert b"event: " in first
    await sync_to_async(then)()
    return b"".join([part async for part in parts]).decode()


@pytest.mark.parametrize("withdraw", [end_session, take_roles, deactivate, set_password])
@pytest.mark.parametrize("is_run", [True, False])
def test_withdrawn_reader_hears_nothing_more(team: Team, withdraw: Callable[[User], None], is_run: bool):
    vera = make_person("vera", Role.VIEWER)
    if is_run:
        url = reverse("runs:run-events", args=[team.start(team.plan(config_map("shop", a="1"))).number])
    else:
        plan = rows.make_plan(team.alice, [builders.build_change()], state=PlanState.PLANNING)
        url = reverse("reviews:plan-events", args=[plan.review.number, plan.number])

    def then() -> None:
        withdraw(vera)
        ApplyRun.objects.update(state=RunState.CANCELED)
        ObjectChange.objects.filter(plan__state=PlanState.PLANNING).delete()

    assert listen(vera, url, then) == ""


@pytest.mark.parametrize("withdraw", [revoke_tokens, deactivate, take_roles])
def test_answer_of_the_api_that_waits_is_refused_once_its_token_ended(team: Team, withdraw: Callable[[User], None]):
    vera = make_person("vera", Role.VIEWER)
    text = tokens.make_token(by=vera, account=vera, name="ci", scope=TokenScope.READ, days=7)[1]
    url = reverse("api:show-run", args=[team.start(team.plan(config_map("shop", a="1"))).number])
    mark = Client().get(url, headers={"Authorization": f"Bearer {text}"}).json()["mark"]

    async def wait() -> bytes:
        response: Any = await AsyncClient().get(
            f"{url}?wait=8&seen={mark}", headers={"Authorization": f"Bearer {text}"}
        )
        await sync_to_async(withdraw)(vera)
        await sync_to_async(ApplyRun.objects.update)(state=RunState.CANCELED)
        return b"".join([part async for part in response.streaming_content])

    assert json.loads(async_to_sync(wait)())["error"]["code"] == "forbidden"


def test_author_who_became_a_viewer_hears_nothing_of_secrets(team: Team):
    """The events of a run count what its reader may see: authors also see whether a Secret was written."""
    team.apply(SECRET)
    ann = make_person("ann", Role.AUTHOR)
    run = team.start(team.plan(SECRET.replace("old", "new")))

    def then() -> None:
        take_roles(ann)
        grant_role(ann, Role.VIEWER)
        run.results.update(outcome=Outcome.VERIFIED)

    assert listen(ann, reverse("runs:run-events", args=[run.number]), then) == ""


def narrow(reader: User) -> None:
    """They keep the role, in another namespace only."""
    take_roles(reader)
    grant_role(reader, Role.AUDITOR, namespace="other", is_cluster_scoped=False)


@pytest.mark.core(2)
@pytest.mark.parametrize("withdraw", [end_session, take_roles, deactivate, set_password, narrow])
@pytest.mark.parametrize("name", ["history:export-entries", "history:export-evidence"])
def test_file_that_is_read_slowly_breaks_off_once_its_reader_lost_the_right(
    team: Team, monkeypatch, withdraw: Callable[[User], None], name: str
):
    """Else it would hold what is recorded after that, for as long as its reader leaves it open."""
    monkeypatch.setattr(streams, "PIECE", 1)
    dora = make_person("dora", Role.AUDITOR)
    team.apply(config_map("shop", a="1"))

    async def read() -> list[bytes]:
        browser = AsyncClient()
        await browser.aforce_login(dora)
        response: Any = await browser.get(reverse(name, args=["jsonl"]))
        pieces = response.streaming_content
        assert await anext(pieces)
        await sync_to_async(withdraw)(dora)
        return [piece async for piece in pieces]

    with pytest.raises(WorkflowError):
        async_to_sync(read)()


def test_one_person_takes_no_more_than_a_quarter_of_the_streams():
    seats = shares.Seats(64, each=16)

    assert [seats.take("mallory") for _ in range(20)].count(True) == 16
    assert seats.take("vera")
    seats.leave("mallory")
    assert [seats.take("mallory"), seats.take("mallory")] == [True, False]
    assert all(seats.take(f"person {number // 16}") for number in range(47))
    assert not seats.take("another")


def test_sessions_and_tokens_of_one_person_share_their_streams(rf):
    person = make_person("vera", Role.VIEWER)
    by_session, by_token, visitor = rf.get("/"), rf.get("/"), rf.get("/")
    by_session.user, by_token.META[shares.PERSON] = person, person.pk

    assert shares.name_asker(by_session) == shares.name_asker(by_token) == f"person {person.pk}"
    assert shares.name_asker(visitor) == "address 127.0.0.1"
    assert isinstance(streams.STREAM_SEATS, shares.Seats)
