"""Parse the pages of the guide and their worked examples.

A page is a Markdown file of `docs/semantics`: prose, and sections titled "Example: …" whose fenced blocks are the
inputs and the recorded answers. The word after the language names the part of a block: `manifest`, `last-applied` and
`live` are the versions of one object; `apply MANAGER [force]`, `update MANAGER [SUBRESOURCE]` and `migrate MANAGER
FROM…` are steps, in order; `definition` is the CustomResourceDefinition that applies from there on; `set` and `cluster`
contain many objects for a `command`; `channel VERSION` is a kOps channel for a server of that version, and `set FILE`
the manifest of one of its addons; `table PATH` has rows of one field with their answers, and `base` before it the rest
of the object; `patch`, its steps `deletions` and `additions`, `after`, `owners`, `managed` (the owners as a server
stores them), `conflict`, `read` and `prints` are answers. The caller reads the files.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

_HEADING = re.compile(r"^## Example: (?P<title>.+)$", re.MULTILINE)
_TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
# The end of the first sentence.
_END = re.compile(r"(?<=[.?])\s+")
_FENCE = re.compile(r"^```(?P<language>\w+) (?P<info>[^\n]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class PagePart(StrEnum):
    """The role of a fenced block in an example."""

    MANIFEST = "manifest"
    LAST_APPLIED = "last-applied"
    LIVE = "live"
    APPLY = "apply"
    UPDATE = "update"
    MIGRATE = "migrate"
    DEFINITION = "definition"
    SET = "set"
    CLUSTER = "cluster"
    COMMAND = "command"
    CHANNEL = "channel"
    PATCH = "patch"
    DELETIONS = "deletions"
    ADDITIONS = "additions"
    AFTER = "after"
    OWNERS = "owners"
    MANAGED = "managed"
    CONFLICT = "conflict"
    READ = "read"
    BASE = "base"
    TABLE = "table"
    PRINTS = "prints"

    @property
    def is_step(self) -> bool:
        """Whether the part is one write of a story."""
        return self in (PagePart.APPLY, PagePart.UPDATE, PagePart.MIGRATE)

    @property
    def is_given(self) -> bool:
        """Whether the part is an input, not an answer."""
        return self.is_step or self in _GIVEN


_GIVEN = (
    PagePart.MANIFEST,
    PagePart.LAST_APPLIED,
    PagePart.LIVE,
    PagePart.DEFINITION,
    PagePart.SET,
    PagePart.CLUSTER,
    PagePart.COMMAND,
    PagePart.CHANNEL,
    PagePart.BASE,
)


class Block(Struct, frozen=True):
    """One fenced block: its part, its further words (manager, `force`), and its text."""

    part: PagePart
    words: tuple[str, ...]
    text: str


class Example(Struct, frozen=True):
    """One worked example: its title, the prose around its blocks, and the blocks in order."""

    title: str
    prose: str
    blocks: tuple[Block, ...]

    def find(self, part: PagePart) -> str | None:
        """Return the text of the first block of that part."""
        return next((b.text for b in self.blocks if b.part is part), None)

    @property
    def is_set(self) -> bool:
        """Whether the example is about a set, a channel or a table, so that the playground has no object to explain."""
        return any(self.find(part) is not None for part in (PagePart.COMMAND, PagePart.CHANNEL, PagePart.TABLE))

    @property
    def steps(self) -> tuple[Block, ...]:
        """The writes of a story, in order."""
        return tuple(b for b in self.blocks if b.part.is_step)


class Page(Struct, frozen=True):
    """One page: its name in addresses, title, its first sentence, the rule, and the examples."""

    name: str
    title: str
    lead: str
    rule: str
    examples: tuple[Example, ...]


def _parse_block(match: re.Match[str]) -> Block:
    part, *words = match["info"].split()
    return Block(PagePart(part), tuple(words), match["text"])


def _parse_example(title: str, text: str) -> Example:
    blocks = tuple(_parse_block(m) for m in _FENCE.finditer(text))
    return Example(title, _FENCE.sub("", text).strip(), blocks)


def parse_page(name: str, text: str) -> Page:
    """Parse one page.

    - Raises `ValueError` for a block whose first word is no `PagePart`: a test checks every page.
    """
    title = _TITLE.search(text)
    prose, *sections = _HEADING.split(text)
    pairs = zip(sections[::2], sections[1::2], strict=True)
    examples = tuple(_parse_example(heading, body) for heading, body in pairs)
    lead, _space, rule = _TITLE.sub("", prose, count=1).strip().partition("\n\n")
    end = _END.search(lead)
    if end is not None:
        lead, rule = lead[: end.start()], f"{lead[end.end() :]}\n\n{rule}"
    return Page(name, title["title"] if title else name, lead, rule.strip(), examples)
