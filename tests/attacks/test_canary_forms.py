"""Every reader sends every form that a page shows, and something to each address that takes a POST: no answer shows a
value that is hidden from all readers. The values and states are those of `test_canaries`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver

from tests.attacks.answers import share
from tests.attacks.posted_forms import MANIFEST, PostedForm, list_forms
from tests.attacks.test_canaries import (
    OWN,
    READERS,
    find_places,
    list_every,
    list_registered,
    played,  # noqa: F401 - a fixture
    read_text,
    sign_in,
    world,  # noqa: F401 - a fixture
)
from tests.attacks.test_identical_pages import World

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
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
        for form in list_forms(address, answer.content.decode()):
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
    saved, search = list_forms("/reviews/1/", PAGE)

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
    world: World,  # noqa: F811
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
def test_no_address_answers_a_post_with_a_value(world: World, reader: str, step: int) -> None:  # noqa: F811
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
