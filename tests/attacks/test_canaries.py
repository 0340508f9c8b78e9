"""One crawl by every reader: no address shows a value that is hidden from all readers, in any state of a run or review.

Every reader also sends every form that a page shows, and something to each address that takes a POST.

The values are in Secrets, their copies, credentials of plain fields, kubeconfigs, repositories, webhooks, presets,
charts, kustomizations and a followed branch (`canaries`). Each route is read at the numbers of every plan and run, and
at those of everything that is registered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from applyviz.clusters import connect
from applyviz.clusters.transport import Transport
from applyviz.records.enums import ClusterKind, Role, TokenScope
from applyviz.records.models import ApplyRun, Approval, Cluster, Following, Plan, Review, ScheduledStart
from applyviz.workflow.people import tokens
from tests.attacks.answers import list_told, share, unpack
from tests.attacks.canaries import CANARIES, OPEN, list_forms, play, write_objects
from tests.attacks.conftest import list_stored
from tests.attacks.posted_forms import MANIFEST, PostedForm
from tests.attacks.posted_forms import list_forms as list_page_forms
from tests.attacks.test_identical_pages import READ, World
from tests.attacks.test_slopes_of_settings import PARTS
from tests.builders import grant_role, make_person
from tests.shared_rows import share_rows
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
FORMS = {place: tuple(list_forms(place)) for place in CANARIES}
_OPEN = connect.open_transport
SEEING = tuple(Role)
"""The roles, each of which may view the namespace."""
# Administrators edit an address in the form that they entered it in.
OWN = (
    (Role.ADMINISTRATOR, "/settings/presets/files/", ["token"]),
    (Role.ADMINISTRATOR, "/settings/webhooks/1/", ["path", "query"]),
)
IN_OBJECTS = list(CANARIES)[: list(CANARIES).index("broken")]
READERS = (*SEEING, "limited", "stranger", "visitor")
WITHOUT_TOKENS = (Role.AUDITOR, "stranger", "visitor")


def wire_up(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """The sandbox answers at once; other clusters are connected to, with their credential, and answer nothing."""

    def open_transport(cluster: Cluster) -> Transport:
        return team.wire.connect(cluster) if cluster.kind == ClusterKind.SANDBOX else _OPEN(cluster)

    monkeypatch.setattr(connect, "open_transport", open_transport)
    return team


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker) -> Iterator[World]:
    """Every state, made once."""

    def make() -> World:
        with pytest.MonkeyPatch.context() as patch:
            return play(wire_up(Team(), patch))

    yield from share_rows(django_db_blocker, make)


@pytest.fixture
def world(played, db, monkeypatch) -> World:
    """The same for one test."""
    found = deepcopy(played)
    wire_up(found.team, monkeypatch)
    return found


def test_every_state_is_there(world: World) -> None:
    assert {review.state for review in Review.objects.all()} >= {"open", "applying", "applied", "closed"}
    assert {plan.state for plan in Plan.objects.all()} == {"complete", "failed"}
    assert {run.state for run in ApplyRun.objects.all()} == {"applied", "failed", "stale", "applying"}
    assert {kind for plan in Plan.objects.all() for kind, _count in plan.revision.provenance["sources"]} >= {
        "helm",
        "git",
    }
    assert Following.objects.get(ended_at=None).branch == "main"
    assert ScheduledStart.objects.count() == Approval.objects.filter(plan__run=None).count() - 1 == 1


@pytest.mark.parametrize("place", IN_OBJECTS)
def test_a_value_that_is_shown_would_be_found(place: str) -> None:
    written = "".join(write_objects("odd"))

    assert place in find_places(written)


# What the parts of an address name: everything that is registered, and the first plan and object.
NAMED = {
    "slug": ("box", "live", "old", "files"),
    "number": (1, 2),
    "name": ("alice", "dana", "bot"),
    "form": ("csv", "jsonl"),
}


def list_registered(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """Yield the addresses of every route."""
    for entry in patterns:
        if isinstance(entry, URLResolver):
            below = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from list_registered(entry.url_patterns, below)
            continue
        names = list(entry.pattern.converters)
        for parts in product(*(NAMED.get(name, (PARTS[name],)) for name in names)):
            yield reverse(f"{prefix}{entry.name}", kwargs=dict(zip(names, parts, strict=True)))


def list_every(world: World) -> list[str]:
    """Return each address once."""
    every = (address for addresses in READ.values() for address in addresses(world))
    return list(dict.fromkeys((*every, *list_registered(get_resolver().url_patterns))))


def find_places(text: str) -> list[str]:
    """Return which values a text holds, by where they were written."""
    return [place for place, forms in FORMS.items() if any(form in text for form in forms)]


def sign_in(reader: str) -> tuple[Client, dict[str, str]]:
    """Return a client of a reader, and what it sends to the API."""
    client = Client()
    if reader == "visitor":
        return client, {}
    person = make_person(f"reader-{reader}", *([reader] if reader in SEEING else []))
    if reader == "limited":
        grant_role(person, Role.AUTHOR, cluster="box", namespace="mine", is_cluster_scoped=False)
    client.force_login(person)
    if reader in WITHOUT_TOKENS:
        return client, {}
    token = tokens.make_token(by=person, account=person, name="ci", scope=TokenScope.READ, days=7)[1]
    return client, {"HTTP_AUTHORIZATION": f"Bearer {token}"}


def read_text(answer: Any) -> str:
    """Return all of an answer, headers and the files of an archive included, without where its words may break."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = unpack(body) if body[:2] == b"PK" else body.decode()
    return f"{text} {answer.headers}".replace("<wbr>", "")


