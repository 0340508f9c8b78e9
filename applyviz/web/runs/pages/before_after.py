"""The change of one object by a run, in one line: its most important field, before and after.

The common part of two values appears once, and the part that differs is never cut off. Values are masked.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.web.components.values import ABSENT, find_value, show_value

_TOLD = (FieldOperation.CHANGED, FieldOperation.SET, FieldOperation.CLEARED)
_FIRST = ("image", "replicas", "maxReplicas", "minReplicas", "minAvailable", "type", "schedule")
_LONGEST, _SHARED = 32, 5
# The server changes these fields at every write; the manifest does not.
_OF_SERVER = (".metadata.managedFields", ".metadata.resourceVersion", ".metadata.generation", ".status")


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """One line: the common part, the part of each value that differs, and the number of other changes."""

    shared: str = ""
    before: str = ""
    after: str = ""
    field: str = ""
    more: str = ""
    is_new: bool = False
    is_gone: bool = False


def share_start(before: str, after: str) -> tuple[str, str, str]:
    """Return the common start of two texts up to a separator, and the rest of each."""
    pairs = enumerate(zip(before, after, strict=False))
    length = next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))
    cut = max(before.rfind(sign, 0, length) for sign in ":/=") + 1
    return (before[:cut], before[cut:], after[cut:]) if cut >= _SHARED else ("", before, after)


def _rank(reason: FieldReason) -> tuple[int, int, str]:
    path = render_path(reason.path)
    leaf = path.rsplit(".", 1)[-1]
    place = _FIRST.index(leaf) if leaf in _FIRST else len(_FIRST)
    return place, "metadata" in path, path


def _is_of_server(reason: FieldReason) -> bool:
    path = render_path(reason.path)
    return path.startswith(_OF_SERVER)


def _text(value: object) -> str:
    shown = show_value(value)
    if shown is None:
        return ""
    return shown.text if len(shown.text) <= _LONGEST and not shown.is_long else ""


def present_before_after(change: PlannedObject) -> BeforeAfter:
    """Return the line of one masked change."""
    found = (reason for reason in change.fields if reason.operation in _TOLD)
    told = sorted((reason for reason in found if not _is_of_server(reason)), key=_rank)
    if change.operation is Operation.PRUNE:
        return BeforeAfter(is_gone=True)
    if change.operation is Operation.CREATE:
        count = sum(reason.operation is FieldOperation.SET for reason in change.fields)
        return BeforeAfter(is_new=True, more=ngettext("%(n)d field", "%(n)d fields", count) % {"n": count})
    if not told:
        return BeforeAfter()
    first, rest = told[0], len(told) - 1
    before, after = (
        _text(ABSENT if version is None else find_value(version, first.path))
        for version in (change.versions.live, change.versions.after or change.versions.merged)
    )
    shared, before, after = share_start(before, after)
    leaf = render_path(first.path).lstrip(".")
    more = ngettext("+%(n)d field", "+%(n)d fields", rest) % {"n": rest} if rest else ""
    if before or after:
        field = "" if shared else leaf.rsplit(".", 1)[-1]
        return BeforeAfter(shared, before or _("unset"), after or _("unset"), field, more)
    return BeforeAfter(field=leaf[-_LONGEST:], more=more or _("changed"))
