"""Conflicts between equal values: two spellings of one value, or an empty value that the server does not keep.

Rule: a server compares what is written, not what it means, so `1000m` conflicts with `1`. It leaves out many values
that are null, false, 0 or empty, and their owners still own the field.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from applyviz.engine.diff.structural import is_same_at
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.web.components.values import ABSENT, show_value
from applyviz.workflow.plans.changes import find_root

_EMPTY: tuple[JSONValue, ...] = (None, False, 0, "", [], {})


def is_left_out(change: PlannedObject, path: FieldPath) -> bool:
    """Return whether the manifest has an empty value where the live object has none."""
    wanted = change.versions.in_manifest.find(path)
    return wanted is not ABSENT and wanted in _EMPTY and change.versions.in_live.find(path) is ABSENT


def is_equal_to_live(change: PlannedObject, path: FieldPath) -> bool:
    """Return whether manifest and live object have the same value, perhaps in two spellings."""
    wanted, live = (versions.find(path) for versions in (change.versions.in_manifest, change.versions.in_live))
    if wanted is ABSENT or live is ABSENT:
        return is_left_out(change, path)
    return is_same_at(find_root(change.ref.gvk), path, wanted, live)


def describe_equal_values(change: PlannedObject, path: FieldPath) -> str:
    """Return that the values of a conflict are equal, and what ends it; "" if they are not."""
    if is_left_out(change, path):
        return _("The values are equal, as the server keeps no empty value. Without the line there is no conflict.")
    if not is_equal_to_live(change, path):
        return ""
    live = show_value(change.versions.in_live.find(path))
    text = _("The values are equal, in two spellings. With %(live)s in the manifest there is no conflict.")
    return text % {"live": live.text if live is not None else ""}
