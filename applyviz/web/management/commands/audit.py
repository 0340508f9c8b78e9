"""Checks the history on the command line: `manage.py audit verify` names the first bad entry."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from applyviz.workflow import audit


class Command(BaseCommand):
    """`manage.py audit verify`."""

    help = "Verify the hash chain of the history."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name what can be done."""
        parser.add_argument("what", choices=["verify"])

    def handle(self, *args: Any, **options: Any) -> None:
        """Walk the chain; exit 1 at the first bad entry."""
        report = audit.verify_chain()
        if not report.is_intact:
            raise CommandError(f"entry {report.bad_sequence} is bad: {report.reason}", returncode=1)
        self.stdout.write(f"{report.entries} entries are intact; head {report.head}")
