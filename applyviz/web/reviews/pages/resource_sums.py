"""Requests and limits of a plan by namespace, before and after, and whether they fit its quotas, as the plan stores."""

from __future__ import annotations

from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.planning.model.quota_lines import Fit, QuotaLine
from applyviz.engine.planning.model.resources import ResourceSum, round_amount
from applyviz.web.components.badges import Appearance

_WORDS: dict[tuple[str, str], str | Promise] = {
    ("requests", "cpu"): _("CPU requests"),
    ("requests", "memory"): _("Memory requests"),
    ("limits", "cpu"): _("CPU limits"),
    ("limits", "memory"): _("Memory limits"),
}
_FITS = {
    Fit.FITS: Appearance("✓", _("fits"), "add"),
    Fit.EXCEEDS: Appearance("×", _("exceeds"), "remove"),  # noqa: RUF001 the cross is drawn
    Fit.UNSET: Appearance("×", _("a container sets none"), "remove"),  # noqa: RUF001 the cross is drawn
    Fit.SCOPED: Appearance("?", _("not calculated: the quota has scopes"), "calm"),
    Fit.UNKNOWN: Appearance("?", _("not known: no usage recorded"), "calm"),
    Fit.UNREAD: Appearance("?", _("not checked"), "calm"),
}
_UNITS = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


class ResourceRow(Struct, frozen=True):
    """One sum; `is_same` when the plan does not change it."""

    namespace: str
    word: str | Promise
    before: str
    after: str

    @property
    def is_same(self) -> bool:
        """Return whether the plan does not change it."""
        return self.before == self.after


def _write_amount(resource: str, text: str) -> str:
    amount = Decimal(text)
    if resource == "cpu":
        return format(round_amount(amount, "0.001").normalize(), "f")
    for power, unit in zip(range(6, 0, -1), _UNITS, strict=True):
        if amount >= 1024**power:
            return f"{format(round_amount(amount / 1024**power, '0.01').normalize(), 'f')} {unit}B"
    return format(amount, "f")


def present_sum(one: ResourceSum) -> ResourceRow:
    """Return a sum of workloads in the plan."""
    amounts = (_write_amount(one.resource, amount) for amount in (one.before, one.after))
    return ResourceRow(one.namespace, _WORDS[one.bound, one.resource], *amounts)


class QuotaRow(Struct, frozen=True):
    """One resource of a quota, or one namespace whose quotas could not be read."""

    namespace: str
    quota: str
    resource: str
    used: str
    after: str
    hard: str
    style: Appearance


def present_quota(one: QuotaLine) -> QuotaRow:
    """Return a quota of a namespace of the plan's workloads."""
    style = _FITS[one.fit]
    if one.status:
        style = Appearance(style.glyph, gettext("not checked (%(status)d)") % {"status": one.status}, style.tone)
    return QuotaRow(one.namespace, one.quota, one.resource, one.used, one.after, one.hard, style=style)
