"""Prints the kubeconfig of a sandbox, and the lines that use it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from applyviz.web.management import data_folder
from applyviz.workflow.clusters import sandboxes
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.ops import demo

_HINT = """# Save it to a file that only you can read, then:
#   umask 077; .venv/bin/python manage.py sandbox kubeconfig {slug} > {slug}.kubeconfig
#   kubectl --kubeconfig {slug}.kubeconfig get deployments -A
#   kubectl --kubeconfig {slug}.kubeconfig apply --server-side -f FILE
"""


def _find_address() -> str:
    """Return where this installation is served.

    - Raises `CommandError` if that is unknown.
    """
    address = settings.APPLYVIZ_URL
    if not address and settings.APPLYVIZ_IS_PERSONAL:
        address = data_folder.find_address(Path(settings.APPLYVIZ_HOME))
    if not address:
        raise CommandError(
            "the address of applyviz is unknown: with this data folder it is not running, or still starting; start it, "
            "or name the address: --address http://HOST:PORT"
            if settings.APPLYVIZ_IS_PERSONAL
            else "the address of applyviz is unknown; set APPLYVIZ_URL, or name it: --address https://HOST"
        )
    return str(address)


class Command(BaseCommand):
    """`manage.py sandbox kubeconfig [SLUG] [--address URL]`."""

    help = "Print the kubeconfig of a sandbox for kubectl. It contains a token that may write to the sandbox."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the action and its options."""
        parser.add_argument("action", choices=["kubeconfig"])
        parser.add_argument("slug", nargs="?", default=demo.SLUG, help="short name of the sandbox")
        parser.add_argument("--address", default="", help="URL of this installation (default: where it is served)")

    def handle(self, *args: object, **options: Any) -> None:
        """Print the kubeconfig to standard output, and how to use it to standard error."""
        slug, address = str(options["slug"]), (str(options["address"]) or _find_address()).rstrip("/")
        if not address.startswith(("http://", "https://")):
            raise CommandError(f"{address} is not a URL: start it with http:// or https://")
        cluster = sandboxes.find_sandbox(slug)
        if cluster is None:
            raise CommandError(f"there is no sandbox {slug}")
        try:
            text = sandboxes.render_kubeconfig(cluster, address=address)
        except WorkflowError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(text, ending="")
        self.stderr.write(_HINT.format(slug=slug), ending="")
