"""Why prune leaves an object although one could expect it to delete it, as a sentence."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from applyviz.engine.planning.model.plan import StayReason

_WHY: dict[StayReason, str | Promise] = {
    StayReason.NOT_APPLIED: gettext_lazy("it matches, but it has no last-applied annotation"),
    StayReason.KIND: gettext_lazy("its kind is not in the allowlist"),
    StayReason.NAMESPACE: gettext_lazy("no object of the files is in its namespace"),
    StayReason.SELECTOR: gettext_lazy("the selector does not match it"),
    StayReason.NO_MEMBER: gettext_lazy("it is not a member of this ApplySet"),
    StayReason.EXCEPTED: gettext_lazy("the options of this review never prune its kind"),
}


def explain_stay(why: StayReason) -> str:
    """Return why prune leaves an object."""
    return str(_WHY[why])
