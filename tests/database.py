"""The database of the tests, migrated once: every later test process puts a copy of it into its memory.

The copy is kept beside what else takes long to make (`APPLYVIZ_CACHE`, else the user's cache folder), under a name
that changes with everything that a migration can depend on. PostgreSQL and files are migrated as ever.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import django
from django.core.management.commands import migrate
from django.db import connections

from tests.controlplane.binaries import cache_folder

RECORDS = Path(__file__).parents[1] / "applyviz" / "records"
_DAYS = 86_400.0
_migrate = migrate.Command.handle


def _name() -> str:
    """Everything that the migrated database can depend on, as a name."""
    found = hashlib.sha256(f"{django.VERSION} {sqlite3.sqlite_version}".encode())
    for path in sorted(RECORDS.rglob("*.py")):
        found.update(str(path.relative_to(RECORDS)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        if time.time() - path.stat().st_mtime > 3 * _DAYS:
            path.unlink(missing_ok=True)


def _migrate_once(command: migrate.Command, *words: Any, **options: Any) -> None:
    connection: Any = connections[options["database"]]
    if connection.vendor != "sqlite" or not connection.is_in_memory_db() or connection.introspection.table_names():
        _migrate(command, *words, **options)
        return
    kept = cache_folder() / "migrated" / f"{_name()}.sqlite3"
    if kept.exists():
        with closing(sqlite3.connect(f"file:{kept}?mode=ro", uri=True)) as source:
            source.backup(connection.connection)
        return
    _migrate(command, *words, **options)
    with suppress(OSError, sqlite3.Error):  # where nothing can be kept, every process migrates
        _keep(connection.connection, kept)


def _keep(made: sqlite3.Connection, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    with closing(sqlite3.connect(partial)) as target:
        made.backup(target)
    partial.replace(kept)  # whole, or not there
    _forget_old(kept.parent)


def migrate_once() -> None:
    """From now on an empty database in memory is copied from the kept one, when there is one."""
    migrate.Command.handle = _migrate_once  # type: ignore[method-assign]
