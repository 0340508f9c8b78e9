"""The data application: after each migration guards and full text are there."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


def _make_way(sender: AppConfig, using: str, plan: list[Any], **_: Any) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import guards  # noqa: PLC0415  # slow import

    if plan:
        guards.lift(using)


def _prepare(sender: AppConfig, using: str, **_: Any) -> None:
    # Late: models exist only after the applications are loaded.
    from applyviz.records import guards, words  # noqa: PLC0415  # slow import

    words.install(using)
    guards.install(using)


class RecordsConfig(AppConfig):
    """Models, migrations, enums and nothing else."""

    name = "applyviz.records"
    label = "records"

    def ready(self) -> None:
        """Lift the triggers for a migration, and install afterwards what it lost: triggers and full text."""
        pre_migrate.connect(_make_way, sender=self, dispatch_uid="records.make-way")
        post_migrate.connect(_prepare, sender=self, dispatch_uid="records.prepare")
