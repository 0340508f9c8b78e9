"""`manage.py conformance PATH…`: how often the engine and the sandbox agree with the real kubectl and API server, and
what page and API say of a plan with its facts.

Runs without a database. Exits 1 when anything disagrees or nothing was found.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from applyviz.conformance.report import FAMILIES, SHOWN_FAMILIES, render_report, run_corpora
from applyviz.web.management.presenting import present

_STEP = 10


class Command(BaseCommand):
    """Compare with recorded stories and random cases."""

    help = "Run recorded stories and random cases through the engine and the sandbox, and count what agrees."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument(
            "paths", nargs="+", type=Path, metavar="PATH", help="a folder, a story, a .jsonl.gz or reports (.yaml)"
        )
        parser.add_argument(
            "--family", action="append", choices=(*FAMILIES, *SHOWN_FAMILIES), default=[], help="only this family"
        )
        parser.add_argument("--show", type=int, default=0, metavar="N", help="show the first N disagreements of each")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def _print_progress(self, done: int, files: int) -> None:
        if done % _STEP == 0 and done < files:
            self.stderr.write(f"  {done} of {files} files ...")
            self.stderr.flush()

    def handle(self, *args: object, **options: Any) -> None:
        """Run, print, and exit 1 when anything disagrees."""
        try:
            report = run_corpora(options["paths"], options["family"], present, self._print_progress)
        except FileNotFoundError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_data()))
        else:
            self.stdout.write(render_report(report, show=options["show"]))
        if not any(t.total for t in report.families.values()):
            raise CommandError("no cases found")
        if not report.agrees:
            sys.exit(1)
