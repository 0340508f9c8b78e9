"""The data folder of a personal installation: one process uses it, and its database must be usable.

The locked file holds the address at which that process serves, for the commands beside it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.loader import MigrationLoader
from msgspec import Struct

from applyviz.records.models import AuditEntry

_LOCK = "lock"
_LONGEST = 1_000


class LockedFolder(Struct, frozen=True):
    """The locked folder of this process."""

    handle: int

    def announce(self, address: str) -> None:
        """Say at which address this process serves."""
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, address.encode(), 0)


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def find_address(folder: Path) -> str:
    """Return the address at which a process serves this folder; "" if none does.

    - The folder is locked only to find out whether a process that named an address was killed: a process that starts at
      that moment would be refused.
    """
    try:
        with (folder / _LOCK).open("rb") as file:
            address = file.read(_LONGEST).decode()
            return address if address and _is_locked(file.fileno()) else ""
    except OSError:
        return ""


@contextmanager
def lock(folder: Path) -> Iterator[LockedFolder]:
    """Lock the folder for this process, before anything in it is read or deleted.

    - Raises `CommandError` when another process has it. The system releases the lock however the process ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CommandError(
            f"cannot write to the data folder {folder} ({error.strerror}); choose another one: APPLYVIZ_HOME=FOLDER"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise CommandError(
            f"another applyviz uses the data folder {folder}; stop it first, or choose another one: "
            "APPLYVIZ_HOME=FOLDER"
        ) from error
    locked = LockedFolder(handle)
    locked.announce("")
    try:
        yield locked
    finally:
        locked.announce("")
        os.close(handle)


def require_tables() -> None:
    """Raise `CommandError` unless the data folder holds a database of applyviz; migrate one of an older version.

    - For commands that need existing data: only `serve` creates a database.
    """
    require_usable_database()
    if AuditEntry._meta.db_table not in connection.introspection.table_names():
        raise CommandError(f"{connection.settings_dict['NAME']} is empty; name the data folder: APPLYVIZ_HOME=FOLDER")
    call_command("migrate", verbosity=0, interactive=False)


def require_usable_database() -> None:
    """Raise `CommandError` with one sentence when the database is damaged, read-only or of a newer version."""
    path = connection.settings_dict["NAME"]
    advice = f"restore {path} from a backup, or start over with --reset"
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master")
            cursor.execute("CREATE TABLE can_write (x)")  # the write lock alone says nothing about a read-only file
            transaction.set_rollback(True)
        loader = MigrationLoader(connection)
        loader.check_consistent_history(connection)
    except InconsistentMigrationHistory as error:
        raise CommandError(f"the history of migrations of the database is inconsistent; {advice}") from error
    except DatabaseError as error:
        if "readonly" in str(error):
            raise CommandError(f"the database {path} is read-only; make it writable for this account") from error
        raise CommandError(f"the database cannot be used ({error}); {advice}") from error
    ours = {app for app, _ in loader.disk_migrations}
    newer = sorted(
        f"{app}.{name}" for app, name in set(loader.applied_migrations) - set(loader.disk_migrations) if app in ours
    )
    if newer:
        raise CommandError(
            f"the database was written by a newer version of applyviz ({newer[0]} is unknown); install that version, "
            "or start over with --reset"
        )
