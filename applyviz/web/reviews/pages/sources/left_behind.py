"""The notice of objects that the last run applied and these manifests no longer contain."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import PruneMode
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.workflow.plans.left_behind import find_left_behind

_LISTED = 10


def _name(row: ObjectChange) -> str:
    if not row.namespace:
        return f"{row.kind}/{row.name}"
    words = {"object": f"{row.kind}/{row.name}", "namespace": row.namespace}
    return _("%(object)s in %(namespace)s") % words


def present_left_behind(context: PlanContext) -> tuple[Notice, ...]:
    """Return the notice; () when the manifests contain everything that the last run applied."""
    found = find_left_behind(context.plan, for_user=context.person)
    if found is None:
        return ()
    count, run = len(found.objects), found.run.number
    title = ngettext(
        "%(count)d object of run %(run)d is not in these manifests",
        "%(count)d objects of run %(run)d are not in these manifests",
        count,
    ) % {"count": count, "run": run}
    if context.options.channel is not None:
        text = _("Their addons do not prune them, so they stay. To remove them, open a delete review.")
    elif context.options.prune.mode is PruneMode.NONE:
        text = _("Apply does not change them. To remove them, plan with prune or open a delete review.")
    else:
        text = _("Prune does not select them, so apply does not change them.")
    lines = [_name(row) for row in found.objects[:_LISTED]]
    if count > _LISTED:
        more = count - _LISTED
        lines.append(ngettext("and %(n)d more object", "and %(n)d more objects", more) % {"n": more})
    url = reverse("runs:show-run", args=[run])
    link = _("Run %(run)d") % {"run": run}
    style = OBJECT_STYLES[Operation.LEFT_OUT]
    return (Notice(style, title, text, lines=tuple(lines), url=url, link=link, anchor="left-behind"),)
