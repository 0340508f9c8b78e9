"""The actions of a person on a review besides its main button: re-plan, upload new manifests, revoke, close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions, PruneMode
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, Plan
from applyviz.sources.git.model import GIT
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import PlanBlocker
from applyviz.workflow.plans import git_sources, object_choices
from applyviz.workflow.plans.source_runs import followings


class ReplanHow(StrEnum):
    """The change of one click in the options of the next plan."""

    CLIENT_SIDE = "client-side"
    SERVER_SIDE = "server-side"
    KEEP_OWNERSHIP = "keep-ownership"
    MOVE_OWNERSHIP = "move-ownership"
    KEEP_OBJECTS = "keep-objects"
    KEEP_KINDS = "keep-kinds"


class ReplanOption(Struct, frozen=True):
    """One button: its label and the change."""

    how: ReplanHow
    text: str


class FetchAgain(Struct, frozen=True):
    """The button that fetches a repository again: its label, and the fields of the form of manifests."""

    text: str
    fields: tuple[tuple[str, str], ...]


class NextActs(Struct, frozen=True):
    """The address of each action; "" when this person may not perform it, or not now.

    - `stop`: why the cluster accepts no plan now; `stop_url`: the page of the cluster.
    """

    replan_url: str = ""
    replan_options: tuple[ReplanOption, ...] = ()
    manifests_url: str = ""
    fetch_again: FetchAgain | None = None
    follow_url: str = ""
    revoke_url: str = ""
    close_url: str = ""
    schedule_url: str = ""
    reviewers_url: str = ""
    stop: str = ""
    stop_url: str = ""

    @property
    def has_any(self) -> bool:
        """Return whether there is any action."""
        return any((self.replan_url, self.manifests_url, self.revoke_url, self.close_url, self.schedule_url))

    def without_plans(self, plan: Plan, stops: Sequence[PlanBlocker]) -> NextActs:
        """Return the actions that are left while no plan can be made on the cluster, and why."""
        if not stops or not self.manifests_url:
            return self
        return replace(
            self,
            replan_url="",
            replan_options=(),
            manifests_url="",
            fetch_again=None,
            stop=sentences.describe(stops[0]),
            stop_url=reverse("clusters:show-cluster", args=[plan.target.cluster.slug]),
        )


def list_replan_options(options: ApplyOptions, kept_kinds: Sequence[str] = ()) -> tuple[ReplanOption, ...]:
    """Return the other ways to apply the same manifests, one click each.

    - `kept_kinds`: those that the plan would prune, and that a policy keeps.
    """
    if not options.is_applying:
        return ()
    prune = options.prune.mode
    if prune not in (PruneMode.ALLOWLIST, PruneMode.APPLYSET):
        return _list_modes(options)
    replan_options = _list_modes(options)
    if prune is PruneMode.ALLOWLIST:  # it finds what client-side apply wrote
        replan_options = tuple(option for option in replan_options if option.how is not ReplanHow.SERVER_SIDE)
    without = ReplanOption(ReplanHow.KEEP_OBJECTS, _("Re-plan without prune"))
    if not kept_kinds:
        return (*replan_options, without)
    text = _("Re-plan without pruning %(kinds)s") % {"kinds": ", ".join(kind.partition("/")[2] for kind in kept_kinds)}
    return (*replan_options, ReplanOption(ReplanHow.KEEP_KINDS, text), without)


def _list_modes(options: ApplyOptions) -> tuple[ReplanOption, ...]:
    is_client = options.mode is ApplyMode.CLIENT
    if is_client:
        other = ReplanOption(ReplanHow.SERVER_SIDE, _("Re-plan server-side"))
    else:
        other = ReplanOption(ReplanHow.CLIENT_SIDE, _("Re-plan client-side"))
    if not is_client and options.field_manager == SERVER_SIDE_MANAGER:
        return (other,)
    if options.takes_client_side or options.takes_from or options.taken_managers:
        return (other, ReplanOption(ReplanHow.KEEP_OWNERSHIP, _("Re-plan without ownership migration")))
    moved = _("Re-plan with ownership moved back") if is_client else _("Re-plan with ownership migration")
    return (other, ReplanOption(ReplanHow.MOVE_OWNERSHIP, moved))


def _offer_fetch(plan: Plan) -> FetchAgain | None:
    source = git_sources.find_again(plan.revision)
    if source is None:
        return None
    ref = str(plan.revision.provenance[GIT].get("ref", "")) or _("the default branch")
    fields = (
        ("git_repository", source.repository),
        ("git_ref", source.ref),
        ("git_path", source.path),
        ("kustomization", source.kustomization),
        *_list_chart_fields(plan),
        ("again", "on"),
        ("seen", str(plan.number)),
    )
    return FetchAgain(_("Fetch %(ref)s again") % {"ref": ref}, fields)


def _list_chart_fields(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the fields of the chart in the repository, if its manifests are rendered from one."""
    chart = git_sources.find_chart(plan.revision)
    if chart is not None:
        yield "chart", chart.chart
        yield "chart_release", chart.release
        yield "chart_values_files", "\n".join(chart.values_files)
        if chart.applies_hooks:
            yield "chart_hooks", "on"


def _offer_following(plan: Plan) -> str:
    """Return the address of the page that switches following on; "" if the review follows its branch, or cannot."""
    if plan.review.applied_by or not followings.find_branch(plan.revision):
        return ""
    following = branches.find_following(plan.review)
    if following is not None and following.ended_at is None:
        return ""
    return reverse("reviews:follow-branch", args=[plan.review.number])


def _list_replan_options(plan: Plan) -> tuple[ReplanOption, ...]:
    options = options_from_json(plan.options)
    return list_replan_options(options, object_choices.find_kept_kinds(plan))


def present_next_acts(
    plan: Plan, found: Quorum, run: ApplyRun | None, *, for_user: Person, is_scheduled: bool = False
) -> NextActs:
    """Return the actions of one person; `found` and `run` are those of the plan.

    - `is_scheduled`: a start of the plan waits already, so no other one is offered.
    """
    review = plan.review
    here = [review.number]
    has_approved = run is None and any(approval.by_id == for_user.pk for approval in found.approvals)
    revoke = reverse("reviews:revoke-approval", args=[*here, plan.number]) if has_approved else ""
    latest = review.latest_plan
    is_latest = latest is None or latest.pk == plan.pk
    is_open = review.state == ReviewState.OPEN and is_latest
    can_schedule = plan.state == PlanState.COMPLETE and run is None and not review.applied_by and not is_scheduled
    schedule = ""
    if is_open and can_schedule and access.can(for_user, Action.APPLY, access.scopes_of(review)):
        schedule = reverse("reviews:schedule-start", args=[*here, plan.number])
    if not is_open or not access.can(for_user, Action.WRITE, access.scopes_of(review)):
        return NextActs(revoke_url=revoke, schedule_url=schedule)
    if plan.state == PlanState.PLANNING:
        return NextActs(
            revoke_url=revoke,
            close_url=reverse("reviews:close-review", args=here),
            reviewers_url=reverse("reviews:request-reviewers", args=here),
        )
    return NextActs(
        replan_url=reverse("reviews:replan", args=[*here, plan.number]),
        replan_options=() if review.applied_by else _list_replan_options(plan),
        manifests_url=reverse("reviews:replace-manifests", args=here),
        fetch_again=_offer_fetch(plan),
        follow_url=_offer_following(plan),
        revoke_url=revoke,
        close_url=reverse("reviews:close-review", args=here),
        schedule_url=schedule,
        reviewers_url=reverse("reviews:request-reviewers", args=here),
    )
