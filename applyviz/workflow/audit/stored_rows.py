"""Audit entries read for verification as plain tuples, with time and body as text.

A model instance costs more than both hashes of an entry. Unreadable content raises nothing: its hash does not match.
A server-side cursor reads the rows in slices, so that memory does not grow with the trail or with bodies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple, TypeAlias

from django.db import connection, transaction

from applyviz.engine.objects.values import canonical_json
from applyviz.records.full_text import collect_words
from applyviz.records.models import AuditEntry
from applyviz.records.triggers import KEPT_ACTIONS
from applyviz.workflow.audit.trail import HASHED, SEARCHED, encode

# Sequence and hash of the last entry of a chain.
ChainPosition: TypeAlias = tuple[int, str]
_FETCHED = 500
_NOT_AS_WRITTEN, _BODY = "its content is not what was written", "its body is not what was written"
_WORDS = "its search text is not made of its content"
_KEPT = frozenset(action.value for action in KEPT_ACTIONS)


class StoredRow(NamedTuple):
    """One row: the time as the hash covers it, the hashed columns in their order, and the rest."""

    at: str
    chain: int
    sequence: int
    action: str
    actor_id: int | None
    actor_name: str
    roles: str
    session: str
    address: str
    agent: str
    request_id: str
    cluster: str
    review: int | None
    plan: int | None
    run: int | None
    group: str
    kind: str
    namespace: str
    name: str
    field_manager: str
    plan_digest: str
    detail_hash: str
    previous_hash: str
    hash: str
    detail: str
    salt: str
    pruned_by: int | None
    id: int
    words: str


_WIDTH = 1 + len(HASHED)
_AS_TEXT = {
    "postgresql": {
        "at": """to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
        "detail": "detail::text",
    },
    # Django omits the fraction when it is zero.
    "sqlite": {"at": "replace(substr(at || '.000000', 1, 26), ' ', 'T') || '+00:00'", "detail": "detail"},
}
# Hot: built once.


def _select(where: str) -> str:
    texts = _AS_TEXT[connection.vendor]
    columns = ", ".join(texts.get(name, f'"{name}"') for name in StoredRow._fields)
    return f"SELECT {columns} FROM {AuditEntry._meta.db_table} WHERE {where}"  # noqa: S608 - columns of our own


def _run(statement: str, values: list[int]) -> Iterator[StoredRow]:
    # A server-side cursor needs a transaction; on SQLite, which yields row by row, that would lock out writers.
    block = transaction.atomic() if connection.vendor == "postgresql" else nullcontext()
    with block, connection.chunked_cursor() as cursor:
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(_FETCHED):
            yield from map(StoredRow._make, rows)


def read_between(first: int, last: int) -> Iterator[StoredRow]:
    """Yield the entries with these numbers, both included, in order."""
    return _run(_select("id BETWEEN %s AND %s ORDER BY id"), [first, last])


def read_late(chain: int, after: int, until: int, below: int) -> Iterator[StoredRow]:
    """Yield the entries of one chain after sequence `after` up to `until` with numbers below `below`, by sequence."""
    where = "chain = %s AND sequence > %s AND sequence <= %s AND id < %s ORDER BY sequence"
    return _run(_select(where), [chain, after, until, below])


def cut(after: int, size: int, limit: int | None = None) -> Iterator[tuple[int, int]]:
    """Split the numbers after `after` into ranges (first, last) of `size` entries, until `limit` entries or the end."""
    numbers = AuditEntry.objects.order_by("id").values_list("id", flat=True)
    while limit is None or limit > 0:
        wanted = size if limit is None else min(size, limit)
        behind = numbers.filter(id__gt=after)
        last = behind[wanted - 1 : wanted].first() or behind.last()
        if last is None:
            return
        yield after + 1, last
        after, limit = last, None if limit is None else limit - wanted


def hash_row(row: StoredRow) -> str:
    """Return the hash of an entry with this content (`trail.hash_entry`)."""
    text = encode(row[:_WIDTH])
    return hashlib.sha256((row.previous_hash + text).encode()).hexdigest()


def _find_body_fault(row: StoredRow) -> str:
    if row.pruned_by is not None:
        is_left = row.detail != "{}" or row.salt or row.action in _KEPT
        return _BODY if is_left else ""
    body = canonical_json(json.loads(row.detail))
    return "" if row.detail_hash == hashlib.sha256((row.salt + body).encode()).hexdigest() else _BODY


def _find_words_fault(row: StoredRow) -> str:
    """Return why the search text differs from the hashed content; "" when it does not. Search reads that text alone."""
    columns = [str(getattr(row, name)) for name in SEARCHED]
    wanted = collect_words(columns, json.loads(row.detail))
    return "" if row.words == wanted or set(row.words.split()) == set(wanted.split()) else _WORDS


def find_content_fault(row: StoredRow) -> str:
    """Return why an entry differs from what was written; "" when it does not."""
    try:
        if row.hash != hash_row(row):
            return _NOT_AS_WRITTEN
        return _find_body_fault(row) or _find_words_fault(row)
    except (TypeError, ValueError, RecursionError):
        # SQLite lets a superuser store any type in any column.
        return _NOT_AS_WRITTEN


def find_chain_positions(row: StoredRow) -> dict[int, ChainPosition] | None:
    """Return the run chain positions that an entry of the global chain names; None when they cannot be read."""
    try:
        heads = json.loads(row.detail).get("heads") or {}
        return {int(chain): _parse(head) for chain, head in heads.items()}
    except (AttributeError, TypeError, ValueError):
        return None


def _parse(head: str) -> ChainPosition:
    sequence, _colon, hashed = head.partition(":")
    return int(sequence), hashed
