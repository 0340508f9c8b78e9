"""The change of one object by a run, in one line: its most important field, before and after.

The common part of two values appears once, and the part that differs is never cut off. Values are masked.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.web.components.field_paths import split_path
from applyviz.web.components.values import ABSENT, find_value, show_short
from applyviz.workflow.plans.moved_objects import OF_SERVER

_TOLD = (FieldOperation.CHANGED, FieldOperation.SET, FieldOperation.CLEARED)
_FIRST = ("image", "replicas", "maxReplicas", "minReplicas", "minAvailable", "type", "schedule")
_LONGEST, _SHARED = 32, 5


class BeforeAfter(Struct, frozen=True):
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
    length = next((length for length, (one, other) in pairs if one != other), min(len(before), len(after)))
    cut = max(before.rfind(sign, 0, length) for sign in ":/=") + 1
    return (before[:cut], before[cut:], after[cut:]) if cut >= _SHARED else ("", before, after)


def _name_leaf(path: FieldPath) -> str:
    """Return the last name of a path; a dot can be part of it, as in `app.kubernetes.io/version`."""
    return split_path(path)[1]


def _rank(reason: FieldReason) -> tuple[int, int, str]:
    path, leaf = render_path(reason.path), _name_leaf(reason.path)
    rank = _FIRST.index(leaf) if leaf in _FIRST else len(_FIRST)
    return rank, "metadata" in path, path


def _is_of_server(reason: FieldReason) -> bool:
    path = render_path(reason.path)
    return path.startswith(OF_SERVER)


def _shorten(path: str) -> str:
    """Cut the beginning of a long path, at a sign between two names where there is one, and mark the cut."""
    if len(path) <= _LONGEST:
        return path
    end = path[-_LONGEST:]
    start = max(end.rfind(sign, 0, _LONGEST // 2) for sign in "./[")
    return f"…{end[max(start, 0) :].lstrip('./')}"


def present_before_after(change: PlannedObject) -> BeforeAfter:
    """Return the line of one masked change."""
    found = (reason for reason in change.fields if reason.operation in _TOLD)
    named = sorted((reason for reason in found if not _is_of_server(reason)), key=_rank)
    if change.operation.is_deletion:
        return BeforeAfter(is_gone=True)
    if change.operation is Operation.CREATE:
        count = sum(reason.operation is FieldOperation.SET for reason in change.fields)
        return BeforeAfter(is_new=True, more=ngettext("%(n)d field", "%(n)d fields", count) % {"n": count})
    if not named:
        return BeforeAfter()
    first, rest = named[0], len(named) - 1
    before, after = (
        show_short(ABSENT if version is None else find_value(version, first.path), _LONGEST)
        for version in (change.versions.live, change.versions.after or change.versions.merged)
    )
    shared, before, after = share_start(before, after)
    more = ngettext("+%(n)d field", "+%(n)d fields", rest) % {"n": rest} if rest else ""
    if before or after:
        field = "" if shared else _name_leaf(first.path)
        return BeforeAfter(shared, before or _("unset"), after or _("unset"), field, more)
    return BeforeAfter(field=_shorten(render_path(first.path).lstrip(".")), more=more or _("changed"))
