"""The actions of a person on a review besides its main button: re-plan, upload new manifests, revoke, close."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person


class ReplanHow(StrEnum):
    """The change of one click in the options of the next plan."""

    CLIENT_SIDE = "client-side"
    SERVER_SIDE = "server-side"
    KEEP_OWNERSHIP = "keep-ownership"
    MOVE_OWNERSHIP = "move-ownership"


@dataclass(frozen=True, slots=True)
class ReplanWay:
    """One button: its label and the change."""

    how: ReplanHow
    text: str


@dataclass(frozen=True, slots=True)
class NextActs:
    """The address of each action; "" when this person may not perform it, or not now."""

    replan_url: str = ""
    ways: tuple[ReplanWay, ...] = ()
    manifests_url: str = ""
    revoke_url: str = ""
    close_url: str = ""

    @property
    def has_any(self) -> bool:
        """Return whether there is any action."""
        return any((self.replan_url, self.manifests_url, self.revoke_url, self.close_url))


def list_ways(options: ApplyOptions) -> tuple[ReplanWay, ...]:
    """Return the other ways to apply the same manifests, one click each."""
    is_client = options.mode is ApplyMode.CLIENT
    if is_client:
        other = ReplanWay(ReplanHow.SERVER_SIDE, _("Re-plan server-side"))
    else:
        other = ReplanWay(ReplanHow.CLIENT_SIDE, _("Re-plan client-side"))
    if not is_client and options.field_manager == SERVER_SIDE_MANAGER:
        return (other,)
    if options.takes_client_side or options.takes_from:
        return (other, ReplanWay(ReplanHow.KEEP_OWNERSHIP, _("Re-plan without ownership migration")))
    moved = _("Re-plan with ownership moved back") if is_client else _("Re-plan with ownership migration")
    return (other, ReplanWay(ReplanHow.MOVE_OWNERSHIP, moved))


def present_next_acts(plan: Plan, found: Quorum, run: ApplyRun | None, *, for_user: Person) -> NextActs:
    """Return the actions of one person; `found` and `run` are those of the plan."""
    review = plan.review
    here = [review.number]
    has_approved = run is None and any(approval.by_id == for_user.pk for approval in found.approvals)
    revoke = reverse("reviews:revoke-approval", args=[*here, plan.number]) if has_approved else ""
    latest = review.latest_plan
    is_latest = latest is None or latest.pk == plan.pk
    is_open = review.state == ReviewState.OPEN and is_latest
    if not is_open or not access.can(for_user, Action.WRITE, access.places_of(review)):
        return NextActs(revoke_url=revoke)
    if plan.state == PlanState.PLANNING:
        return NextActs(revoke_url=revoke, close_url=reverse("reviews:close-review", args=here))
    return NextActs(
        replan_url=reverse("reviews:replan", args=here),
        ways=() if review.applied_by else list_ways(options_from_json(plan.options)),
        manifests_url=reverse("reviews:replace-manifests", args=here),
        revoke_url=revoke,
        close_url=reverse("reviews:close-review", args=here),
    )
