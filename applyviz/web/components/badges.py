"""How an operation looks: a shape, a word and a tone, for objects and for fields.

One table each, so that every page says the same. The tone never stands alone: shape and word are
printed beside it. Left out on purpose: what an operation means, which is the engine's business.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.risks.model import RiskLevel


class Appearance(Struct, frozen=True):
    """Shape, word and tone of one meaning."""

    glyph: str
    word: str | Promise
    tone: str


OBJECT_STYLES: dict[Operation, Appearance] = {
    Operation.CREATE: Appearance("+", _("create"), "add"),
    Operation.UPDATE: Appearance("~", _("update"), "change"),
    Operation.UNCHANGED: Appearance("=", _("unchanged"), "calm"),
    Operation.REPLACE: Appearance("±", _("replace"), "remove"),
    Operation.PRUNE: Appearance("−", _("prune"), "remove"),  # noqa: RUF001 the minus sign is drawn
    Operation.DELETE: Appearance("−", _("delete"), "remove"),  # noqa: RUF001 the minus sign is drawn
    Operation.NOT_FOUND: Appearance("∅", _("not found"), "calm"),
    Operation.BLOCKED: Appearance("!", _("blocked"), "remove"),
    Operation.LEFT_OUT: Appearance("○", _("left out"), "warn"),
    Operation.WITHHELD: Appearance("?", _("not shown"), "calm"),
    Operation.ERROR: Appearance("×", _("error"), "remove"),  # noqa: RUF001 the cross is drawn
}

FIELD_STYLES: dict[FieldOperation, Appearance] = {
    FieldOperation.SET: Appearance("+", _("set"), "add"),
    FieldOperation.CHANGED: Appearance("~", _("changed"), "change"),
    FieldOperation.CLEARED: Appearance("−", _("removed"), "remove"),  # noqa: RUF001 the minus sign is drawn
    FieldOperation.KEPT: Appearance("·", _("kept"), "keep"),
    FieldOperation.DEFAULTED: Appearance("◦", _("defaulted"), "calm"),
    FieldOperation.UNCHANGED: Appearance("=", _("unchanged"), "calm"),
    FieldOperation.CONFLICT: Appearance("!", _("conflict"), "remove"),
    FieldOperation.NOT_REMOVED: Appearance("≠", _("removal blocked"), "keep"),
    FieldOperation.ALLOCATED: Appearance("◦", _("chosen by the server"), "calm"),
}

FILLED = Appearance("~", _("filled"), "change")


def is_filling(reason: FieldReason) -> bool:
    """Return whether an empty section gets fields: its empty value goes, and nothing is removed."""
    return reason.reason is Reason.MAKES_ROOM and reason.path[-1][0] == "f"


def style_field(reason: FieldReason) -> Appearance:
    """Return how a page shows what happens to a field."""
    return FILLED if is_filling(reason) else FIELD_STYLES[reason.operation]


LEVEL_STYLES: dict[RiskLevel, Appearance] = {
    RiskLevel.HIGH: Appearance("!", _("high risk"), "remove"),
    RiskLevel.MEDIUM: Appearance("!", _("medium risk"), "warn"),
    RiskLevel.INFO: Appearance("i", _("info"), "calm"),
}

CERTAINTY_STYLES: dict[Certainty, Appearance] = {
    Certainty.CONFIRMED: Appearance("✓", _("confirmed"), "add"),
    Certainty.ESTIMATED: Appearance("≈", _("estimated"), "calm"),
    Certainty.NONE: Appearance("!", _("no result"), "warn"),
    Certainty.UNKNOWN: Appearance("?", _("unknown"), "warn"),
}
