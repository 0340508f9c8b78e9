"""Read model of the playground: the pane of a review for one object, with separate addresses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.urls import reverse

from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.schema.builtin import bundled
from applyviz.guide import library, limited, playground
from applyviz.guide.given import Given, GivenError
from applyviz.guide.opening import open_example
from applyviz.web.reviews.pane.field_schema import FieldSchema, present_schema
from applyviz.web.reviews.pane.object_pane import Pane, PaneChoice, present_pane
from applyviz.web.reviews.pane.resolutions import show_conflicts
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.live.field_details import facts_at
from applyviz.workflow.ops import playgrounds

TIME = "%Y-%m-%dT%H:%M:%SZ"
EXAMPLES_AT = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class PlaygroundQuestion:
    """An input with an address: an example of the guide, or one that a visitor submitted."""

    key: str
    given: Given
    now: str
    title: str = ""
    guide_url: str = ""
    expires_at: datetime | None = None
    pool: limited.Pool = limited.PEOPLE

    @property
    def url(self) -> str:
        """Return the address of the answer."""
        return reverse("playground:show-answer", args=[self.key])

    @property
    def change(self) -> PlannedObject:
        """Return the answer; raises `NotPossibleError` when it cannot be calculated now.

        - Examples are our own texts; visitors' input is computed outside of this process.
        """
        try:
            if self.guide_url:
                return explain_example(self.given, self.now)
            return limited.explain_once(self.given, self.now, self.pool)
        except GivenError as error:
            raise NotPossibleError(str(error)) from None


@dataclass(frozen=True, slots=True)
class ExampleLink:
    """One example that can be opened."""

    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ExampleGroup:
    """The examples of one page of the guide."""

    title: str
    url: str
    links: tuple[ExampleLink, ...]


def example_url(name: str) -> str:
    """Return the address of an example in the playground."""
    return reverse("playground:show-answer", args=[name])


@lru_cache(maxsize=32)
def explain_example(given: Given, now: str) -> PlannedObject:
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
        return PlaygroundQuestion(key, open_example(example), EXAMPLES_AT, example.title, url)
    kept = playgrounds.open_input(key)
    given = Given.from_json(kept.content)
    return PlaygroundQuestion(key, given, kept.created_at.strftime(TIME), expires_at=kept.expires_at, pool=pool)


def present_answer(question: PlaygroundQuestion, choice: PaneChoice) -> Pane:
    """Return the pane of the answer with the chosen tab."""
    options = playground.options_of(question.given)
    return present_pane(
        question.change,
        options=options,
        choice=choice,
        url_of=lambda tab: reverse("playground:show-tab", args=[question.key, tab.value]),
        field_url_of=lambda index: reverse("playground:show-field", args=[question.key, index]),
        settlement=show_conflicts(question.change, you=options.field_manager),
    )


def present_question_field(question: PlaygroundQuestion, index: int) -> FieldSchema:
    """Return the schema of one field of the answer."""
    fields = question.change.fields
    if index >= len(fields):
        raise NotVisibleError(f"the answer has no field {index}")
    path = fields[index].path
    return present_schema(facts_at(bundled().find_kind(question.change.ref.gvk), path), path)


def list_example_groups(current: str = "") -> tuple[ExampleGroup, ...]:
    """Return every example, grouped by the guide page that contains it."""
    return tuple(
        ExampleGroup(
            entry.page.title,
            reverse("guide:show-page", args=[entry.page.name]),
            tuple(ExampleLink(e.title, example_url(name), name == current) for name, e in entry.examples.items()),
        )
        for entry in library.list_entries()
        if entry.examples
    )
