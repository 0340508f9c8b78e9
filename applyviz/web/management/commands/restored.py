"""Cancel the work that a restored database contains; for the time between the restore and the start of workers."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.web.management import data_folder
from applyviz.workflow.ops import restoring


class Command(BaseCommand):
    """`manage.py restored --reason TEXT`."""

    help = "After a restore, before the workers start: cancel runs and starts, withdraw messages, end all sessions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("--reason", required=True, help="why the database was restored; recorded in the history")

    def handle(self, *args: object, **options: Any) -> None:
        """End everything that was in progress, and name what remains to be checked."""
        home = Path(settings.APPLYVIZ_HOME)
        with data_folder.lock(home) if settings.APPLYVIZ_IS_PERSONAL else nullcontext():
            if settings.APPLYVIZ_IS_PERSONAL:
                data_folder.require_tables()
            try:
                found = restoring.end_unfinished_work(reason=options["reason"])
            except ApplyVizError as error:
                raise CommandError(str(error)) from error
        self._report(found)

    def _report(self, found: restoring.EndedWork) -> None:
        numbers = ", ".join(str(number) for number in found.runs)
        self.stdout.write(f"Runs canceled: {numbers or 'none'}")
        self.stdout.write(f"Scheduled starts canceled: {found.starts}")
        self.stdout.write(f"Sessions ended: {found.sessions}")
        self.stdout.write(f"Emails not sent: {found.messages.mails}")
        self.stdout.write(f"Webhook deliveries not sent: {found.messages.deliveries} (Settings can repeat them)")
        self.stdout.write(f"Active API tokens: {found.tokens} (revoke again those that were revoked after the backup)")
