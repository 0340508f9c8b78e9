"""The data application: it installs triggers and full text after each migration."""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

_TIMEOUT = "idle_in_transaction_session_timeout"


def _set_timeout(using: str, command: str) -> None:
    """Remove the time limits of a migration, which may run long inside its transaction."""
    connection = connections[using]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(command)


def _drop_triggers(sender: AppConfig, using: str, plan: Sequence[object], **_: object) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import triggers  # noqa: PLC0415  # slow import

    _set_timeout(using, f"SET {_TIMEOUT} = 0")
    if plan:
        triggers.lift(using)


def _install(sender: AppConfig, using: str, **_: object) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import full_text, triggers  # noqa: PLC0415  # slow import

    full_text.install(using)
    triggers.install(using)
    _set_timeout(using, f"RESET {_TIMEOUT}")


def _check_keys(**_: object) -> list[checks.CheckMessage]:
    from applyviz.records import sealing  # noqa: PLC0415  # as above

    problem = sealing.find_mismatch()
    return [checks.Error(problem, id="records.E001")] if problem else []


class RecordsConfig(AppConfig):
    """Models, migrations and enums."""

    name = "applyviz.records"
    label = "records"

    def ready(self) -> None:
        """Remove the triggers before a migration and install them afterwards; check that the keys match."""
        checks.register(_check_keys)
        pre_migrate.connect(_drop_triggers, sender=self, dispatch_uid="records.make-way")
        post_migrate.connect(_install, sender=self, dispatch_uid="records.prepare")
