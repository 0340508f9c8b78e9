"""Performs one scan that was requested, in this process; `serve` starts it for scans of whole clusters."""

from __future__ import annotations

import signal
from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from applyviz import audit_origin, stopping
from applyviz.workflow.live import scans


def _stop(*_: object) -> None:
    if not stopping.is_requested():
        stopping.request()
        stopping.limit_end()


class Command(BaseCommand):
    """`manage.py scan ID`."""

    help = "Perform a requested scan of a cluster, unless another process has it. `serve` starts this command."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the scan."""
        parser.add_argument("scan", type=int, help="number of the scan")

    def handle(self, *args: object, **options: object) -> None:
        """Scan; hand the scan over when this process must stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
        audit_origin.current.set(audit_origin.Origin(audit_origin.WORKER))
        scans.scan_cluster(int(str(options["scan"])))
