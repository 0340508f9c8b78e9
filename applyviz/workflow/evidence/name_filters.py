"""Names in filters of the history as people write them: without case, by their beginning, or by one of their words.

The history has few kinds, namespaces, clusters, people and field managers: they are listed with one short look into an
index for each, and the filter keeps those that fit. Objects have many names, so these are found by their words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from django.db import connection
from django.db.models import Q
from msgspec import Struct

from applyviz.engine.diff.credential_names import WORD
from applyviz.records.models import AuditEntry

HistoryFilter: TypeAlias = Mapping[str, Any]
"""The filter of entries: names, days and words, as `history.find_entries` lists them."""
_LISTED = {
    "cluster": "cluster",
    "namespace": "namespace",
    "kind": "kind",
    "person": "actor_name",
    "manager": "field_manager",
}
_MOST = 3_000


class NameStart(Struct, frozen=True):
    """The beginning of names of objects, without case."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def condition(self) -> Q:
        """Return the condition that an entry's object has such a name."""
        return Q(name__istartswith=self.text)


def _list_values(column: str) -> list[str]:
    """Return the values of an indexed column, each once, with one look into the index for each."""
    table, name = AuditEntry._meta.db_table, connection.ops.quote_name(column)
    statement = (
        f"WITH RECURSIVE found(value) AS (SELECT min({name}) FROM {table} WHERE {name} > '' "  # noqa: S608
        f"UNION ALL SELECT (SELECT min({name}) FROM {table} WHERE {name} > found.value) FROM found "
        "WHERE found.value IS NOT NULL) SELECT value FROM found WHERE value IS NOT NULL LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [_MOST])
        return [row[0] for row in cursor.fetchall()]


def _split(value: str) -> list[str]:
    """Return the words of a name: HorizontalPodAutoscaler and prod-eu-1 have three each."""
    return [part.casefold() for part in WORD.findall(value)]


def _shorten(value: str) -> str:
    """Return the initials of a name of several words."""
    parts = _split(value)
    return "".join(part[0] for part in parts) if len(parts) > 1 else ""


def _has_words(value: str, typed: str) -> bool:
    wanted, parts = _split(typed), _split(value)
    return bool(wanted) and all(any(part.startswith(word) for part in parts) for word in wanted)


def find_names(values: list[str], typed: str) -> tuple[str, ...]:
    """Return the names that a person means: the very name, else the same without case, else its initials or plural,
    else those that begin so, else those with words that begin so.

    - `hpa` and `horizontalpodautoscalers` mean HorizontalPodAutoscaler.
    """
    wanted = typed.strip().casefold()
    steps: tuple[Callable[[str], bool], ...] = (
        lambda value: value == typed.strip(),
        lambda value: value.casefold() == wanted,
        lambda value: wanted in (_shorten(value), f"{value.casefold()}s"),
        lambda value: value.casefold().startswith(wanted),
        lambda value: _has_words(value, typed),
    )
    for fits in steps:
        if found := tuple(value for value in values if fits(value)):
            return found
    return ()


def widen_names(chosen: HistoryFilter) -> HistoryFilter:
    """Return a filter whose names are those that the history knows: a tuple of names, or a `NameStart` for objects."""
    widened = dict(chosen)
    for name, column in _LISTED.items():
        if isinstance(typed := widened.get(name), str):
            widened[name] = find_names(_list_values(column), typed)
    typed = widened.get("name")
    if isinstance(typed, str) and not AuditEntry.objects.filter(name=typed).exists():
        widened["name"] = NameStart(typed.strip())
    return widened
