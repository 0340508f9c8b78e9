"""The Overview tab: risks, pods that restart, facts of the plan and its acts, objects by kind, latest activity."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.sources.git.model import GIT
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice, PlanFact
from applyviz.web.components.requested_reviewers import ReviewerRow, present_requested
from applyviz.web.components.server_text import fold
from applyviz.web.history.pages.entries import EntryRow
from applyviz.web.reviews.pages.activity_tab import count_entries, list_latest
from applyviz.web.reviews.pages.addons.table import ChannelTable, present_channel
from applyviz.web.reviews.pages.available_actions import NextActs
from applyviz.web.reviews.pages.comparison import present_replan_notice
from applyviz.web.reviews.pages.external_apply import Watch, present_watch
from applyviz.web.reviews.pages.object_groups import KindRow, draw_picture
from applyviz.web.reviews.pages.others import present_others
from applyviz.web.reviews.pages.plan_context import PlanContext, link_objects
from applyviz.web.reviews.pages.plan_names import name_identity, name_manager, name_mode
from applyviz.web.reviews.pages.plan_summary import describe_deletion, describe_left_out, describe_prune, present_impact
from applyviz.web.reviews.pages.resource_sums import QuotaRow, ResourceRow, present_quota, present_sum
from applyviz.web.reviews.pages.restarts import RestartRow, count_pods, list_restarts
from applyviz.web.reviews.pages.revert import present_undo
from applyviz.web.reviews.pages.risks import HighRisk, list_high_risks
from applyviz.web.reviews.pages.sources.following import FollowState, present_card
from applyviz.web.reviews.pages.sources.left_behind import present_left_behind
from applyviz.web.reviews.pages.sources.presets import list_changed, name_preset
from applyviz.web.reviews.pages.sources.provenance import read_chart, read_git, sum_up_origins
from applyviz.web.reviews.pages.sources.source_changes import SourceChangesCard, present_source_changes
from applyviz.web.reviews.pages.sources.staying import present_staying
from applyviz.web.reviews.pages.strip import describe_certainty
from applyviz.web.runs.pages.approval_summary import list_notices
from applyviz.web.runs.pages.scheduled_starts import present_scheduled
from applyviz.web.settings.pages.policies import describe_demand
from applyviz.workflow.plans.left_behind import find_earlier_run
from applyviz.workflow.plans.plan_details import list_quotas, read_impact

LATEST = 3


class OverviewTab(Struct, frozen=True):
    """The Overview tab."""

    notices: tuple[Notice, ...]
    channel: ChannelTable | None
    sources: tuple[SourceChangesCard, ...]
    following: FollowState | None
    risks: tuple[HighRisk, ...]
    restarts: tuple[RestartRow, ...]
    pods: str
    impact: tuple[str, ...]
    resources: tuple[ResourceRow, ...]
    quotas: tuple[QuotaRow, ...]
    has_no_quota: bool
    facts: tuple[PlanFact, ...]
    reviewers: tuple[ReviewerRow, ...]
    acts: NextActs
    picture: tuple[KindRow, ...]
    objects: int
    latest: tuple[EntryRow, ...]
    entries: int
    watch: Watch | None

    @property
    def has_high_risk(self) -> bool:
        """Return whether an object in the picture is marked."""
        return any(cell.has_risk for row in self.picture for cell in row.cells)


def _present_problems(plan: Plan) -> Notice:
    count = len(plan.problems)
    lines = tuple(
        ": ".join(filter(None, (":".join(str(p[k]) for k in ("file", "line", "column") if p.get(k)), p["reason"])))
        for p in plan.problems
    )
    if all(p.get("file") for p in plan.problems):
        text = ngettext("%(count)d document could not be read", "%(count)d documents could not be read", count)
    else:
        text = ngettext("%(count)d problem while planning", "%(count)d problems while planning", count)
    return Notice(OBJECT_STYLES[Operation.ERROR], text % {"count": count}, lines=lines, anchor="problems")


def _present_notices(plan: Plan, run: ApplyRun | None) -> tuple[Notice, ...]:
    loud, soft = OBJECT_STYLES[Operation.ERROR], OBJECT_STYLES[Operation.BLOCKED]
    notices = []
    latest = plan.review.latest_plan
    if latest is not None and latest.number > plan.number:
        url = reverse("reviews:show-plan", args=[plan.review.number, latest.number])
        text = _("Superseded by plan %(number)d") % {"number": latest.number}
        notices.append(
            Notice(
                soft, text, _("You can still read this plan, but it can't be applied."), url=url, link=_("Latest plan")
            )
        )
    moved = present_replan_notice(plan) if run is None else None
    if moved is not None:
        notices.append(moved)
    if plan.state == PlanState.FAILED:
        error = fold(plan.error)
        notices.append(Notice(loud, _("Plan failed"), error.sentence, server_message=error.message))
    if run is not None and run.state == RunState.STALE:
        url = reverse("runs:show-run", args=[run.number])
        text = _(
            "The cluster changed after this plan was created, so the run stopped before writing anything unapproved."
        )
        link = _("View run %(number)d") % {"number": run.number}
        notices.append(Notice(soft, _("This plan is stale"), text, url=url, link=link))
    if plan.problems:
        notices.append(_present_problems(plan))
    return (*list_notices(plan), *notices, *present_undo(plan))


def list_shown_risks(context: PlanContext) -> tuple[HighRisk, ...]:
    """Return the high and medium risks of a complete plan, each with its action."""
    if not context.is_complete:
        return ()
    open_kinds = {risk.kind for risk in context.state.facts.risks}
    url_of = link_objects(context.plan)
    return list_high_risks(context.changes, context.risks, url_of=url_of, open_kinds=open_kinds)


def _present_commit(plan: Plan) -> PlanFact | None:
    """Return the commit that the manifests came from, with its message and author."""
    git = read_git(plan.revision)
    if git is None:
        return None
    text = " · ".join(filter(None, (git.short, git.subject, git.author)))
    return PlanFact(_("Commit"), text, url=git.commit_url, is_external=bool(git.commit_url))


def _present_chart(plan: Plan, record_url: str) -> PlanFact | None:
    """Return the chart that the manifests were rendered from, and its release."""
    chart = read_chart(plan.revision)
    if chart is None:
        return None
    text = _("%(chart)s, release %(release)s, for Kubernetes %(version)s") % {
        "chart": f"{chart.name} {chart.version}",
        "release": chart.release,
        "version": chart.kube_version or "?",
    }
    if chart.warnings:
        number = len(chart.warnings)
        text += ngettext(", %(n)d warning of Helm", ", %(n)d warnings of Helm", number) % {"n": number}
    return PlanFact(_("Helm chart"), text, url=f"{record_url}#record-chart")


def _present_preset(context: PlanContext, record_url: str) -> PlanFact | None:
    """Return the preset that filled the form of the review, and which options were changed."""
    review = context.plan.review
    name = name_preset(review)
    changed = ", ".join(change.label for change in list_changed(review, for_user=context.person))
    text = _("%(name)s; changed: %(fields)s") % {"name": name, "fields": changed} if changed else name
    return PlanFact(_("Preset"), text, url=f"{record_url}#record-preset") if name else None


def _list_source_facts(context: PlanContext) -> list[PlanFact | None]:
    plan, review = context.plan, context.plan.review
    ticket = review.ticket
    url = ticket if ticket.startswith("https://") else ""
    identity = name_identity(plan)
    record_url = reverse("reviews:show-record", args=context.address)
    manager, deletion = name_manager(context.options), describe_deletion(context.options)
    return [
        PlanFact(_("Reason"), review.reason) if review.reason else None,
        PlanFact(_("Ticket"), ticket, url=url, is_external=bool(url)) if ticket else None,
        _present_preset(context, record_url),
        PlanFact(_("Manifests"), sum_up_origins(plan.revision), url=f"{record_url}#record-files"),
        _present_commit(plan),
        _present_chart(plan, record_url),
        PlanFact(_("Source"), plan.revision.digest[:12], is_code=True),
        PlanFact(_("Method"), name_mode(context.options)),
        PlanFact(_("Field manager"), manager, is_code=True) if manager else None,
        PlanFact(_("Deletion"), deletion) if deletion else None,
        PlanFact(_("Selector"), context.options.selector, is_code=True) if context.options.selector else None,
        PlanFact(_("Prune"), describe_prune(context.options)) if describe_prune(context.options) else None,
        PlanFact(_("Left out"), describe_left_out(context.options)) if context.options.left_out else None,
        PlanFact(_("Impersonates"), identity, is_code=True) if identity else None,
        PlanFact(_("Results"), describe_certainty(context.changes)) if context.changes else None,
    ]


def _find_earlier(context: PlanContext) -> PlanFact | None:
    """Return how the last run of these objects ended."""
    run = find_earlier_run(context.plan, for_user=context.person)
    if run is None:
        return None
    text = _("run %(number)d: %(state)s") % {"number": run.number, "state": run.get_state_display()}
    return PlanFact(_("Last run of these objects"), text, url=reverse("runs:show-run", args=[run.number]))


def _present_facts(context: PlanContext) -> tuple[PlanFact, ...]:
    plan = context.plan
    asked = "; ".join(describe_demand(need.demand) for need in context.found.needs) or _("no approval")
    record_url = reverse("reviews:show-record", args=context.address)
    facts = [
        *_list_source_facts(context),
        _find_earlier(context),
        PlanFact(_("Approvals required"), asked) if plan.policy_version else None,
        PlanFact(_("Policy"), plan.policy_version.replace(" ", ", "), is_code=True) if plan.policy_version else None,
        PlanFact(_("Plan digest"), plan.digest[:12], is_code=True) if plan.digest else None,
        PlanFact(_("Change record"), _("Print"), url=record_url),
        PlanFact(_("Compare with a file"), _("Choose a file…"), url=f"{record_url}#compare-file"),
        PlanFact(_("Download"), _("requests (.zip)"), url=reverse("reviews:keep-requests", args=context.address))
        if context.is_complete
        else None,
    ]
    return tuple(fact for fact in facts if fact)


def present_overview(context: PlanContext) -> OverviewTab:
    """Return the tab."""
    plan, url_of = context.plan, link_objects(context.plan)
    summary, quotas = read_impact(plan), list_quotas(plan)
    return OverviewTab(
        notices=(
            *present_others(context),
            *present_scheduled(plan, for_user=context.person),
            *_present_notices(plan, context.run),
            *(present_staying(context) or (present_left_behind(context) if context.run is None else ())),
        ),
        channel=present_channel(context.options),
        sources=present_source_changes(plan, for_user=context.person),
        following=present_card(plan, for_user=context.person) if plan.revision.provenance.get(GIT) else None,
        risks=list_shown_risks(context),
        restarts=list_restarts(summary),
        pods=count_pods(summary),
        impact=present_impact(plan),
        resources=tuple(map(present_sum, summary.resources)),
        quotas=tuple(map(present_quota, quotas)),
        has_no_quota=bool(summary.resources) and not quotas,
        facts=_present_facts(context),
        reviewers=present_requested(plan.review, context.state.facts.requested),
        acts=context.acts,
        picture=draw_picture(context.changes, url_of=url_of),
        objects=len(context.changes),
        latest=list_latest(context, LATEST),
        entries=count_entries(context),
        watch=present_watch(plan, for_user=context.person),
    )
