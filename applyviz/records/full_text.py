"""Full text search of the history: the words of an entry, and how both databases find them.

Words are runs of letters and digits without case. PostgreSQL stores them in a generated `tsvector`, with a GIN index
over words and their prefixes: looking up a prefix as an indexed word takes a twentieth of the time of a prefix search
over words. SQLite has an FTS5 table that triggers maintain. Both are created after each migration, because Django
supports neither.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

from django.db import connections, transaction
from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL

from applyviz.engine.objects.values import JSONValue

_WORD = re.compile(r"[^\W_]+")
_ESCAPED = re.compile(r"\\(?:u[0-9a-f]{4}|.)")
# What becomes of each ASCII character: its lower case, or a space; ten times as fast as an expression.
_SPACED = bytes(ord(chr(code).lower()) if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_LONGEST, _MOST = 64, 4_000
# Shorter prefixes are not indexed: too many words share them. Prefixes longer than the indexed ones are rare.
_PREFIX, _LONGEST_PREFIX = 4, 16
# Digests and identifiers: each is rare, and there are very many of them.
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
# Memory for PostgreSQL to intersect the entries of several words: enough for all matches among a million entries. With
# less it remembers only pages, and reads and compares every entry of these.
_MEMORY = "64MB"
_TABLE = "records_auditentry"
_POSTGRESQL = (
    f"ALTER TABLE {_TABLE} ADD COLUMN IF NOT EXISTS word_vector tsvector "
    "GENERATED ALWAYS AS (array_to_tsvector(array_remove(string_to_array(words, ' '), ''))) STORED",
    "CREATE OR REPLACE FUNCTION audit_lexemes(words text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE"
    " COST 1000 AS $$ DECLARE word text; found text[] := string_to_array(words, ' '); BEGIN"
    " FOREACH word IN ARRAY found LOOP"
    f" IF length(word) > {_PREFIX} AND word !~ '^{_HEXADECIMAL.pattern}$' THEN"
    f" FOR size IN {_PREFIX}..least(length(word) - 1, {_LONGEST_PREFIX}) LOOP"
    " found := array_append(found, left(word, size)); END LOOP; END IF;"
    " END LOOP; RETURN array_to_tsvector(array_remove(found, '')); END $$",
    "DROP INDEX IF EXISTS audit_by_words",
    f"CREATE INDEX IF NOT EXISTS audit_by_beginnings ON {_TABLE} USING gin (audit_lexemes(words))",
)
_SQLITE_TABLE = (
    "CREATE VIRTUAL TABLE audit_words USING fts5"
    f"(words, content='{_TABLE}', content_rowid='id', detail=none, prefix='2 3 4')"
)
_SQLITE_TRIGGERS = {
    "audit_words_insert": "AFTER INSERT ON {table} BEGIN "
    "INSERT INTO audit_words(rowid, words) VALUES (NEW.id, NEW.words); END",
    "audit_words_delete": "AFTER DELETE ON {table} BEGIN "
    "INSERT INTO audit_words(audit_words, rowid, words) VALUES ('delete', OLD.id, OLD.words); END",
    "audit_words_update": "AFTER UPDATE OF words ON {table} BEGIN "
    "INSERT INTO audit_words(audit_words, rowid, words) VALUES ('delete', OLD.id, OLD.words); "
    "INSERT INTO audit_words(rowid, words) VALUES (NEW.id, NEW.words); END",
}


def split_words(text: str) -> list[str]:
    """Return the words of a text in the form for storage and search."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word[:_LONGEST] for word in _WORD.findall(plain)]


@lru_cache(maxsize=8192)
def _split_again(text: str) -> tuple[str, ...]:
    """Return the words of a short text: names and values that most entries repeat."""
    return tuple(split_words(text))


def _list_texts(value: JSONValue, found: list[str]) -> None:
    """Add every name and value of a body to a list; hot: a nested generator costs twice as much."""
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, Mapping):
        # By name: PostgreSQL sorts the names of a body in its own order.
        for key in sorted(value):
            found.append(str(key))
            _list_texts(value[key], found)
    elif isinstance(value, list | tuple):
        for child in value:
            _list_texts(child, found)
    elif value is not None:
        found.append(str(value) if type(value) is int else json.dumps(value))


def _split_canonical(text: str) -> list[str]:
    """Return the words of a body from its canonical JSON, in their order; none where that holds others.

    - Characters beyond ASCII are normalized text by text, and a null is no word.
    """
    if not text.isascii() or "null" in text:
        return []
    plain = _ESCAPED.sub(" ", text) if "\\" in text else text
    return [word[:_LONGEST] for word in dict.fromkeys(plain.encode().translate(_SPACED).decode().split())]


