"""Check the keys that each kind of process of a team installation must have, and must not have, and its addresses.

A web process seals, and computes nothing that a run relies on except approvals; workers open, plan, run and sign. Rule:
a missing, weak or misplaced key stops the start with the name of its variable, and so does a missing database or
broker: without them each process would have one of its own. So does a database that refuses the process, or that has
no tables of a worker. A personal installation is one process and creates all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import ConnectionHandler

from applyviz import environment
from applyviz.records import sealing

_OF_BOTH = ("SECRET_KEY", "APPLYVIZ_WEB_KEY", "APPLYVIZ_APPROVAL_KEY")
_OF_WORKERS = (*_OF_BOTH, "APPLYVIZ_DIGEST_KEY")
_CONNECT_SECONDS = 10
_NEVER_WEB = ("APPLYVIZ_OPENING_KEYS", "APPLYVIZ_DIGEST_KEY")


def _require(names: tuple[str, ...]) -> None:
    for name in names:
        environment.require_key(name, getattr(settings, name))


def _require_database() -> None:
    if settings.APPLYVIZ_IS_PERSONAL:
        raise ImproperlyConfigured("DATABASE_URL: it is not set; processes of a team share one database")


@contextmanager
def _reach_database() -> Iterator[BaseDatabaseWrapper]:
    """Connect once, without the pool, which would wait and not say why: a wrong name or password ends the start."""
    given = settings.DATABASES["default"]
    options = {name: value for name, value in given.get("OPTIONS", {}).items() if name != "pool"}
    if given["ENGINE"].endswith("postgresql"):
        options.setdefault("connect_timeout", _CONNECT_SECONDS)
    connection = ConnectionHandler({"default": {**given, "OPTIONS": options}})["default"]
    try:
        connection.ensure_connection()
        yield connection
    except DatabaseError as error:
        words = " ".join(str(error).split())
        raise ImproperlyConfigured(f"DATABASE_URL: the database cannot be used: {words}") from error
    finally:
        connection.close()


def _require_tables() -> None:
    with _reach_database() as connection:
        if not any(app == "records" for app, _ in MigrationRecorder(connection).applied_migrations()):
            raise ImproperlyConfigured(
                "DATABASE_URL: this database has no tables of applyviz; correct its name, or run `manage.py migrate`"
            )


def require_broker() -> None:
    """Raise `ImproperlyConfigured` when no other process would get the messages of this one."""
    if settings.CELERY_BROKER_URL.startswith("memory:"):
        raise ImproperlyConfigured("REDIS_URL: it is not set; processes of a team exchange messages by Redis")


def require_web_keys() -> None:
    """Raise `ImproperlyConfigured` unless this process has what it needs to serve pages, and no more."""
    sealing.sealing_key()
    if settings.APPLYVIZ_IS_PERSONAL and not settings.APPLYVIZ_CHECKPOINT_PUBLIC_KEY:
        return
    _require_database()
    require_broker()
    _require(_OF_BOTH)
    for name in _NEVER_WEB:
        if getattr(settings, name):
            raise ImproperlyConfigured(
                f"{name}: a web process of a team must not hold it; workers do. It seals with APPLYVIZ_SEALING_KEY, "
                "which `manage.py keys show` prints beside the worker's keys"
            )
    if len(settings.APPLYVIZ_CHECKPOINT_PUBLIC_KEY) != 64:
        raise ImproperlyConfigured(
            "APPLYVIZ_CHECKPOINT_PUBLIC_KEY: it is not set; a web process shows it and checks published checkpoints "
            "with it. `manage.py audit key` prints it where a worker runs"
        )
    if not settings.ALLOWED_HOSTS:
        raise ImproperlyConfigured("ALLOWED_HOSTS: it is not set; name the hosts under which people open the pages")
    with _reach_database():
        pass


def require_worker_keys() -> None:
    """Raise `ImproperlyConfigured` unless this process has what it needs to plan, run and sign."""
    _require_database()
    require_broker()
    _require(_OF_WORKERS)
    if not sealing.can_open():
        raise ImproperlyConfigured("APPLYVIZ_OPENING_KEYS: it is not set; a worker needs the keys that open")
    problem = sealing.find_mismatch()
    if problem:
        raise ImproperlyConfigured(problem)
    _require_tables()
