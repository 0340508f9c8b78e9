"""Adds a live cluster from this machine's own kubeconfig, or the service account of the pod it runs in."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from applyviz.clusters import connect
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.workflow.clusters import registration


class Command(BaseCommand):
    """`manage.py add_cluster SLUG [--name NAME] [--context CONTEXT] [--kubeconfig FILE] [--in-cluster]`."""

    help = "Add a live cluster that this machine can reach; its plugins and files are used where this command runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("slug", help="short name for addresses, as in prod-eu-1")
        parser.add_argument("--name", help="name for people (default: the short name)")
        parser.add_argument("--context", default="", help="context of the kubeconfig (default: the current one)")
        parser.add_argument("--kubeconfig", default="", help="the file (default: KUBECONFIG, else ~/.kube/config)")
        parser.add_argument("--in-cluster", action="store_true", help="use the service account of this pod")

    def handle(self, *args: object, **options: Any) -> None:
        """Connect, identify the cluster, and add it."""
        if options["in_cluster"]:
            credential = {"form": connect.SERVICE_ACCOUNT}
        else:
            path = str(Path(options["kubeconfig"]).resolve()) if options["kubeconfig"] else ""
            credential = {"form": connect.OWN_CONTEXT, "context": options["context"], "path": path}
        slug = options["slug"]
        try:
            cluster = registration.add_live_cluster(
                slug=slug,
                name=options["name"] or slug,
                server=connect.server_of(credential),
                credential=credential,
            )
        except ApplyVizError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Added {cluster.slug}: {cluster.server} ({cluster.version}), identity {cluster.uid}")
