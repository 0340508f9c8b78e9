"""Name the managers that conflict, and say why a resolution is not possible, as every page does."""

from __future__ import annotations

from django.utils.translation import gettext as _

from applyviz.engine.objects.owners import name_owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.ownership.managed_fields import UPDATE
from applyviz.engine.planning.conflicts.resolutions import ResolutionOption
from applyviz.engine.planning.model import plan as engine


def name_opponent(manager: str, *, you: str) -> str:
    """Return the name of a conflicting manager; `you` conflicts only with its own earlier Update."""
    return name_owner(manager, "", operation=UPDATE, you=you)


def name_conflicting(change: engine.PlannedObject, *, you: str) -> dict[FieldPath, list[str]]:
    """Return the conflicting managers of each field, with the subresource or operation that distinguishes them."""
    named: dict[FieldPath, list[str]] = {}
    for conflict in change.conflicts:
        name = name_owner(conflict.manager, conflict.subresource, operation=conflict.operation, you=you)
        named.setdefault(conflict.path, []).append(name)
    return named


def explain_impossible(option: ResolutionOption, *, you: str) -> str:
    """Return why a resolution is not possible, "" if it is."""
    if option.is_possible:
        return ""
    if not option.converted:
        return _("Not possible: the manifest does not set this field itself.")
    return _(
        "Not possible: the conflict would stay. %(you)s last applied this object at %(version)s; the server converts "
        "it to that version and back, which changes this field."
    ) % {"you": you, "version": option.converted}
