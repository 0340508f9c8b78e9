"""The audit log on the command line: verify the chains, publish a checkpoint, export, remove bodies.

`verify` exits 1 and names the first bad entry. Store the output of `head` and `publish` outside of this installation;
`--head` and `--heads` of `verify` and of `scripts/verify_export.py` compare the audit log with it.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentTypeError
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.utils.dateparse import parse_date, parse_datetime

from applyviz.records.enums import AuditAction
from applyviz.workflow.audit import (
    approval_macs,
    chain,
    checkpoints,
    recorded_reviews,
    recorded_runs,
    retention,
    right_macs,
    taken_back,
)
from applyviz.workflow.evidence import history
from applyviz.workflow.foundation.errors import NotValidError

_FILTERS = ("cluster", "group", "namespace", "kind", "name", "person", "manager", "text")


def read_moment(text: str) -> date | datetime:
    """Parse a day or a time in ISO 8601."""
    try:
        found = parse_date(text) or parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise ArgumentTypeError(f"{text!r} is neither a day (2026-11-21) nor a time (2026-11-21T05:30:00+00:00)")
    return found


def read_head(text: str) -> chain.Checkpoint:
    """Parse a published checkpoint."""
    try:
        return chain.Checkpoint.parse(text)
    except NotValidError as error:
        raise ArgumentTypeError(str(error)) from error


class ProgressLine:
    """The progress of a long verification, once a second: on a terminal in one line, else an occasional line."""

    def __init__(self, output: OutputWrapper, total: int) -> None:
        self.output, self.total = output, total
        self.is_terminal = output.isatty()
        self.every = 1.0 if self.is_terminal else 10.0
        self.written_at = time.monotonic()

    def show_progress(self, count: int) -> None:
        """Show the number of intact entries so far."""
        if time.monotonic() - self.written_at < self.every:
            return
        self.written_at = time.monotonic()
        text = f"{count:,} of {self.total:,} entries are intact so far"
        self.output.write(f"\r{text}" if self.is_terminal else text, str, "" if self.is_terminal else None)
        self.output.flush()

    def end(self) -> None:
        """End the progress line."""
        if self.is_terminal:
            self.output.write("\r\033[K", str, "")


def _count_processors() -> int:
    """Return how many processors this process may use; all of the machine's where that cannot be asked (macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _list_bad() -> tuple[right_macs.BadRight, ...]:
    """Return every row that differs from the history."""
    rights, records = right_macs.check_rights(), recorded_runs.check_records()
    return (*rights, *records, *recorded_reviews.check_reviews(), *taken_back.check_taken_back())


