"""Badge words as search terms: a search for a word finds the rows whose badge shows it.

A row has codes: the stored values of its operation and reason. Words are those of the badge, sign and note, in the
language of the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.risks.model import RiskLevel, find_kind
from applyviz.engine.risks.sentences import title
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import FIELD_STYLES, FILLED, OBJECT_STYLES, is_filling

KEPT = FieldOperation.KEPT.value
WordCodes: TypeAlias = Mapping[str, frozenset[str]]
"""The codes by each word that names them."""
_MORE_WORDS: tuple[tuple[str, str | Promise], ...] = (
    (FieldOperation.SET.value, _("added")),
    (Reason.MAKES_ROOM.value, FILLED.word),
    (Reason.TAKEN_OVER.value, _("forced")),
    (Reason.TAKEN_OVER.value, _("overwritten")),
)


def find_codes(reason: FieldReason) -> tuple[str, ...]:
    """Return the codes of a field: an empty section that is filled is not removed; a forced field also changes."""
    if is_filling(reason):
        return (reason.reason.value,)
    if reason.reason is Reason.TAKEN_OVER:
        return (reason.operation.value, reason.reason.value)
    return (reason.operation.value,)


def name_codes() -> WordCodes:
    """Return the codes by each single word of the badges: "removal blocked" is found by either word."""
    return _name_codes(get_language())


@lru_cache(maxsize=8)  # each link of the Changes tab asks whether the search text names kept fields
def _name_codes(_language: str | None) -> WordCodes:
    words = [(operation.value, style.word) for operation, style in FIELD_STYLES.items()]
    found: dict[str, frozenset[str]] = {}
    for code, phrase in (*words, *_MORE_WORDS):
        for word in str(phrase).casefold().split():
            found[word] = found.get(word, frozenset()) | {code}
    return found


def asks_for_kept(words: Iterable[str], names: WordCodes) -> bool:
    """Return whether one of the words names kept fields; a search omits them otherwise."""
    return any(KEPT in names.get(word, ()) for word in words)


def is_named(word: str, codes: Collection[str], names: WordCodes) -> bool:
    """Return whether a word names one of these codes."""
    return not names.get(word, frozenset()).isdisjoint(codes)


def _list_object_words(row: ObjectChange) -> Iterator[str]:
    yield from (row.kind, row.namespace, row.name)
    yield from (str(style.word) for operation, style in OBJECT_STYLES.items() if operation == row.operation)
    yield from (str(_(title(find_kind(kind), RiskLevel(level)))) for kind, level in row.risk_levels)


def describe_object(row: ObjectChange) -> str:
    """Return the searched text of an object, without case: its name, the word of its badge, the titles of its risks."""
    return " ".join(_list_object_words(row)).casefold()
