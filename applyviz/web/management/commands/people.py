"""Accounts and roles on the server: the first administrator, and recovery without administrators; audited."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from applyviz.records.enums import Role
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.people import administrator_recovery, claims, confirmations, pending_changes


def _find(name: str) -> Person:
    found = Person.objects.filter(username=name).first()
    if found is None:
        raise CommandError(f"there is no account {name}")
    return found


class Command(BaseCommand):
    """`manage.py people pending | confirm | invite | grant | link`."""

    help = "Confirm what waits for a second administrator; invite, grant and link accounts. Everything is audited."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name what there is to do."""
        what = parser.add_subparsers(dest="what", required=True)
        what.add_parser("pending", help="list what waits for a second administrator")
        confirm = what.add_parser("confirm", help="confirm it in place of a second administrator")
        confirm.add_argument("number", type=int)
        invite = what.add_parser("invite", help="print a one-time link to an account, created if needed")
        invite.add_argument("name")
        grant = what.add_parser("grant", help="grant a role everywhere")
        grant.add_argument("name")
        grant.add_argument("role", choices=Role.values)
        link = what.add_parser("link", help="link the accounts of one person")
        link.add_argument("names", nargs="+")
        for parser_of_one in (confirm, invite, grant, link):
            parser_of_one.add_argument("--reason", required=True, help="the reason, for the audit log")

    def handle(self, *args: object, **options: Any) -> None:
        """Run the named action."""
        try:
            getattr(self, f"_{options['what']}")(options)
        except WorkflowError as error:
            raise CommandError(str(error)) from error

    def _pending(self, options: dict[str, Any]) -> None:
        for change in pending_changes.read_waiting():
            summary = ", ".join(f"{name}: {value}" for name, value in change.summary.items())
            self.stdout.write(f"{change.pk}  {change.get_kind_display()}  {summary}  asked by {change.asked_by}")

    def _confirm(self, options: dict[str, Any]) -> None:
        confirmations.recover(pending_changes.get_waiting(options["number"]), reason=options["reason"])
        self.stdout.write("Confirmed and applied.")

    def _invite(self, options: dict[str, Any]) -> None:
        person = administrator_recovery.get_or_add(options["name"], reason=options["reason"])
        token = claims.recover(person, reason=options["reason"])
        self.stdout.write(f"{settings.APPLYVIZ_URL.rstrip('/')}{reverse('claim', args=[token])}")
        self.stdout.write(f"It works once, for {claims.LASTS.days} days.")

    def _grant(self, options: dict[str, Any]) -> None:
        administrator_recovery.grant_role(_find(options["name"]), Role(options["role"]), reason=options["reason"])
        self.stdout.write(f"{options['name']} is {options['role']} everywhere.")

    def _link(self, options: dict[str, Any]) -> None:
        administrator_recovery.link_accounts([_find(name) for name in options["names"]], reason=options["reason"])
        self.stdout.write("They count as one person.")
