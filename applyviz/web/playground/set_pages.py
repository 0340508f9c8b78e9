"""Read model of the playground for sets: a question with its answer as HTML, and the examples of the guide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from django.urls import reverse

from applyviz import clock
from applyviz.guide import library, limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_sets import SetQuery
from applyviz.guide.opening import open_set
from applyviz.guide.pages import Example
from applyviz.web.playground.answers import CHILD
from applyviz.web.playground.pages import EXAMPLES_AT, TIME, ExampleGroup, list_groups
from applyviz.web.playground.set_answering import render_set
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.ops import playgrounds

_KEPT_AS = "set"
"""The name under which a question about a set is stored, so that it is none about anything else."""


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question about a set with an address: an example of the guide, or one that a visitor submitted."""

    key: str
    given: SetQuery
    now: str
    title: str = ""
    guide_url: str = ""
    expires_at: datetime | None = None

    @property
    def url(self) -> str:
        """Return the address of the answer."""
        return set_url(self.key)


def set_url(key: str) -> str:
    """Return the address of the answer to a question about a set."""
    return reverse("playground:show-set", args=[key])


def find_set_url(name: str, example: Example) -> str:
    """Return the address of an example of a set; "" if it cannot be opened."""
    return set_url(name) if open_set(example) is not None else ""


def list_set_groups(current: str = "") -> tuple[ExampleGroup, ...]:
    """Return the examples of sets, grouped by the guide page that contains them."""
    return list_groups(find_set_url, current)


def keep_set(given: SetQuery, *, pool: limited.Pool) -> str:
    """Compute an answer, so that only computable input is stored; return its address. Raises `PlaygroundQueryError`."""
    at, key = clock.now(), playgrounds.make_key()
    kept, _html = _ask(given, at.strftime(TIME), pool, is_masked=False)
    playgrounds.keep_input(key, {_KEPT_AS: kept.to_json()}, at=at)
    return set_url(key)


def find_set_question(key: str) -> SetQuestion:
    """Return the question at an address.

    - Raises `NotVisibleError` when it does not exist or has expired.
    """
    page = library.find_entry(key.rpartition("-")[0])
    example = page.examples.get(key) if page is not None else None
    given = open_set(example) if example is not None else None
    if page is not None and example is not None and given is not None:
        url = f"{reverse('guide:show-page', args=[page.page.name])}#{key}"
        return SetQuestion(key, given, EXAMPLES_AT, example.title, url)
    kept = playgrounds.open_input(key)
    if _KEPT_AS not in kept.content:
        raise NotVisibleError("this link is to a question of another form")
    given = SetQuery.from_json(kept.content[_KEPT_AS])
    return SetQuestion(key, given, kept.created_at.strftime(TIME), expires_at=kept.expires_at)


def render_question(question: SetQuestion, *, pool: limited.Pool) -> str:
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
def _render_example(given: SetQuery) -> str:
    return render_set(given, now=EXAMPLES_AT)


@lru_cache(maxsize=8)
def _find_answer(given: SetQuery, now: str, pool: limited.Pool) -> str:
    return _ask(given, now, pool, is_masked=True)[1]


def _ask(given: SetQuery, now: str, pool: limited.Pool, *, is_masked: bool) -> tuple[SetQuery, str]:
    asked = {"about": _KEPT_AS, "given": given.to_json(), "now": now, "is_masked": is_masked}
    found = limited.ask(CHILD, asked, pool)
    kept = replace(given, **{part: found["kept"][part] for part in ("manifest", "before", "cluster")})
    return kept, found["html"]
