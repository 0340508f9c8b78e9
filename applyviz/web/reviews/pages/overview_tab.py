"""The Overview tab: risks, pods that restart, facts of the plan and its acts, objects by kind, latest activity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice, PlanFact
from applyviz.web.components.server_text import fold
from applyviz.web.history.pages.entries import EntryRow
from applyviz.web.reviews.pages.activity_tab import count_entries, list_latest
from applyviz.web.reviews.pages.available_actions import NextActs
from applyviz.web.reviews.pages.comparison import present_replan_notice
from applyviz.web.reviews.pages.external_apply import Watch, present_watch
from applyviz.web.reviews.pages.object_groups import KindRow, draw_picture
from applyviz.web.reviews.pages.plan_context import PlanContext, link_objects
from applyviz.web.reviews.pages.plan_summary import present_impact
from applyviz.web.reviews.pages.resource_sums import ResourceRow, list_resources
from applyviz.web.reviews.pages.restarts import RestartRow, count_pods, list_restarts
from applyviz.web.reviews.pages.revert import present_undo
from applyviz.web.reviews.pages.review_header import MODE_WORDS, name_identity
from applyviz.web.reviews.pages.risks import HighRisk, list_high_risks
from applyviz.web.reviews.pages.strip import describe_certainty
from applyviz.web.runs.pages.approval_summary import list_notices
from applyviz.web.settings.pages.policies import describe_demand

LATEST = 3


@dataclass(frozen=True, slots=True)
class OverviewTab:
    """The Overview tab."""

    notices: tuple[Notice, ...]
    risks: tuple[HighRisk, ...]
    restarts: tuple[RestartRow, ...]
    pods: str
    impact: tuple[str, ...]
    resources: tuple[ResourceRow, ...]
    facts: tuple[PlanFact, ...]
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
        told = fold(plan.error)
        notices.append(Notice(loud, _("Plan failed"), told.sentence, server_message=told.message))
    if run is not None and run.state == RunState.STALE:
        url = reverse("runs:show-run", args=[run.number])
        text = _(
            "The cluster changed after this plan was created, so the run stopped before writing anything unapproved."
        )
        notices.append(Notice(soft, _("This plan is stale"), text, url=url, link=_("Changes between plans")))
    if plan.problems:
        notices.append(_present_problems(plan))
    return (*list_notices(plan), *notices, *present_undo(plan))


def list_shown_risks(context: PlanContext) -> tuple[HighRisk, ...]:
    """Return the high and medium risks of a complete plan, each with its action."""
    if not context.is_complete:
        return ()
    open_kinds = {risk.kind for risk in context.state.open_risks}
    return list_high_risks(context.changes, context.risks, url_of=link_objects(context.plan), open_kinds=open_kinds)


def _list_source_facts(context: PlanContext) -> list[PlanFact | None]:
    plan, review = context.plan, context.plan.review
    ticket = review.ticket
    url = ticket if ticket.startswith("https://") else ""
    identity = name_identity(plan)
    return [
        PlanFact(_("Reason"), review.reason) if review.reason else None,
        PlanFact(_("Ticket"), ticket, url=url, is_external=bool(url)) if ticket else None,
        PlanFact(_("Source"), plan.revision.digest[:12], is_code=True),
        PlanFact(_("Method"), MODE_WORDS[context.options.mode]),
        PlanFact(_("Field manager"), context.options.field_manager, is_code=True),
        PlanFact(_("Impersonates"), identity, is_code=True) if identity else None,
        PlanFact(_("Results"), describe_certainty(context.changes)) if context.changes else None,
    ]


def _present_facts(context: PlanContext) -> tuple[PlanFact, ...]:
    plan = context.plan
    asked = "; ".join(describe_demand(need.demand) for need in context.found.needs) or _("no approval")
    record_url = reverse("reviews:show-record", args=context.address)
    facts = [
        *_list_source_facts(context),
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
    summary: dict[str, Any] = plan.summary
    restarts: Sequence[RestartRow] = list_restarts(summary)
    return OverviewTab(
        notices=_present_notices(plan, context.run),
        risks=list_shown_risks(context),
        restarts=tuple(restarts),
        pods=count_pods(restarts),
        impact=present_impact(plan),
        resources=list_resources(summary),
        facts=_present_facts(context),
        acts=context.acts,
        picture=draw_picture(context.changes, url_of=url_of),
        objects=len(context.changes),
        latest=list_latest(context, LATEST),
        entries=count_entries(context),
        watch=present_watch(plan, for_user=context.person),
    )
