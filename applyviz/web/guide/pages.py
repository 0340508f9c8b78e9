"""Read models of the guide: prose as HTML, and each worked example with answers that the engine computes now.

The prose is ours (`docs/semantics`); raw HTML is disabled anyway, and links to other pages lead into the guide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from msgspec import Struct

from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.objects.values import JSONValue
from applyviz.guide import library
from applyviz.guide.answers import Answers, compute_answers
from applyviz.guide.finding import find_pages
from applyviz.guide.opening import unfold
from applyviz.guide.pages import Block, Example, PagePart
from applyviz.guide.tables import MergeTable
from applyviz.web.playground.pages import answer_url
from applyviz.web.playground.questions import CHANNELS, SETS
from applyviz.workflow.foundation.errors import NotVisibleError

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_PAGE_LINK = re.compile(r"\]\((?P<name>[a-z-]+)\.md\)")


class EntryLink(Struct, frozen=True):
    """One page in the list of pages."""

    question: str
    title: str
    url: str
    examples: int
    is_current: bool = False
    excerpt: str = ""


class TextBlock(Struct, frozen=True):
    """One text of an example with its role."""

    label: str
    text: str
    manager: str = ""


class OwnerLine(Struct, frozen=True):
    """One field owner and its fields after the example."""

    name: str
    how: str
    paths: tuple[str, ...]


class ExampleRow(Struct, frozen=True):
    """One worked example with its answers."""

    name: str
    title: str
    prose: SafeString
    inputs: tuple[TextBlock, ...]
    answers: tuple[TextBlock, ...]
    owners: tuple[OwnerLine, ...]
    conflicts: tuple[str, ...]
    url: str
    tables: tuple[MergeTable, ...] = ()


class GuidePage(Struct, frozen=True):
    """One page of the guide."""

    title: str
    question: str
    lead: SafeString
    rule: SafeString
    examples: tuple[ExampleRow, ...]
    entries: tuple[EntryLink, ...]


def render_prose(text: str) -> SafeString:
    """Render Markdown of the project as HTML."""

    def lead(match: re.Match[str]) -> str:
        return f"]({reverse('guide:show-page', args=[match['name']])})"

    html: SafeString = mark_safe(_MARKDOWN.render(_PAGE_LINK.sub(lead, text)))  # noqa: S308 our own text, raw HTML is off
    return html


class GuideIndex(Struct, frozen=True):
    """The list of pages; `text` is what was searched for."""

    text: str
    entries: tuple[EntryLink, ...]


def _present_entry(entry: library.Entry, *, current: str = "", excerpt: str = "") -> EntryLink:
    url = reverse("guide:show-page", args=[entry.page.name])
    is_current = entry.page.name == current
    return EntryLink(entry.question, entry.page.title, url, len(entry.examples), is_current, excerpt)


def list_entries(current: str = "") -> tuple[EntryLink, ...]:
    """Return all pages in order."""
    return tuple(_present_entry(entry, current=current) for entry in library.list_entries())


def present_index(text: str) -> GuideIndex:
    """Return all pages, or those with every word of a search, the best first."""
    if not text:
        return GuideIndex("", list_entries())
    found = tuple(_present_entry(one.entry, excerpt=one.excerpt) for one in find_pages(text))
    return GuideIndex(text, found)


def _label(block: Block) -> str:
    labels = {
        PagePart.MANIFEST: _("Manifest"),
        PagePart.LAST_APPLIED: _("Last applied"),
        PagePart.LIVE: _("Live"),
        PagePart.DEFINITION: _("CRD"),
        PagePart.SET: _("Manifest of the addon") if block.words else _("Set"),
        PagePart.CLUSTER: _("Live objects"),
        PagePart.COMMAND: _("Command"),
        PagePart.CHANNEL: _("kOps channel"),
        PagePart.BASE: _("Rest of the object"),
        PagePart.APPLY: _("applies (force)") if "force" in block.words else _("applies"),
        PagePart.UPDATE: _("updates"),
        PagePart.MIGRATE: _("takes over the fields of %(names)s") % {"names": ", ".join(block.words[1:])},
    }
    return labels[block.part]


def _present_inputs(example: Example) -> Iterator[TextBlock]:
    for block in unfold(example).blocks:
        if block.part.is_given:
            yield TextBlock(_label(block), block.text.rstrip("\n"), block.words[0] if block.part.is_step else "")


def _label_prints(example: Example) -> str:
    if example.find(PagePart.CHANNEL) is not None:
        return _("Choice for each addon")
    is_deletion = "kubectl delete" in (example.find(PagePart.COMMAND) or "")
    return _("Plan of a Delete review") if is_deletion else _("kubectl output")


def _render_json(value: JSONValue) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _present_answers(example: Example, answers: Answers) -> Iterator[TextBlock]:
    if answers.steps is not None and example.find(PagePart.DELETIONS) is not None:
        yield TextBlock(_("Deletions: last applied → manifest"), _render_json(answers.steps.deletions))
        yield TextBlock(_("Additions: live → manifest"), _render_json(answers.steps.additions))
    if answers.patch is not None:
        yield TextBlock(_("Patch sent"), _render_json(answers.patch))
    if answers.after is not None:
        label = _("Objects that kubectl reads") if example.find(PagePart.READ) else _("After apply")
        yield TextBlock(label, render_yaml(None, answers.after).rstrip("\n"))
    if example.find(PagePart.MANAGED) is not None:
        yield TextBlock("metadata.managedFields", _render_json(answers.managed))
    if answers.prints:
        yield TextBlock(_label_prints(example), "\n".join(answers.prints))


def _present_owner(line: str) -> OwnerLine:
    who, _colon, paths = line.partition(": ")
    name, _bracket, how = who.partition(" (")
    return OwnerLine(name, how.removesuffix(")"), tuple(paths.split()))


def present_example(name: str, example: Example) -> ExampleRow:
    """Return one example; its answers are computed now."""
    answers = compute_answers(example)
    return ExampleRow(
        name=name,
        title=example.title,
        prose=render_prose(example.prose),
        inputs=tuple(_present_inputs(example)),
        answers=tuple(_present_answers(example, answers)),
        owners=tuple(map(_present_owner, answers.owners)),
        conflicts=(*answers.conflicts, answers.refused) if answers.refused else answers.conflicts,
        url=SETS.find_url(name, example) or CHANNELS.find_url(name, example) if example.is_set else answer_url(name),
        tables=answers.tables,
    )


def present_guide_page(name: str) -> GuidePage:
    """Return one page.

    - Raises `NotVisibleError` when it does not exist.
    """
    entry = library.find_entry(name)
    if entry is None:
        raise NotVisibleError("the guide has no such page")
    return GuidePage(
        title=entry.page.title,
        question=entry.question,
        lead=render_prose(entry.page.lead),
        rule=render_prose(entry.page.rule),
        examples=tuple(present_example(key, example) for key, example in entry.examples.items()),
        entries=list_entries(name),
    )
