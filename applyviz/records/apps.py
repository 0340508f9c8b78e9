"""The data application: after each migration guards and full text are there."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

_TIMEOUT = "idle_in_transaction_session_timeout"


def _set_patience(using: str, command: str) -> None:
    """A migration may think for long inside its transaction; nothing else may."""
    connection = connections[using]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(command)


def _make_way(sender: AppConfig, using: str, plan: list[Any], **_: Any) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import triggers as guards  # noqa: PLC0415  # slow import

    _set_patience(using, f"SET {_TIMEOUT} = 0")
    if plan:
        guards.lift(using)


def _prepare(sender: AppConfig, using: str, **_: Any) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import full_text as words  # noqa: PLC0415  # slow import
    from applyviz.records import triggers as guards  # noqa: PLC0415  # slow import

    words.install(using)
    guards.install(using)
    _set_patience(using, f"RESET {_TIMEOUT}")


def _check_keys(**_: Any) -> list[checks.CheckMessage]:
    from applyviz.records import sealing  # noqa: PLC0415  # as above

    problem = sealing.find_mismatch()
    return [checks.Error(problem, id="records.E001")] if problem else []


class RecordsConfig(AppConfig):
    """Models, migrations, enums and nothing else."""

    name = "applyviz.records"
    label = "records"

    def ready(self) -> None:
        """Lift the triggers for a migration, and install afterwards what it lost; check that keys fit each other."""
        checks.register(_check_keys)
        pre_migrate.connect(_make_way, sender=self, dispatch_uid="records.make-way")
        post_migrate.connect(_prepare, sender=self, dispatch_uid="records.prepare")
