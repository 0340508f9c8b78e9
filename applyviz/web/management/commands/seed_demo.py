"""Creates the demo story once: a sandbox, demo accounts, a first version applied, an upgrade to review."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from applyviz.demo import load_demo
from applyviz.workflow.ops import demo


class Command(BaseCommand):
    """`manage.py seed_demo`."""

    help = "Create the demo: a sandbox cluster with a web shop, demo accounts, a review that awaits approval."

    def handle(self, *args: object, **options: object) -> None:
        """Create the story and print the accounts."""
        accounts = demo.seed_demo(load_demo())
        if not accounts:
            self.stdout.write(f"The cluster {demo.SLUG} is there already; nothing was changed.")
        for account in accounts:
            self.stdout.write(f"{account.name:<8} {account.password}   {account.title}")
