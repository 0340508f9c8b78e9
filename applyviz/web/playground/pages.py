"""Read model of the playground: one object alone as in a review, with separate addresses, and its examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Generic, TypeVar

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.schema.builtin import bundled
from applyviz.guide import library, limited, playground
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.opening import open_example
from applyviz.guide.pages import Example
from applyviz.web.playground import answers
from applyviz.web.playground.answering import render_answer
from applyviz.web.playground.patch_kinds import render_kinds
from applyviz.web.reviews.pane.field_schema import FieldSchema, present_schema
from applyviz.web.reviews.pane.object_content import AloneChoice
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.live.field_details import facts_at
from applyviz.workflow.ops import playgrounds

TIME = "%Y-%m-%dT%H:%M:%SZ"
EXAMPLES_AT = "2026-01-01T00:00:00Z"
Given = TypeVar("Given")


class AddressedQuestion(Struct, Generic[Given], frozen=True):
    """A question with an address: an example of the guide, or one that a visitor submitted."""

    key: str
    given: Given
    now: str
    url: str
    title: str = ""
    guide_url: str = ""
    expires_at: datetime | None = None


class PlaygroundQuestion(AddressedQuestion[PlaygroundQuery], frozen=True):
    """A question about one object; `pool`: the processes that compute the answer of a visitor."""

    pool: limited.Pool = limited.PEOPLE

    @property
    def asked(self) -> answers.ChildQuestion:
        """Return the stored input of a visitor as a question for a child process."""
        return answers.ChildQuestion(self.key, self.given, self.now, self.url, self.pool)


class ExampleLink(Struct, frozen=True):
    """One example that can be opened."""

    title: str
    url: str
    is_current: bool


class ExampleGroup(Struct, frozen=True):
    """The examples of one page of the guide."""

    title: str
    url: str
    links: tuple[ExampleLink, ...]


def answer_url(key: str) -> str:
    """Return the address of an example or of the answer to an input; its tabs and fields are below it."""
    return reverse("playground:show-answer", args=[key])


@lru_cache(maxsize=32)
def explain_example(given: PlaygroundQuery, now: str) -> PlannedObject:
    """Return the answer to an example, cached for all of its pages."""
    return playground.explain(given, now=now)


def find_question(key: str, *, pool: limited.Pool) -> PlaygroundQuestion:
    """Return the input at an address.

    - Raises `NotVisibleError` when it does not exist or has expired.
    """
    example = library.list_examples().get(key)
    if example is not None:
        page = key.rpartition("-")[0]
        url = f"{reverse('guide:show-page', args=[page])}#{key}"
        return PlaygroundQuestion(key, open_example(example), EXAMPLES_AT, answer_url(key), example.title, url)
    kept = playgrounds.open_input(key)
    if "manifest" not in kept.content:
        raise NotVisibleError("this link is to a question of another form")
    given = PlaygroundQuery.from_json(kept.content)
    at, url = kept.created_at.strftime(TIME), answer_url(key)
    return PlaygroundQuestion(key, given, at, url, expires_at=kept.expires_at, pool=pool)


def render_pane(question: PlaygroundQuestion, choice: AloneChoice) -> str:
    """Return the pane of the answer with the chosen view as HTML.

    - Raises `NotPossibleError` when it cannot be calculated now.
    - Examples are our own texts; visitors' input is computed and rendered outside of this process.
    """
    try:
        if question.guide_url:
            kinds = render_kinds(question.given, now=question.now)
            change = explain_example(question.given, question.now)
            return render_answer(change, question.given, choice, question.url) + kinds
        return answers.find_pane(question.asked, choice)
    except PlaygroundQueryError as error:
        raise NotPossibleError(str(error)) from None


def _list_fields(question: PlaygroundQuestion) -> tuple[GroupVersionKind, Sequence[FieldPath]]:
    try:
        if question.guide_url:
            change = explain_example(question.given, question.now)
            return change.ref.gvk, [reason.path for reason in change.fields]
        answer = answers.find_answer(question.asked)
    except PlaygroundQueryError as error:
        raise NotPossibleError(str(error)) from None
    return answer.kind, answer.paths


def present_question_field(question: PlaygroundQuestion, index: int) -> FieldSchema:
    """Return the schema of one field of the answer."""
    gvk, paths = _list_fields(question)
    if index >= len(paths):
        raise NotVisibleError(f"the answer has no field {index}")
    return present_schema(facts_at(bundled().find_kind(gvk), paths[index]), paths[index])


def list_groups(find_url: Callable[[str, Example], str], current: str) -> tuple[ExampleGroup, ...]:
    """Return the examples of one form, grouped by guide page; `find_url` returns "" for those of other forms."""
    groups = []
    for entry in library.list_entries():
        found = [(name, one.title, find_url(name, one)) for name, one in entry.examples.items()]
        links = tuple(ExampleLink(title, url, name == current) for name, title, url in found if url)
        if links:
            groups.append(ExampleGroup(entry.page.title, reverse("guide:show-page", args=[entry.page.name]), links))
    return tuple(groups)


def list_example_groups(current: str = "") -> tuple[ExampleGroup, ...]:
    """Return the examples of one object, grouped by the guide page that contains them."""
    return list_groups(lambda name, example: "" if example.is_set else answer_url(name), current)