def collect_words(columns: Iterable[str], detail: JSONValue, canonical: str = "") -> str:
    """Return all words of an entry, each once; of a very long body only the first ones.

    - `canonical`: the body as canonical JSON, where the caller has it.
    """
    texts: list[str] = []
    words = _split_canonical(canonical)
    if not words:
        _list_texts(detail, texts)
    found: dict[str, None] = {}
    for text in dict.fromkeys((*columns, *texts)):
        found.update(dict.fromkeys(_split_again(text) if len(text) <= _LONGEST else split_words(text)))
        if len(found) > _MOST:
            break
    found.update(dict.fromkeys(words))
    return " ".join(list(found)[:_MOST])


def _lexeme(word: str) -> str:
    """Return a word as the query of PostgreSQL's index: itself or, where the index lacks prefixes, its prefixes."""
    is_indexed = len(word) <= _LONGEST_PREFIX and not _HEXADECIMAL.fullmatch(word)
    return f"'{word}'" if is_indexed or len(word) < _PREFIX else f"'{word}':*"


def _query(text: str, vendor: str) -> str:
    wanted = split_words(text)
    if vendor != "postgresql":
        return " AND ".join(f'"{word}"{" *" if len(word) >= _PREFIX else ""}' for word in wanted) or '""'
    return " & ".join(map(_lexeme, wanted))


def _match_near(text: str, vendor: str) -> RawSQL:
    """Return a condition without the index, which would scan all matching entries to find the few recent ones."""
    wanted = split_words(text)
    if vendor == "postgresql":
        near = " & ".join(f"'{word}'{':*' if len(word) >= _PREFIX else ''}" for word in wanted)
        return RawSQL(f"{_TABLE}.word_vector @@ %s::tsquery", [near], output_field=BooleanField())  # noqa: S611
    contains = f"instr(' ' || {_TABLE}.words || ' ', %s) > 0"
    parts = [f" {word}{'' if len(word) >= _PREFIX else ' '}" for word in wanted]
    return RawSQL(" AND ".join([contains] * len(parts)) or "0", parts, output_field=BooleanField())  # noqa: S611


def match(text: str, using: str = "default", *, is_near: bool = False, is_common: bool = False) -> Q | RawSQL:
    """Return the condition that an entry has, for each word of `text`, a word with this prefix.

    - Short words must match exactly; a text without any word matches nothing.
    - `is_near`: only few entries are candidates, which are read one by one.
    - `is_common`: very many entries match, so that other conditions come first and SQLite lists the matches only then.
    """
    vendor = connections[using].vendor
    if is_near:
        return _match_near(text, vendor)
    query = [_query(text, vendor)]
    if vendor == "postgresql":
        return RawSQL(f"audit_lexemes({_TABLE}.words) @@ %s::tsquery", query, output_field=BooleanField())  # noqa: S611
    rows = "SELECT rowid FROM audit_words WHERE audit_words MATCH %s"
    if is_common:
        # The plus keeps SQLite from scanning the rows of this condition first.
        return RawSQL(f"+{_TABLE}.id IN ({rows})", query, output_field=BooleanField())  # noqa: S611
    return Q(id__in=RawSQL(rows, query))  # noqa: S611


@contextmanager
def searching() -> Iterator[None]:
    """Raise the memory limit during a search, so that PostgreSQL intersects words in memory, not in the table."""
    connection = connections["default"]
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('work_mem', %s, true)", [_MEMORY])
        yield


def find_numbers(text: str, *, most: int) -> list[int] | None:
    """Return the numbers of all matching entries, newest first, from the index; None for more than `most`."""
    connection = connections["default"]
    vendor = connection.vendor
    # The inner query is fenced: with a limit inside, PostgreSQL would scan the table instead of the index.
    statement = (
        f"SELECT id FROM (SELECT id FROM {_TABLE} WHERE audit_lexemes(words) @@ %s::tsquery OFFSET 0) found LIMIT %s"  # noqa: S608
        if vendor == "postgresql"
        else "SELECT rowid FROM audit_words WHERE audit_words MATCH %s ORDER BY rowid DESC LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [_query(text, vendor), most + 1])
        found = [row[0] for row in cursor.fetchall()]
    return None if len(found) > most else sorted(found, reverse=True)


def _install_sqlite(using: str) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'audit_words'")
        if not cursor.fetchone()[0]:
            cursor.execute(_SQLITE_TABLE)
            cursor.execute("INSERT INTO audit_words(audit_words) VALUES ('rebuild')")
        for name, text in _SQLITE_TRIGGERS.items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
            cursor.execute(f"CREATE TRIGGER {name} {text.format(table=_TABLE)}")


def install(using: str) -> None:
    """Create the search structures; do nothing while the table does not exist."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if _TABLE not in connection.introspection.table_names(cursor):
            return
        columns = {column.name for column in connection.introspection.get_table_description(cursor, _TABLE)}
    if "words" not in columns:
        return
    if connection.vendor == "sqlite":
        _install_sqlite(using)
        return
    with connection.cursor() as cursor:
        for statement in _POSTGRESQL:
            cursor.execute(statement)
