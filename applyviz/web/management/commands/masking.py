"""Shows or changes whether the plans of a cluster mask credentials in plain fields."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from applyviz.records.models import Cluster
from applyviz.workflow.clusters import masking_settings


class Command(BaseCommand):
    """`manage.py masking SLUG [--on | --off]`."""

    help = "Mask credentials in plain fields (environment variables, flags, URLs, headers) of a cluster's new plans."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("slug", help="short name of the cluster")
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument("--on", action="store_true", help="mask them")
        switch.add_argument("--off", action="store_true", help="show them")

    def handle(self, *args: object, **options: Any) -> None:
        """Change the setting if requested, and print it."""
        cluster = Cluster.objects.filter(slug=options["slug"]).first()
        if cluster is None:
            raise CommandError(f"there is no cluster {options['slug']}")
        if options["on"] or options["off"]:
            masking_settings.mask_credentials(cluster, is_on=options["on"], by=None)
        word = "masked" if masking_settings.policy_for(cluster).has_plain else "shown"
        self.stdout.write(f"{cluster.slug}: credentials in plain fields are {word}")