def crawl(world: World, reader: str, step: int) -> tuple[dict[str, list[str]], int]:
    """Return what answers show that this reader may not read, by address, and how many show what viewers read."""
    client, given = sign_in(reader)
    shown: dict[str, list[str]] = {}
    seen = 0
    for address in share(list_every(world), READERS.index(reader), step):
        answer = client.get(address, **(given if address.startswith("/api/") else {}))
        text = read_text(answer)
        if (found := find_places(text)) and (reader, address, found) not in OWN:
            shown[address] = found
        seen += OPEN in text
    return shown, seen


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_finds_a_value(world: World, caplog: pytest.LogCaptureFixture, reader: str, step: int) -> None:
    """A reader without a right in the namespace finds nothing at all; another one finds what is not hidden."""
    caplog.set_level(logging.INFO)

    shown, seen = crawl(world, reader, step)

    assert shown == {}
    assert seen == 0 if reader not in SEEING else step > 1 or seen > 40
    assert find_places(caplog.text) == []


def test_nothing_that_is_sent_or_stored_holds_a_value(world: World) -> None:
    """Emails, the bodies of webhooks, and every column that is not sealed."""
    assert find_places("\n".join(list_told())) == []
    stored = {(where, place) for where, text in list_stored() for place in find_places(text)}
    expected = {("Preset.options", "token"), ("Webhook.url", "path"), ("Webhook.url", "query")}
    assert stored == {*expected, ("SourceRevision.provenance", "people")}


# Of the addresses, one of 180 in every run, another for each reader, and one of twenty in the breadth.
STEPS = [180, pytest.param(20, marks=pytest.mark.long)]
# What leaves the page, or ends the session that the next form needs.
LEAVING = ("/logout/", "/account/sessions/", "/theme/")
# Fields that addresses take; each takes its own and leaves the others out.
GIVEN = {
    **dict.fromkeys(("text", "note", "reason", "title", "name", "q", "search", "path", "value"), "seen"),
    **dict.fromkeys(("manifest", "manifests", "live", "last_applied", "yaml"), MANIFEST),
    **dict.fromkeys(("position", "row", "number", "plan", "seen", "page"), "0"),
    "choice": "overwrite",
    "resolution": "overwrite",
    "viewed": "on",
    "password": "x",
    "then": "approve",
}


