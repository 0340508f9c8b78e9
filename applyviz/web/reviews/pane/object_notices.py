"""The notices above the fields of one object: its error, conflicts, risks and server warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.server_errors import ServerError
from applyviz.engine.planning.model.plan import LeftOut, Operation, PlannedObject
from applyviz.engine.risks.autoscaled import AUTOSCALED_FIELD
from applyviz.engine.risks.deletions import REPLACED
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES
from applyviz.web.components.notices import AcknowledgeAction, Notice, PostAction
from applyviz.web.components.phrases import describe_risk, title_risk
from applyviz.web.components.server_text import fold, leave_out_value


def _present_risks(
    risks: tuple[Risk, ...], acts: Mapping[RiskKind, AcknowledgeAction], hand_over_url: str
) -> Iterator[Notice]:
    kinds: dict[tuple[RiskKind, RiskLevel, str], list[str]] = {}
    for risk in risks:
        kinds.setdefault((risk.kind, risk.level, title_risk(risk)), []).append(describe_risk(risk))
    for (kind, level, title), texts in kinds.items():
        one, more = (texts[0], ()) if len(texts) == 1 else ("", tuple(texts))
        notice = Notice(LEVEL_STYLES[level], title, one, lines=more, anchor=f"risk-{kind.slug}", act=acts.get(kind))
        if kind is AUTOSCALED_FIELD and hand_over_url:
            url = f"{hand_over_url}?field=.spec.replicas"
            notice = replace(notice, url=url, link=_("Hand over replicas…"))
        yield notice


def _describe_conflicts(change: PlannedObject) -> str:
    """Return why nothing of a blocked object is written, and how many of its conflicts are resolved."""
    decided = len({answer.path for answer in change.answers})
    total = len({conflict.path for conflict in change.conflicts} | {answer.path for answer in change.answers})
    done = (
        _("%(decided)d of %(total)d conflicts are resolved. ") % {"decided": decided, "total": total} if decided else ""
    )
    return done + _(
        "The API server rejects this object until all its conflicts are resolved. Its other changes are listed "
        "below; disputed fields keep their live value."
    )


# The server quotes the line of a refused expression and marks the position below it; the full message keeps both.
_POINTING = " | "


def _describe_server_error(server_error: ServerError) -> str:
    """Return a problem of one field with its position in the file, without the quoted lines of an expression."""
    position = f"{server_error.position}: " if server_error.position.line else ""
    lines = (line for line in server_error.message.splitlines() if not line.startswith(_POINTING))
    return f"{position}{server_error.field}: {leave_out_value('; '.join(lines))}"


def _present_left_out(change: PlannedObject, left: LeftOut, url: str) -> Notice:
    """Return why an object is left out, and what that means for it."""
    states = {
        True: _("Nothing of it is sent: it does not change in the cluster."),
        False: _("Nothing of it is sent: it does not exist in the cluster."),
        None: _("Nothing of it is sent. Whether it exists in the cluster is unknown."),
    }
    rest = _("It stays a member of its set, and nothing is pruned this time.")
    if change.addon:
        rest = _("Addon %(addon)s is neither pruned nor recorded as installed this time.") % {"addon": change.addon}
    lines = (states[left.exists], rest)
    notice = Notice(OBJECT_STYLES[Operation.LEFT_OUT], _("Left out of this plan"), left.reason, lines=lines)
    return replace(notice, url=url, link=_("Choose again…")) if url else notice


def present_problems(
    change: PlannedObject, offers: tuple[PostAction, ...] = (), others_url: str = ""
) -> tuple[Notice, ...]:
    """Return why nothing of an object is sent: it is left out, or it could not be planned.

    - `offers`: the buttons that change what the next plan does with it; `others_url`: where objects are left out.
    """
    notices = []
    if change.left_out is not None:
        notices.append(_present_left_out(change, change.left_out, others_url))
    if change.error:
        title = _("This object could not be planned")
        lines = tuple(_describe_server_error(server_error) for server_error in change.server_errors)
        folded, style = fold(change.error), OBJECT_STYLES[Operation.ERROR]
        notice = Notice(style, title, folded.sentence, lines=lines, server_message=folded.message, posts=offers)
        notices.append(replace(notice, url=others_url, link=_("Plan the others…")) if others_url else notice)
    return tuple(notices)


def present_warnings(change: PlannedObject) -> tuple[Notice, ...]:
    """Return the warnings of the server about an object as one notice; none without any."""
    if not change.warnings:
        return ()
    return (Notice(LEVEL_STYLES[RiskLevel.MEDIUM], _("Server warnings"), lines=change.warnings),)


def present_notices(
    change: PlannedObject,
    acts: Mapping[RiskKind, AcknowledgeAction] | None = None,
    offers: tuple[PostAction, ...] = (),
    hand_over_url: str = "",
    others_url: str = "",
) -> tuple[Notice, ...]:
    """Return the notices above the fields of an object: error, conflicts, risks, warnings."""
    notices = list(present_problems(change, offers, others_url))
    if change.operation is Operation.BLOCKED:
        notices.append(Notice(OBJECT_STYLES[Operation.BLOCKED], _("Conflicts to resolve"), _describe_conflicts(change)))
    risks = tuple(_present_risks(change.risks, acts or {}, hand_over_url))
    if offers and change.operation is Operation.REPLACE:
        own = f"risk-{REPLACED.slug}"
        risks = tuple(replace(risk, posts=offers) if risk.anchor == own else risk for risk in risks)
    return (*notices, *risks, *present_warnings(change))
