"""Read model of approvals: what the policy requires, who approved, who may approve, emergency applies."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import ReviewState
from applyviz.records.models import ApplyRun, Approval, Plan
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.components.requested_reviewers import ReviewerRow, present_requested
from applyviz.web.settings.pages.policies import describe_policy, describe_progress
from applyviz.workflow.approvals import quorum, requested_reviewers
from applyviz.workflow.approvals.plan_blockers import list_change_requests
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.runs import emergency_apply

_SHOWN = 12


class GivenRow(Struct, frozen=True):
    """One valid approval."""

    name: str
    note: str
    at: datetime
    expires_at: datetime | None


class ApprovalForPage(Struct, frozen=True):
    """Required, given and possible approvals.

    - `is_spent`: only approvals that a run used, and no policy. `is_closed`: the review takes no more approvals.
    """

    policy: str
    needs: tuple[str, ...]
    given: tuple[GivenRow, ...]
    may: tuple[str, ...]
    may_more: int
    requested: tuple[ReviewerRow, ...]
    is_spent: bool = False
    is_closed: bool = False


def _present_given(approvals: Iterable[Approval]) -> tuple[GivenRow, ...]:
    return tuple(GivenRow(a.by_name, a.note, a.created_at, a.expires_at) for a in approvals)


def _present_spent(run: ApplyRun) -> ApprovalForPage:
    """Return the approvals that a run spent: the policy of today says nothing about them."""
    spent = list(run.approvals.order_by("pk"))
    text = ngettext("%(n)d approval, used by run %(number)d", "%(n)d approvals, used by run %(number)d", len(spent))
    text = text if spent else _("none; run %(number)d used no approval")
    return ApprovalForPage(
        policy="",
        needs=(text % {"number": run.number, "n": len(spent)},),
        given=_present_given(spent),
        may=(),
        may_more=0,
        requested=(),
        is_spent=True,
    )


def present_approval(plan: Plan, found: Quorum, run: ApplyRun | None) -> ApprovalForPage:
    """Return the summary of approvals."""
    if run is not None:
        return _present_spent(run)
    is_closed = plan.review.state == ReviewState.CLOSED
    may = [] if is_closed else [person.get_username() for person in quorum.list_candidates(plan)]
    return ApprovalForPage(
        policy=describe_policy(found.policy),
        needs=tuple(describe_progress(need.demand, missing=need.missing) for need in found.needs),
        given=_present_given(found.approvals),
        may=tuple(may[:_SHOWN]),
        may_more=max(0, len(may) - _SHOWN),
        requested=present_requested(plan.review, requested_reviewers.find_reviewers(plan, found)),
        is_closed=is_closed,
    )


def present_emergency(plan: Plan) -> Notice | None:
    """Return the banner of an emergency apply."""
    broken = emergency_apply.find_broken(plan)
    if broken is None:
        return None
    text = _("%(name)s ran an emergency apply: %(reason)s (%(ticket)s)") % {
        "name": broken.by_name,
        "reason": broken.reason,
        "ticket": broken.ticket,
    }
    title = _("Emergency apply: this plan ran without the required approvals")
    lines = tuple(_("Missing: %(what)s") % {"what": what} for what in broken.missing)
    return Notice(OBJECT_STYLES[Operation.ERROR], title, text, lines=lines, anchor="broken-glass")


def _list_expired(plan: Plan) -> list[Notice]:
    """Return notices for approvals that expired unspent and were not renewed."""
    now = clock.now()
    given = quorum.list_given(plan)
    counting = {a.by_id for a in given if a.expires_at is None or a.expires_at > now}
    return [
        Notice(
            OBJECT_STYLES[Operation.BLOCKED],
            _("The approval of %(name)s expired") % {"name": a.by_name},
            _("It was valid until %(at)s. Approve again.")
            % {"at": date_format(localtime(a.expires_at), "j M Y H:i T")},
        )
        for a in given
        if a.expires_at is not None and a.expires_at <= now and a.by_id not in counting
    ]


def list_notices(plan: Plan) -> tuple[Notice, ...]:
    """Return the notices about approval at the top of the review page."""
    asked = [
        Notice(
            OBJECT_STYLES[Operation.BLOCKED],
            _("%(name)s requests changes") % {"name": change_request.by.get_username()},
            change_request.note,
            anchor="requested-changes",
        )
        for change_request in list_change_requests(plan)
    ]
    emergency = present_emergency(plan)
    return (*((emergency,) if emergency else ()), *asked, *_list_expired(plan))