def list_filled(client: Client, addresses: list[str]) -> Iterator[tuple[PostedForm, str, dict[str, Any]]]:
    """Yield each form of the pages once, with an address and content that a button sends."""
    known = set()
    for address in addresses:
        if address.startswith("/api/"):
            continue
        answer = client.get(address)
        if not answer.headers.get("Content-Type", "").startswith("text/html") or answer.streaming:
            continue
        for form in list_page_forms(address, answer.content.decode()):
            for target, given in form.list_requests():
                identity = (urlsplit(target).path, form.is_post, *sorted((name, str(given[name])) for name in given))
                if identity not in known and not target.startswith(LEAVING):
                    known.add(identity)
                    yield form, target, given


def find_shown(client: Client, form: PostedForm, target: str, given: dict[str, Any]) -> list[str]:
    """Return which values the answer shows; what the form did is undone."""
    with transaction.atomic():
        answer = form.send(client, target, given)
        text = read_text(answer)
        transaction.set_rollback(True)
    return find_places(text)


PAGE = """
<input name="outside" form="first" value="o"><input name="nowhere" value="n">
<form id="first" method="post" action="save/?a=1">
  <input type="hidden" name="csrfmiddlewaretoken" value="t"><input type="hidden" name="seen" value="3">
  <input type="checkbox" name="tick" value="yes"><input type="number" name="count"><input name="title">
  <input type="radio" name="way" value="one"><input type="radio" name="way" value="two" checked>
  <select name="kind"><option value="a">A</option><option value="b" selected>B</option></select>
  <textarea name="note">as it is</textarea><textarea name="manifest"></textarea><input type="file" name="file">
  <button name="then" value="go">Go</button><button type="button">Help</button><button formaction="/drop/">Drop</button>
</form>
<form action="/search/"><input name="q"></form><form action="https://elsewhere.example/"><input name="x"></form>
"""


def test_forms_of_a_page_are_found_filled_in_and_sent_with_each_button() -> None:
    saved, search = list_page_forms("/reviews/1/", PAGE)

    given = {"seen": "3", "tick": "yes", "count": "1", "title": "seen", "way": "two", "kind": "b", "note": "as it is"}
    given |= {"outside": "o", "manifest": MANIFEST, "file": None}
    assert (saved.is_post, search.is_post) == (True, False)
    assert list(saved.list_requests()) == [
        ("/reviews/1/save/?a=1", {**given, "then": "go"}),
        ("/drop/", given),
    ]
    assert list(search.list_requests()) == [("/search/", {"q": "seen"})]


@pytest.mark.core(5)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reader", READERS)
def test_no_form_shows_a_value(
    world: World,
    caplog: pytest.LogCaptureFixture,
    reader: str,
    step: int,
) -> None:
    caplog.set_level(logging.INFO)
    client, _given = sign_in(reader)
    shown: dict[str, list[str]] = {}
    sent = 0
    step = 1 if reader == "visitor" else step  # few pages show a visitor a form
    for form, target, given in list_filled(client, share(list_every(world), READERS.index(reader), step)):
        sent += 1
        if (found := find_shown(client, form, target, given)) and (reader, target, found) not in OWN:
            shown[f"{target} {given}"] = found

    assert shown == {}
    assert sent > 0
    assert find_places(caplog.text) == []


@pytest.mark.core(5)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reader", READERS)
def test_no_address_answers_a_post_with_a_value(world: World, reader: str, step: int) -> None:
    client, token = sign_in(reader)
    shown: dict[str, list[str]] = {}
    for address in share(list_registered(get_resolver().url_patterns), READERS.index(reader), step):
        if address.startswith(LEAVING):
            continue
        for given in ({}, GIVEN):
            form = PostedForm(address, True)
            if address.startswith("/api/"):
                with transaction.atomic():
                    answer = client.post(address, given, content_type="application/json", **token)
                    found = find_places(read_text(answer))
                    transaction.set_rollback(True)
            else:
                found = find_shown(client, form, address, given)
            if found and (reader, address, found) not in OWN:
                shown[f"{address} {given}"] = found

    assert shown == {}