class Command(BaseCommand):
    """`manage.py audit verify|head|publish|key|prune|export`."""

    help = "Verify, publish and export the audit log."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name what can be done."""
        what = parser.add_subparsers(dest="what", required=True)
        verify = what.add_parser("verify", help="verify the hash chain and approvals; exit 1 and name what is bad")
        verify.add_argument("--head", type=read_head, metavar="N:HASH", help="a checkpoint that was published earlier")
        verify.add_argument("--heads", type=Path, metavar="FILE", help="a file of signed checkpoints, one per line")
        verify.add_argument("--processes", type=int, default=_count_processors(), help="how many check side by side")
        what.add_parser("head", help="anchor the chains of runs and print the checkpoint of the global chain")
        what.add_parser("publish", help="sign a checkpoint, record and publish it to the file and webhooks, print it")
        what.add_parser("key", help="print the public key that verifies signed checkpoints")
        prune = what.add_parser("prune", help="remove the bodies that retention policies no longer keep; hashes stay")
        prune.add_argument("--dry-run", action="store_true", help="only print what would be removed")
        export = what.add_parser("export", help="write entries, oldest first")
        export.add_argument("--format", type=history.ExportFormat, choices=list(history.ExportFormat), default="jsonl")
        export.add_argument("--from", dest="since", type=read_moment, metavar="WHEN", help="a day or a time")
        export.add_argument("--to", dest="until", type=read_moment, metavar="WHEN", help="included")
        for name in _FILTERS:
            export.add_argument(f"--{name}")
        export.add_argument("--action", choices=AuditAction.values)
        export.add_argument("--review", type=int)
        export.add_argument("--run", type=int)
        export.add_argument("--output", type=Path, metavar="FILE", help="a new file; without it, standard output")

    def handle(self, *args: object, **options: Any) -> None:
        """Run the named action."""
        match options["what"]:
            case "verify":
                self._verify(options["head"], options["heads"], max(1, options["processes"]))
            case "publish":
                self.stdout.write(str(checkpoints.publish(by=None)))
            case "key":
                self.stdout.write(checkpoints.public_key())
            case "head":
                head = chain.publish_checkpoint()
                self.stdout.write(f"{head} {head.at.isoformat() if head.at else '-'}")
            case "prune":
                self._prune(options["dry_run"])
            case _:
                self._export(options)

    def _read_heads(self, path: Path | None) -> list[checkpoints.SignedCheckpoint]:
        try:
            return checkpoints.read_published(path.read_text(encoding="utf-8").splitlines()) if path else []
        except (OSError, NotValidError) as error:
            raise CommandError(f"{path}: {error}") from error

    def _verify(self, published: chain.Checkpoint | None, path: Path | None, processes: int) -> None:
        signed = self._read_heads(path)
        progress = ProgressLine(self.stderr, chain.count_entries())
        report = chain.verify_chain(published=published, processes=processes, on_progress=progress.show_progress)
        progress.end()
        bad = report.bad or checkpoints.find_contradiction(one.head for one in signed)
        if bad is not None:
            raise CommandError(str(bad), returncode=1)
        verdict = approval_macs.check_all()
        if verdict.forged:
            lines = "\n".join(f"forged: {one}" for one in verdict.forged)
            raise CommandError(f"{lines}\n{len(verdict.forged)} forged, the history itself is intact", returncode=1)
        self._verify_rights()
        head = chain.find_checkpoint()
        self.stdout.write(f"{report.entries} entries are intact, {report.runs} run chains among them; head {head}")
        self.stdout.write(f"{verdict.approvals} approvals and {verdict.emergencies} emergency applies are genuine")
        if signed:
            self.stdout.write(f"{len(signed)} published checkpoints are in it")
        for removal in retention.list_removals(report.removed):
            self.stdout.write(str(removal))

    def _verify_rights(self) -> None:
        bad = _list_bad()
        if bad:  # what people and workers did meanwhile was read in part: only what differs twice is wrong
            suspected = {(one.what, one.number) for one in bad}
            bad = tuple(one for one in _list_bad() if (one.what, one.number) in suspected)
        if bad:
            lines = "\n".join(f"not recorded: {one}" for one in bad)
            raise CommandError(f"{lines}\n{len(bad)} rows differ from the history, which is intact", returncode=1)

    def _export(self, options: dict[str, Any]) -> None:
        names = (*_FILTERS, "action", "review", "run", "since", "until")
        chosen = {name: options[name] for name in names if options.get(name) not in (None, "")}
        form = history.ExportFormat(options["format"])
        history.record_export(None, chosen, form)
        lines = history.export_entries(chosen, form)
        if options["output"] is None:
            for line in lines:
                self.stdout.write(line, ending="")
            return
        try:
            with options["output"].open("x", encoding="utf-8", newline="") as output:
                count = sum(1 for line in lines if output.write(line))
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror}") from error
        self.stdout.write(f"{count} lines written to {options['output']}")

    def _prune(self, is_dry_run: bool) -> None:
        policies = list(retention.list_active())
        if not policies:
            self.stdout.write("no retention policy is active: everything is kept")
        for policy in policies:
            count = retention.count_due(policy) if is_dry_run else retention.prune(policy).entries
            self.stdout.write(f"{policy.name}: {count} bodies {'would be' if is_dry_run else 'were'} removed")
