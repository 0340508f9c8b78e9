"""Keys: generates a pair for encryption, shows the keys in use, re-encrypts content, re-signs rows."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from applyviz import sealing_keys
from applyviz.records import sealing
from applyviz.workflow.ops import key_changes, key_rotation


class Command(BaseCommand):
    """`manage.py keys make | show | reseal | re-sign`."""

    help = "Generate a key pair; show which keys are in use; re-encrypt content or re-sign rows under the current key."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name what there is to do."""
        parser.add_argument("what", choices=["make", "show", "reseal", "re-sign"])

    def handle(self, *args: object, **options: Any) -> None:
        """Run the named action."""
        try:
            act = {"make": self._make, "show": self._show, "reseal": self._reseal, "re-sign": self._re_sign}
            act[options["what"]]()
        except (ImproperlyConfigured, sealing_keys.KeyTextError) as error:
            raise CommandError(str(error)) from error

    def _make(self) -> None:
        opening = sealing_keys.make_opening_key()
        self.stdout.write(f"APPLYVIZ_OPENING_KEYS={opening}")
        self.stdout.write(f"APPLYVIZ_SEALING_KEY={sealing_keys.sealing_key_of(opening)}")

    def _show(self) -> None:
        present = sealing.sealing_key()
        self.stdout.write(f"seals  {sealing_keys.name_of(present)}  {present}")
        for opening in settings.APPLYVIZ_OPENING_KEYS:
            self.stdout.write(f"opens  {sealing_keys.name_of(sealing_keys.sealing_key_of(opening))}")

    def _reseal(self) -> None:
        if not sealing.can_open():
            raise CommandError("APPLYVIZ_OPENING_KEYS: nothing can be decrypted here; run this where the worker runs")
        found = key_rotation.rotate_keys()
        for one in found:
            self.stdout.write(f"{one.column:<28} {one.carried:>8} re-encrypted {one.fixed:>8} in finished plans")
        unopened = sum(one.unopened for one in found)
        if unopened:
            raise CommandError(f"{unopened} values are encrypted under keys that are missing; they were left alone")
        if any(one.fixed for one in found):
            self.stdout.write("Keep the earlier keys: finished plans are immutable and still need them.")
        else:
            self.stdout.write("The earlier keys are no longer needed.")

    def _re_sign(self) -> None:
        found = key_changes.re_sign_rows()
        for what in sorted(found.signed | found.current):
            signed, before = found.signed[what], found.current[what]
            self.stdout.write(f"{what:<40} {signed:>8} re-signed {before:>8} were under the current key")
        if found.refused:
            lines = "\n".join(f"not re-signed: {one}" for one in found.refused)
            raise CommandError(
                f"{lines}\n{len(found.refused)} rows do not verify under any key here; they were left alone"
            )
        self.stdout.write("The earlier approval keys are no longer needed.")
