"""How an operation looks: a shape, a word and a tone, for objects and for fields.

One table each, so that every page says the same. The tone never stands alone: shape and word are
printed beside it. Left out on purpose: what an operation means, which is the engine's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.risks.model import Severity


@dataclass(frozen=True, slots=True)
class Look:
    """Shape, word and tone of one meaning."""

    glyph: str
    word: str | Promise
    tone: str


OBJECT_LOOKS: dict[Operation, Look] = {
    Operation.CREATE: Look("+", _("create"), "add"),
    Operation.UPDATE: Look("~", _("update"), "change"),
    Operation.UNCHANGED: Look("=", _("unchanged"), "calm"),
    Operation.RECREATE: Look("±", _("replace"), "remove"),
    Operation.PRUNE: Look("−", _("prune"), "remove"),  # noqa: RUF001 the minus sign is drawn
    Operation.REFUSED: Look("!", _("blocked"), "warn"),
    Operation.WITHHELD: Look("?", _("not shown"), "calm"),
    Operation.ERROR: Look("×", _("error"), "remove"),  # noqa: RUF001 the cross is drawn
}

FIELD_LOOKS: dict[FieldOperation, Look] = {
    FieldOperation.SET: Look("+", _("set"), "add"),
    FieldOperation.CHANGED: Look("~", _("changed"), "change"),
    FieldOperation.CLEARED: Look("−", _("removed"), "remove"),  # noqa: RUF001 the minus sign is drawn
    FieldOperation.KEPT: Look("·", _("kept"), "keep"),
    FieldOperation.DEFAULTED: Look("◦", _("defaulted"), "calm"),
    FieldOperation.UNCHANGED: Look("=", _("unchanged"), "calm"),
    FieldOperation.CONFLICT: Look("!", _("conflict"), "warn"),
    FieldOperation.NOT_REMOVED: Look("≠", _("removal blocked"), "keep"),
}

SEVERITY_LOOKS: dict[Severity, Look] = {
    Severity.DANGER: Look("!", _("high risk"), "remove"),
    Severity.WARNING: Look("!", _("medium risk"), "warn"),
    Severity.INFO: Look("i", _("info"), "calm"),
}

CERTAINTY_LOOKS: dict[Certainty, Look] = {
    Certainty.CONFIRMED: Look("✓", _("confirmed"), "add"),
    Certainty.ESTIMATED: Look("≈", _("estimated"), "calm"),
    Certainty.NONE: Look("!", _("no result"), "warn"),
    Certainty.UNKNOWN: Look("?", _("unknown"), "warn"),
}
