"""Manages the clusters of this installation on the server, with the actions of a cluster's page."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from applyviz.clusters import connect
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import lifecycle

ACTIONS = ("list", "test", "replace-credential", "rename", "pause", "resume", "archive", "restore")


class Command(BaseCommand):
    """`manage.py cluster ACTION [SLUG] [--name NAME] [--reason TEXT] [--kubeconfig FILE] [--context CONTEXT] …`."""

    help = "List clusters; test, rename, pause, resume, archive or restore one, or replace its credential."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("action", choices=ACTIONS)
        parser.add_argument("slug", nargs="?", default="", help="short name of the cluster")
        parser.add_argument("--name", default="", help="rename: the new display name")
        parser.add_argument("--reason", default="", help="pause: the reason, shown to people")
        parser.add_argument("--kubeconfig", default="", help="replace-credential: the file (default: KUBECONFIG)")
        parser.add_argument("--context", default="", help="replace-credential: its context (default: the current one)")
        parser.add_argument("--copy", action="store_true", help="replace-credential: keep the file's content, sealed")
        parser.add_argument("--in-cluster", action="store_true", help="replace-credential: the account of this pod")

    def handle(self, *args: object, **options: Any) -> None:
        """Run one action."""
        if options["action"] == "list":
            for cluster in Cluster.objects.order_by("slug"):
                self.stdout.write(_describe(cluster))
            return
        found = Cluster.objects.filter(slug=options["slug"]).first()
        if found is None:
            raise CommandError(f"there is no cluster {options['slug'] or '(name one)'}")
        try:
            self._act(found, options)
        except ApplyVizError as error:
            detail = getattr(error, "detail", "")
            raise CommandError(f"{error}\nServer message: {detail}" if detail else str(error)) from error

    def _act(self, cluster: Cluster, options: dict[str, Any]) -> None:
        match options["action"]:
            case "test":
                self._test(cluster)
            case "replace-credential":
                credential, server = _read_credential(options)
                lifecycle.prepare_credential(cluster, credential=credential, server=server, by=None)()
            case "rename":
                lifecycle.rename_cluster(cluster, name=options["name"], by=None)
            case "pause":
                lifecycle.pause_cluster(cluster, reason=options["reason"], by=None)
            case "resume":
                lifecycle.resume_cluster(cluster, by=None)
            case "archive":
                lifecycle.archive_cluster(cluster, by=None)
            case _:
                lifecycle.restore_cluster(cluster, by=None)
        cluster.refresh_from_db()
        self.stdout.write(_describe(cluster))

    def _test(self, cluster: Cluster) -> None:
        found = lifecycle.check_connection(cluster, by=None)
        if found.problem:
            more = f"\nServer message: {found.server_message}" if found.server_message else ""
            raise CommandError(found.problem + more)


def _read_credential(options: dict[str, Any]) -> tuple[JSONValue, str]:
    """Return the credential that the options name, and the address of its server."""
    if options["in_cluster"]:
        credential: JSONValue = {"form": connect.SERVICE_ACCOUNT}
        return credential, connect.server_of(credential)
    path = str(Path(options["kubeconfig"]).resolve()) if options["kubeconfig"] else ""
    if not options["copy"]:
        credential = {"form": connect.OWN_CONTEXT, "context": options["context"], "path": path}
        return credential, connect.server_of(credential)
    if not path:
        raise CommandError("--copy needs --kubeconfig FILE")
    taken = read_kubeconfig(Path(path).read_bytes(), context=options["context"])
    return {"form": connect.UPLOADED, "credential": taken.to_json()}, taken.server


def _describe(cluster: Cluster) -> str:
    state = "archived" if cluster.archived_at else "paused" if cluster.paused_at else "in use"
    account = lifecycle.describe_account(cluster.account) or "unknown account"
    return f"{cluster.slug}: {cluster.name}, {cluster.server or 'built in'}, identity {cluster.uid}, {account}, {state}"
