"""Notices of a review that reverts a run: its limits and side effects, and what changed since but is reset anyway."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import Plan, Undo
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice


def present_undo(plan: Plan) -> tuple[Notice, ...]:
    """Return the notices at the top of such a review; () for any other review."""
    undo: Undo | None = getattr(plan.review, "undoes", None)
    if undo is None:
        return ()
    calm, loud = OBJECT_STYLES[Operation.UNCHANGED], OBJECT_STYLES[Operation.BLOCKED]
    url = reverse("runs:show-run", args=[undo.run.number])
    link = _("Run %(number)d") % {"number": undo.run.number}
    notice = Notice(
        loud if undo.notes else calm,
        _("Reverts run %(number)d") % {"number": undo.run.number},
        _("It needs its own approvals. Limits and side effects:") if undo.notes else _("It needs its own approvals."),
        lines=tuple(undo.notes),
        url=url,
        link=link,
    )
    moved = undo.moved.get(str(plan.number)) or ()
    if not moved:
        return (notice,)
    text = _(
        "These fields changed after the run. Applying this review still resets them to their values before the run."
    )
    return (notice, Notice(loud, _("Changed since the run"), text, lines=tuple(moved)))
