"""Read model of the playground for kOps channels: a question with its answer as HTML, and the examples of the guide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.urls import reverse

from applyviz import clock
from applyviz.guide import library, limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.opening import open_channel
from applyviz.guide.pages import Example
from applyviz.web.playground.answers import CHILD
from applyviz.web.playground.channel_answering import render_channel
from applyviz.web.playground.pages import EXAMPLES_AT, TIME, ExampleGroup, list_groups
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.ops import playgrounds

_KEPT_AS = "channel"
"""The name under which a question about a channel is stored, so that it is none about anything else."""


@dataclass(frozen=True, slots=True)
class ChannelQuestion:
    """A question about a channel with an address: an example of the guide, or one that a visitor submitted."""

    key: str
    given: ChannelQuery
    now: str
    title: str = ""
    guide_url: str = ""
    expires_at: datetime | None = None

    @property
    def url(self) -> str:
        """Return the address of the answer."""
        return channel_url(self.key)


def channel_url(key: str) -> str:
    """Return the address of the answer to a question about a channel."""
    return reverse("playground:show-channel", args=[key])


def find_channel_url(name: str, example: Example) -> str:
    """Return the address of an example of a channel; "" for any other."""
    return channel_url(name) if open_channel(example) is not None else ""


def list_channel_groups(current: str = "") -> tuple[ExampleGroup, ...]:
    """Return the examples of channels, grouped by the guide page that contains them."""
    return list_groups(find_channel_url, current)


def keep_channel(given: ChannelQuery, *, pool: limited.Pool) -> str:
    """Compute an answer, so that only computable input is stored; return its address. Raises `PlaygroundQueryError`."""
    at, key = clock.now(), playgrounds.make_key()
    kept, _html = _ask(given, at.strftime(TIME), pool, is_masked=False)
    playgrounds.keep_input(key, {_KEPT_AS: kept.to_json()}, at=at)
    return channel_url(key)


def find_channel_question(key: str) -> ChannelQuestion:
    """Return the question at an address.

    - Raises `NotVisibleError` when it does not exist or has expired.
    """
    page = library.find_entry(key.rpartition("-")[0])
    example = page.examples.get(key) if page is not None else None
    given = open_channel(example) if example is not None else None
    if page is not None and example is not None and given is not None:
        url = f"{reverse('guide:show-page', args=[page.page.name])}#{key}"
        return ChannelQuestion(key, given, EXAMPLES_AT, example.title, url)
    kept = playgrounds.open_input(key)
    if _KEPT_AS not in kept.content:
        raise NotVisibleError("this link is to a question of another form")
    given = ChannelQuery.from_json(kept.content[_KEPT_AS])
    return ChannelQuestion(key, given, kept.created_at.strftime(TIME), expires_at=kept.expires_at)


def render_question(question: ChannelQuestion, *, pool: limited.Pool) -> str:
    """Return the answer as HTML; of visitors' input it is computed outside of this process.

    - Raises `NotPossibleError` when it cannot be calculated now.
    """
    try:
        if question.guide_url:
            return _render_example(question.given)
        return _find_answer(question.given, question.now, pool)
    except PlaygroundQueryError as error:
        raise NotPossibleError(str(error)) from None


@lru_cache(maxsize=16)
def _render_example(given: ChannelQuery) -> str:
    return render_channel(given, now=EXAMPLES_AT)


@lru_cache(maxsize=8)
def _find_answer(given: ChannelQuery, now: str, pool: limited.Pool) -> str:
    return _ask(given, now, pool, is_masked=True)[1]


def _ask(given: ChannelQuery, now: str, pool: limited.Pool, *, is_masked: bool) -> tuple[ChannelQuery, str]:
    asked = {"about": _KEPT_AS, "given": given.to_json(), "now": now, "is_masked": is_masked}
    found = limited.ask(CHILD, asked, pool)
    return ChannelQuery.from_json(found["kept"]), found["html"]
