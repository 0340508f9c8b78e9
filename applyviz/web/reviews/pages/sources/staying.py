"""The notice of objects that prune does not delete although one could expect it, each with the reason."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import Operation, Staying
from applyviz.records.models import Plan
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.components.stay_reasons import explain_stay
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.left_behind import list_staying

_LISTED = 10


def _describe(staying: Staying) -> str:
    ref = staying.ref
    named = f"{ref.gvk.kind}/{ref.name}"
    if ref.namespace:
        named = _("%(object)s in %(namespace)s") % {"object": named, "namespace": ref.namespace}
    return f"{named}: {explain_stay(staying.why)}"


def list_stays(plan: Plan, person: Person) -> list[dict[str, str]]:
    """Return the objects as the API names them."""
    return [
        {
            "group": one.ref.gvk.group,
            "kind": one.ref.gvk.kind,
            "namespace": one.ref.namespace,
            "name": one.ref.name,
            "reason": explain_stay(one.why),
        }
        for one in list_staying(plan, for_user=person)
    ]


def present_staying(context: PlanContext) -> tuple[Notice, ...]:
    """Return the notice; () when prune deletes all that one could expect."""
    found = list_staying(context.plan, for_user=context.person)
    if not found:
        return ()
    count = len(found)
    title = ngettext("Prune leaves %(n)d object", "Prune leaves %(n)d objects", count) % {"n": count}
    text = _("It is not in the files and stays in the cluster, as with kubectl. To remove it, open a delete review.")
    if count > 1:
        text = _(
            "They are not in the files and stay in the cluster, as with kubectl. To remove them, open a delete review."
        )
    lines = [_describe(one) for one in found[:_LISTED]]
    if count > _LISTED:
        lines.append(
            ngettext("and %(n)d more object", "and %(n)d more objects", count - _LISTED) % {"n": count - _LISTED}
        )
    return (Notice(OBJECT_STYLES[Operation.LEFT_OUT], title, text, lines=tuple(lines), anchor="staying"),)
