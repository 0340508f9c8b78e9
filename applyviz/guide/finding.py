"""Find pages of the guide by the words that people know: of titles, questions, examples, prose and manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from applyviz.guide import library
from applyviz.guide.library import Entry

MAX_WORDS = 12
# Abbreviations, and what the pages write for them.
_SHORT = {"ssa": "server-side", "csa": "client-side", "hpa": "autoscaler", "crd": "custom resource", "vs": "compared"}
_WORD = re.compile(r"[^\s,;:()\[\]{}\"'`|]+")
# Where a word counts, from the heaviest: title, question and keywords, the titles of examples, the prose, the rest.
_WEIGHTS = (8, 4, 2, 1)
_MARKS = re.compile(r"[`*]|\]\([^)]*\)|(?<![\w])\[")


class FoundPage(Struct, frozen=True):
    """A page that has every word, and the sentence or row of its prose with the first one; "" if only examples do."""

    entry: Entry
    excerpt: str


class _Texts(Struct, frozen=True):
    entry: Entry
    keywords: tuple[str, ...]
    parts: tuple[str, ...]
    sentences: tuple[str, ...]


@cache
def _list_texts() -> tuple[_Texts, ...]:
    return tuple(_read_texts(entry) for entry in library.list_entries())


def _read_texts(entry: Entry) -> _Texts:
    page = entry.page
    prose = "\n\n".join((page.lead, page.rule, *(example.prose for example in page.examples)))
    titles = "\n".join(example.title for example in page.examples)
    blocks = "\n".join(block.text for example in page.examples for block in example.blocks)
    head = f"{page.title} {entry.question} {', '.join(entry.keywords)}"
    parts = tuple(part.lower() for part in (head, titles, prose, blocks))
    return _Texts(entry, tuple(map(str.lower, entry.keywords)), parts, tuple(_list_sentences(prose)))


def _list_sentences(prose: str) -> Iterator[str]:
    """Yield the sentences of paragraphs and the rows of tables, without marks of Markdown."""
    for paragraph in prose.split("\n\n"):
        rows = paragraph.splitlines()
        is_table = paragraph.startswith("|")
        texts = [row.strip("| ").replace(" | ", ": ", 1) for row in rows] if is_table else [" ".join(rows)]
        for text in texts:
            yield from re.split(r"(?<=[.!?]) (?=[A-Z])", _MARKS.sub("", text))


def _score(texts: _Texts, word: str) -> int:
    return sum(weight for weight, part in zip(_WEIGHTS, texts.parts, strict=True) if _has_word(part, word))


def _has_word(text: str, word: str) -> bool:
    """Return whether a text contains a word; a short one only as a whole, because many others contain it."""
    return word in text if len(word) > 3 else re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _find_excerpt(texts: _Texts, words: Sequence[str]) -> str:
    def count(sentence: str) -> int:
        return sum(word in sentence.lower() for word in words)

    best = max(texts.sentences, key=count, default="")
    return best if count(best) else ""


def find_pages(text: str) -> tuple[FoundPage, ...]:
    """Return the pages that contain every word of the text, the best first; no pages for a text without words."""
    written = _WORD.findall(text.lower())[:MAX_WORDS]
    words = tuple(dict.fromkeys(_SHORT.get(word, word) for word in written))
    if not words:
        return ()
    # Every page with the whole text as a keyword comes before those that only have its words.
    scores = [(texts, [_score(texts, word) for word in words]) for texts in _list_texts()]
    phrase = " ".join(written)
    found = sorted(
        (one for one in scores if all(one[1])), key=lambda one: (phrase not in one[0].keywords, -sum(one[1]))
    )
    return tuple(FoundPage(texts.entry, _find_excerpt(texts, words)) for texts, _score_of in found)
