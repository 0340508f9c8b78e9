"""Manages the presets of this installation on the server, as the settings do."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.records.models import Preset
from applyviz.web.reviews.forms.presets import EVERYBODY, PresetForm
from applyviz.web.reviews.forms.reviews import OptionFields, write_text
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import presets
from applyviz.workflow.plans.presets import CLUSTER, FIELDS, PresetDraft

ACTIONS = ("list", "show", "save", "archive")
_TEXTS = ("slug", "name", "description", "title", "team", CLUSTER)


class Command(BaseCommand):
    """`manage.py preset list | show SLUG | save FILE | archive SLUG`."""

    help = "List presets; print one as JSON, save one from such a file, or archive one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("action", choices=ACTIONS)
        parser.add_argument("what", nargs="?", default="", metavar="SLUG or FILE", help="the preset, or its JSON file")

    def handle(self, *args: object, **options: Any) -> None:
        """Run one action."""
        try:
            self._act(options["action"], options["what"])
        except ApplyVizError as error:
            raise CommandError(str(error)) from error

    def _act(self, action: str, what: str) -> None:
        if action == "list":
            for preset in presets.list_presets(for_user=None):
                self.stdout.write(_describe(preset))
            return
        if action == "save":
            self.stdout.write(_describe(_save(_check(_read(what)))))
            return
        found = presets.get_preset(what, for_user=None)
        if action == "show":
            self.stdout.write(json.dumps(_write(found), indent=2))
            return
        presets.archive_preset(found, by=None)
        self.stdout.write(f"{found.slug}: archived")


def _describe(preset: Preset) -> str:
    cluster, team = preset.cluster, preset.team
    where = cluster.slug if cluster else "any cluster"
    return (
        f"{preset.slug}: {preset.name}, {where}, for {team.slug if team else 'every author'}, version {preset.version}"
    )


def _write(preset: Preset) -> dict[str, object]:
    return {
        "slug": preset.slug,
        "name": preset.name,
        "description": preset.description,
        "title": preset.title,
        "team": preset.team.slug if preset.team else "",
        CLUSTER: preset.cluster.slug if preset.cluster else "",
        "options": preset.options,
    }


def _read(path: str) -> dict[str, str]:
    """Return the texts of a JSON file; raises `CommandError` for anything that the form does not have."""
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path or 'the file'} cannot be read as JSON: {error}") from error
    options = given.get("options", {}) if isinstance(given, dict) else None
    if not isinstance(options, dict):
        raise CommandError(f"{path}: write an object as `preset show` prints it")
    named = {name: value for name, value in given.items() if name != "options"}
    odd = sorted({*named} - {*_TEXTS} | {*options} - {*FIELDS})
    if odd:
        raise CommandError(f"{path}: there is no field {', '.join(odd)}")
    untyped = sorted(name for name, value in (named | options).items() if not isinstance(value, str))
    if untyped:
        raise CommandError(f"{path}: {', '.join(untyped)}: write it as text")
    return named | options


def _check(given: dict[str, str]) -> PresetDraft:
    """Return the preset of checked texts; raises `CommandError` with every problem."""
    initial = {name: write_text(OptionFields.base_fields[name].initial) for name in FIELDS}
    form = PresetForm({**initial, **given, "team": given.get("team") or EVERYBODY}, for_user=None)
    if not form.is_valid():
        lines = [f"{name}: {text}" for name, texts in form.errors.items() for text in texts]
        raise CommandError("\n".join(lines))
    return form.draft


def _save(draft: PresetDraft) -> Preset:
    try:
        preset = presets.get_preset(draft.slug, for_user=None)
    except NotVisibleError:
        return presets.add_preset(draft, by=None)
    presets.edit_preset(preset, draft, version=preset.version, by=None)
    return preset
