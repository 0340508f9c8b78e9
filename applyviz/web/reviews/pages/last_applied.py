"""The page about the last-applied annotation of an object."""

from __future__ import annotations

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.masking import is_masked
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.web.components.readable_yaml import render_yaml


class LastAppliedPage(Struct, frozen=True):
    """The annotation as YAML; without one, the manifest is proposed (`note`). `why`: why it cannot be edited."""

    kind: str
    name: str
    text: str = ""
    note: str = ""
    why: str = ""


def present_last_applied(change: PlannedObject) -> LastAppliedPage:
    """Return the annotation of a live object, masked for its reader."""
    kind, name = change.ref.gvk.kind, change.ref.name
    live = change.versions.live
    if live is None:
        return LastAppliedPage(
            kind, name, why=_("The object does not exist yet, so it has no last-applied annotation.")
        )
    if names_secret(kind):
        why = _(
            "The annotation of a Secret repeats its values, so it is not shown. Use the operation Set last-applied."
        )
        return LastAppliedPage(kind, name, why=why)
    note = ""
    try:
        found = last_applied.find(live)
        note = "" if found else _("The object has no last-applied annotation. This is the manifest of the plan.")
    except MergeError:
        found, note = None, _("The annotation cannot be read. This is the manifest of the plan.")
    text = render_yaml(found or change.versions.manifest or {})
    if is_masked(text):
        return LastAppliedPage(kind, name, note=note, why=_("It holds masked values, so it cannot be edited here."))
    return LastAppliedPage(kind, name, text, note)
