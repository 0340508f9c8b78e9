"""Read model of the playground for sets and kOps channels: a question with its answer as HTML, and the examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

from django.urls import reverse
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONObject
from applyviz.guide import library, limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.given_sets import SetQuery
from applyviz.guide.opening import open_channel, open_set
from applyviz.guide.pages import Example
from applyviz.web.playground.answers import CHILD
from applyviz.web.playground.channel_answering import render_channel
from applyviz.web.playground.pages import EXAMPLES_AT, TIME, AddressedQuestion, ExampleGroup, list_groups
from applyviz.web.playground.set_answering import render_set
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.ops import playgrounds

Given = TypeVar("Given", SetQuery, ChannelQuery)


class QuestionKind(Struct, Generic[Given], frozen=True):
    """A kind of question of the playground. A stored question has its name, so that no other kind reads it.

    - `read`: returns a question from its JSON; `open`: that of an example, None for an example of another kind.
    - `render`: returns the answer to a masked question as HTML, at a time; raises `PlaygroundQueryError`.
    """

    name: str
    read: Callable[[JSONObject], Given]
    open: Callable[[Example], Given | None]
    render: Callable[[Given, str], str]

    def find_url(self, name: str, example: Example) -> str:
        """Return the address of an example; "" if it cannot be opened as a question of this kind."""
        return self._locate(name) if self.open(example) is not None else ""

    def list_groups(self, current: str = "") -> tuple[ExampleGroup, ...]:
        """Return the examples of this kind, grouped by the guide page that contains them."""
        return list_groups(self.find_url, current)

    def keep(self, given: Given, *, pool: limited.Pool) -> str:
        """Compute an answer, so that only computable input is stored; return its address.

        - Raises `PlaygroundQueryError`.
        """
        at, key = clock.now(), playgrounds.make_key()
        kept = self.read(_ask(self, given, at.strftime(TIME), pool, is_masked=False)["kept"])
        playgrounds.keep_input(key, {self.name: kept.to_json()}, at=at)
        return self._locate(key)

    def find(self, key: str) -> AddressedQuestion[Given]:
        """Return the question at an address.

        - Raises `NotVisibleError` when it does not exist or has expired.
        """
        page, url = library.find_entry(key.rpartition("-")[0]), self._locate(key)
        example = page.examples.get(key) if page is not None else None
        given = self.open(example) if example is not None else None
        if page is not None and example is not None and given is not None:
            guide_url = f"{reverse('guide:show-page', args=[page.page.name])}#{key}"
            return AddressedQuestion(key, given, EXAMPLES_AT, url, example.title, guide_url)
        kept = playgrounds.open_input(key)
        if self.name not in kept.content:
            raise NotVisibleError("this link is to a question of another form")
        given = self.read(kept.content[self.name])
        return AddressedQuestion(key, given, kept.created_at.strftime(TIME), url, expires_at=kept.expires_at)

    def answer(self, question: AddressedQuestion[Given], *, pool: limited.Pool) -> str:
        """Return the answer as HTML; of visitors' input it is computed outside of this process.

        - Raises `NotPossibleError` when it cannot be calculated now.
        """
        try:
            if question.guide_url:
                return _render_example(self, question.given)
            return _find_answer(self, question.given, question.now, pool)
        except PlaygroundQueryError as error:
            raise NotPossibleError(str(error)) from None

    def _locate(self, key: str) -> str:
        return reverse(f"playground:show-{self.name}", args=[key])


def _ask(kind: QuestionKind[Given], given: Given, now: str, pool: limited.Pool, *, is_masked: bool) -> JSONObject:
    asked = {"about": kind.name, "given": given.to_json(), "now": now, "is_masked": is_masked}
    return limited.ask(CHILD, asked, pool)


@lru_cache(maxsize=32)
def _render_example(kind: QuestionKind[Given], given: Given) -> str:
    return kind.render(given, EXAMPLES_AT)


@lru_cache(maxsize=16)
def _find_answer(kind: QuestionKind[Given], given: Given, now: str, pool: limited.Pool) -> str:
    return str(_ask(kind, given, now, pool, is_masked=True)["html"])


SETS = QuestionKind("set", SetQuery.from_json, open_set, lambda given, now: render_set(given, now=now))
CHANNELS = QuestionKind(
    "channel", ChannelQuery.from_json, open_channel, lambda given, now: render_channel(given, now=now)
)
