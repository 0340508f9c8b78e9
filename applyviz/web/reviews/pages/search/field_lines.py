"""Searchable lines of text, one for each field that Changes shows: its path, values and operation.

Rule: no masked value is part of a line, nor is a path that holds one, so that no search can reveal anything of it. A
Secret that is compared with live has lines, because its operations are shown to some readers; whoever searches leaves
out the objects that are hidden from the reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import Appearance, style_field
from applyviz.web.reviews.pages.search.row_words import KEPT, WordCodes, asks_for_kept, find_codes, is_named
from applyviz.web.reviews.pane.fields import FieldFilter, select_reasons
from applyviz.workflow.plans.changes import read_masked, show_value

MOST_LINES, LONGEST = 400, 200
SearchLine: TypeAlias = tuple[str, tuple[str, ...]]
"""The text of a line, and the codes of its field."""
_CHUNK = 100
# A plan that migrates ownership rewrites this list; it names every field of the object, and the tab Owners shows it.
_OWNERS = "metadata.managedFields"


class FieldLine(Struct, frozen=True):
    """One field: its values are cut to `LONGEST` characters, "" where there is none or it is masked."""

    path: str
    codes: tuple[str, ...]
    style: Appearance
    before: str
    after: str

    @property
    def text(self) -> str:
        """The searched text, without case."""
        return f"{self.path} {self.before} {self.after}".casefold()


def _show(value: JSONValue) -> str:
    if value is ABSENT or is_masked(value):
        return ""
    text = show_value(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def list_lines(change: PlannedObject) -> Iterator[FieldLine]:
    """Yield the lines of the first `MOST_LINES` fields of a masked change that Changes shows, kept fields last.

    - A conflict holds the live value against that of the manifest.
    """
    versions = change.versions
    shown = dict(select_reasons(change, FieldFilter.CHANGES)) | dict(select_reasons(change, FieldFilter.KEPT))
    for reason in islice(shown.values(), MOST_LINES):
        path = render_path(reason.path).lstrip(".")
        if is_masked(path) or path.startswith(_OWNERS):
            continue
        wanted = versions.in_manifest if reason.operation is FieldOperation.CONFLICT else versions.in_after
        before, after = _show(versions.in_live.find(reason.path)), _show(wanted.find(reason.path))
        yield FieldLine(path, find_codes(reason), style_field(reason), before, after)


@lru_cache(maxsize=8)
def read_lines(plan_id: int, digest: str) -> Mapping[int, tuple[SearchLine, ...]]:
    """Return the texts and codes of the lines of a complete plan by the positions of its objects.

    A complete plan never changes, so that it is read once; the digest distinguishes plans of different databases.
    """
    rows = ObjectChange.objects.filter(plan_id=plan_id, plan__digest=digest).defer("sealed").order_by("position")
    return {
        row.position: tuple((line.text, line.codes) for line in list_lines(read_masked(row)))
        for row in rows.iterator(chunk_size=_CHUNK)
    }


def _is_searched(codes: Collection[str], words: Collection[str], names: WordCodes) -> bool:
    """Return whether a search includes a line; kept fields need a word that names them."""
    return KEPT not in codes or asks_for_kept(words, names)


def has_words(text: str, codes: Collection[str], words: Collection[str], names: WordCodes) -> bool:
    """Return whether a line has all words: each anywhere in its text, or as a name of a code."""
    return _is_searched(codes, words, names) and all(word in text or is_named(word, codes, names) for word in words)


def begins_words(text: str, codes: Collection[str], words: Collection[str], names: WordCodes) -> bool:
    """Return whether each word begins a word of a line, or is a name of a code."""
    return _is_searched(codes, words, names) and all(
        is_named(word, codes, names) or re.search(f"(?<![^\\W_]){re.escape(word)}", text) is not None for word in words
    )


def find_positions(
    lines: Mapping[int, Sequence[SearchLine]], rows: Iterable[ObjectChange], words: Sequence[str], names: WordCodes
) -> frozenset[int]:
    """Return the positions of the objects with one line that has all words, but for those in the object's name."""
    found = set()
    for row in rows:
        named = f"{row.kind} {row.namespace} {row.name}".casefold()
        left = [word for word in words if word not in named]
        if any(has_words(text, codes, left, names) for text, codes in lines.get(row.position, ())):
            found.add(row.position)
    return frozenset(found)
