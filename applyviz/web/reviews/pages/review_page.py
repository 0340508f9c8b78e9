"""The review page as a whole: header, brief, object list and the pane of the chosen object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Comment, ObjectChange, Plan
from applyviz.web.components.badges import CERTAINTY_STYLES, LEVEL_STYLES, OBJECT_STYLES
from applyviz.web.components.notices import Notice, PlanFact, Progress
from applyviz.web.components.object_links import link_change, link_object
from applyviz.web.components.phrases import describe_risk, title_kind
from applyviz.web.reviews.pages.acknowledgments import present_acts, present_plan_acts
from applyviz.web.reviews.pages.approval_state import find_approval_state
from applyviz.web.reviews.pages.available_actions import NextActs, present_next_acts
from applyviz.web.reviews.pages.comments import CommentThread, present_object_talk, present_review_talk
from applyviz.web.reviews.pages.comparison import present_replan_notice
from applyviz.web.reviews.pages.external_apply import Watch, present_watch
from applyviz.web.reviews.pages.object_groups import draw_picture
from applyviz.web.reviews.pages.object_list import ListChoice, ObjectIndex, ObjectList, present_list
from applyviz.web.reviews.pages.plan_overview import PlanOverview, list_rows, read_for_reader
from applyviz.web.reviews.pages.plan_summary import present_impact, present_sentence
from applyviz.web.reviews.pages.revert import present_undo
from applyviz.web.reviews.pages.review_header import present_header
from applyviz.web.reviews.pages.review_parts import Brief, ReviewHeader
from applyviz.web.reviews.pages.risks import list_high_risks
from applyviz.web.reviews.pane.field_schema import FieldSchema, present_schema, with_past
from applyviz.web.reviews.pane.object_pane import Pane, PaneChoice, present_pane
from applyviz.web.reviews.pane.resolutions import is_edited, present_conflicts
from applyviz.web.runs.pages.approval_summary import list_notices
from applyviz.web.settings.pages.policies import describe_demand
from applyviz.workflow import worker_requests
from applyviz.workflow.approvals import comments as use_cases
from applyviz.workflow.approvals import quorum, viewed_objects
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import field_details as field_facts
from applyviz.workflow.plans.live_values import view_of
from applyviz.workflow.policies.risks import PlanRisk, gather_risks


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Everything that the page prints."""

    header_line: ReviewHeader
    brief: Brief
    listing: ObjectList
    pane: Pane | None
    thread: CommentThread
    object_talk: CommentThread | None
    progress: Progress | None
    poll_url: str
    events_url: str
    watch: Watch | None = None
    chosen: ObjectChange | None = None
    acts: NextActs = field(default_factory=NextActs)

    def context(self) -> dict[str, object]:
        """The parts by their names."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


_ANY = 4_711_000_000


def _link_objects(plan: Plan) -> Callable[[int], str]:
    """Where each object of a plan is shown; asks for the shape of the address once, because plans are long."""
    before, _any, after = link_change(plan, _ANY).partition(str(_ANY))
    return lambda position: f"{before}{position}{after}"


def _list_rows(plan: Plan) -> Sequence[ObjectChange]:
    """The rows of a plan without their documents; those of a complete one are kept."""
    if plan.state == PlanState.COMPLETE and plan.digest:
        return view_of(plan).show(list_rows(plan.pk, plan.digest))
    return view_of(plan).show(plan.changes.defer("document", "sealed").order_by("position"))


def _requests_url(plan: Plan) -> str:
    return reverse("reviews:keep-requests", args=[plan.review.number, plan.number])


def _find_run(plan: Plan) -> ApplyRun | None:
    return ApplyRun.objects.filter(plan=plan).first()


def _certainty(changes: Sequence[ObjectChange]) -> str:
    counts: dict[str, int] = {}
    for change in changes:
        word = str(CERTAINTY_STYLES[engine.Certainty(change.certainty)].word)
        counts[word] = counts.get(word, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{number} {word}" for word, number in sorted(counts.items(), key=lambda pair: -pair[1]))


def _present_facts(plan: Plan, changes: Sequence[ObjectChange], found: Quorum) -> tuple[PlanFact, ...]:
    review = plan.review
    ticket = review.ticket
    url = ticket if ticket.startswith("https://") else ""
    made = localtime(plan.completed_at or plan.created_at)
    asked = "; ".join(describe_demand(need.demand) for need in found.needs) or _("no approval")
    record_url = reverse("reviews:show-record", args=[review.number, plan.number])
    facts = [
        PlanFact(_("by"), review.author.get_username()),
        PlanFact(_("for"), ticket, url=url, is_external=bool(url)) if ticket else None,
        PlanFact(_("source"), plan.revision.digest[:12], is_code=True),
        PlanFact(_("to compare"), _("a file"), url=f"{record_url}#compare-file"),
        PlanFact(_("planned"), date_format(made, "j M Y H:i T")),
        PlanFact(_("results"), _certainty(changes)) if changes else None,
        PlanFact(_("plan digest"), plan.digest[:12], is_code=True) if plan.digest else None,
        PlanFact(_("policy"), plan.policy_version.replace(" ", ", "), is_code=True) if plan.policy_version else None,
        PlanFact(_("approvals required"), asked) if plan.policy_version else None,
        PlanFact(_("change record"), _("Print"), url=record_url),
        PlanFact(_("download"), _("requests (.zip)"), url=_requests_url(plan))
        if plan.state == PlanState.COMPLETE
        else None,
    ]
    return tuple(fact for fact in facts if fact)


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
        notices.append(Notice(loud, _("Plan failed"), plan.error))
    if run is not None and run.state == RunState.STALE:
        url = reverse("runs:show-run", args=[run.number])
        text = _(
            "The cluster changed after this plan was created, so the run stopped before writing anything unapproved."
        )
        notices.append(Notice(soft, _("This plan is stale"), text, url=url, link=_("Changes between plans")))
    if plan.problems:
        notices.append(_present_problems(plan))
    return (*list_notices(plan), *notices, *present_undo(plan))


def _present_plan_risks(plan: Plan, risks: Sequence[PlanRisk], person: Person) -> tuple[Notice, ...]:
    """The risks of the plan as a whole, each with its acknowledgement."""
    of_plan = [risk for risk in risks if risk.is_of_plan]
    acts = present_plan_acts(plan, person) if of_plan else {}
    return tuple(
        Notice(
            LEVEL_STYLES[risk.level],
            title_kind(risk.kind),
            describe_risk(
                Risk(risk.kind, risk.level, facts={"count": str(len(risk.positions)), "limit": str(risk.limit)})
            ),
            anchor=f"risk-{risk.kind.value}",
            act=acts.get(risk.kind),
        )
        for risk in of_plan
    )


def _present_brief(
    plan: Plan, changes: Sequence[ObjectChange], run: ApplyRun | None, found: Quorum, person: Person
) -> Brief:
    url_of = _link_objects(plan)
    is_complete = plan.state == PlanState.COMPLETE
    risks = gather_risks(changes, many=found.policy.many_objects) if is_complete else ()
    return Brief(
        sentence=present_sentence(plan),
        impact=present_impact(plan),
        high_risks=list_high_risks(changes, risks, url_of=url_of) if is_complete else (),
        notices=(*_present_notices(plan, run), *_present_plan_risks(plan, risks, person)),
        why=plan.review.reason,
        facts=_present_facts(plan, changes, found),
        picture=draw_picture(changes, url_of=url_of),
    )


def _present_progress(plan: Plan, changes: Sequence[ObjectChange]) -> Progress | None:
    if plan.state != PlanState.PLANNING:
        return None
    done, expected = len(changes), plan.expected
    if not expected:
        return Progress(_("Reading manifests and cluster…"), 0, 0)
    text = _("%(done)d of %(expected)d objects planned") % {"done": done, "expected": expected}
    return Progress(text, done, expected)


def _get_row(plan: Plan, position: int) -> ObjectChange:
    try:
        return plan.changes.defer("sealed").get(position=position)
    except ObjectChange.DoesNotExist as error:
        raise NotVisibleError(f"plan {plan.number} has no object {position}") from error


def present_field_schema(plan: Plan, position: int, index: int, *, for_user: Person, after: int = 0) -> FieldSchema:
    """What the schema says of one field of one object, who owns it, and what runs did to it."""
    row = _get_row(plan, position)
    change = view_of(plan).read(row)
    if index >= len(change.fields):
        raise NotVisibleError(f"object {position} has no field {index}")
    reason = change.fields[index]
    facts = worker_requests.find_facts(plan, change.ref.gvk, reason.path, by=for_user, after=after)
    about = present_schema(facts, reason.path)
    you = options_from_json(plan.options).field_manager
    return with_past(about, reason.owners_before, field_facts.list_past(plan, row, reason.path), you=you)


def read_change(plan: Plan, position: int) -> engine.PlannedObject:
    """One object of a plan as it is shown."""
    return view_of(plan).read(_get_row(plan, position))


def _present_pane(plan: Plan, position: int, change: engine.PlannedObject, choice: PaneChoice, person: Person) -> Pane:
    return present_pane(
        change,
        options=options_from_json(plan.options),
        choice=replace(
            choice,
            is_edited=is_edited(change),
            archive_url=_requests_url(plan) if plan.state == PlanState.COMPLETE else "",
            file_url_of=lambda name: reverse(
                "reviews:show-file", args=[plan.review.number, plan.number, position, name]
            ),
            manager_url_of=lambda name: (
                reverse("clusters:field-manager", args=[plan.target.cluster.slug, name]) if name else ""
            ),
        ),
        url_of=lambda tab: link_change(plan, position, tab.value),
        field_url_of=lambda index: reverse(
            "reviews:show-field", args=[plan.review.number, plan.number, position, index]
        ),
        settlement=present_conflicts(plan, person, position, change),
        acts=present_acts(plan, person, position, change),
        life_url=link_object(plan.target.cluster.slug, *change.ref.key),
    )


def _present_talk(
    plan: Plan, position: int, change: engine.PlannedObject, said: Sequence[Comment], person: Person
) -> CommentThread:
    return present_object_talk(plan, said, change, position, url=link_change(plan, position), for_user=person)


def get_row(plan: Plan, position: int) -> ObjectChange:
    """The row of one object of a plan, without its documents."""
    try:
        return plan.changes.defer("document", "sealed").get(position=position)
    except ObjectChange.DoesNotExist as error:
        raise NotVisibleError(f"plan {plan.number} has no object {position}") from error


def present_switch(
    plan: Plan, row: ObjectChange, choice: PaneChoice, *, for_user: Person, is_first: bool
) -> dict[str, object]:
    """What moves when another object is chosen: its pane, what was said of it, and what is left to look at.

    - The header changes when a high risk was opened for the first time, because it may have stood in the way.
    """
    change = read_change(plan, row.position)
    viewed = viewed_objects.list_viewed(plan, by=for_user)
    to_view = sum(number for operation, number in plan.counts.items() if operation != Operation.UNCHANGED)
    is_freed = is_first and row.highest_risk == RiskLevel.HIGH
    return {
        "pane": _present_pane(plan, row.position, change, choice, for_user),
        "object_talk": _present_talk(plan, row.position, change, list(use_cases.list_comments(plan)), for_user),
        "viewed": len(viewed),
        "to_view": to_view,
        "header_line": _present_header(plan, for_user) if is_freed else None,
    }


def _present_header(plan: Plan, person: Person) -> ReviewHeader:
    found, run = quorum.count_quorum(plan), _find_run(plan)
    standing = find_approval_state(
        plan, person, _list_rows(plan), found, present_next_acts(plan, found, run, for_user=person)
    )
    return present_header(plan, options_from_json(plan.options), standing, run)


def _list(
    plan: Plan,
    changes: Sequence[ObjectChange],
    listed: ListChoice,
    reading: PlanOverview,
    current: int | None,
    viewed: frozenset[str],
) -> ObjectList:
    chosen = next((c for c in changes if c.position == current), None)
    return present_list(
        changes,
        listed,
        url=reverse("reviews:list-objects", args=[plan.review.number, plan.number]),
        url_of=_link_objects(plan),
        current=current,
        viewed=viewed | {viewed_objects.name_object(chosen)} if chosen else viewed,
        where=ObjectIndex(reading.risks, reading.managers, reading.same),
    )


def present_listing(plan: Plan, listed: ListChoice, *, for_user: Person, current: int | None = None) -> ObjectList:
    """The object list alone, as the reader narrowed it."""
    changes = _list_rows(plan)
    reading = read_for_reader(plan) if plan.state == PlanState.COMPLETE else PlanOverview()
    return _list(plan, changes, listed, reading, current, viewed_objects.list_viewed(plan, by=for_user))


def present_page(
    plan: Plan,
    *,
    for_user: Person,
    position: int | None = None,
    choice: PaneChoice | None = None,
    listed: ListChoice | None = None,
    is_open: bool = False,
) -> ReviewPage:
    """The whole page; `is_open` leaves the pane out, for a page that is there already."""
    options = options_from_json(plan.options)
    changes = _list_rows(plan)
    is_complete = plan.state == PlanState.COMPLETE
    reading = read_for_reader(plan) if is_complete else PlanOverview()
    listed, viewed = listed or ListChoice(), viewed_objects.list_viewed(plan, by=for_user)
    url_of = _link_objects(plan)
    if position is None and is_complete:
        items = _list(plan, changes, listed, reading, None, viewed).items
        position = next((i.position for i in sorted(items, key=lambda i: i.is_calm)), None)
    run, found = _find_run(plan), quorum.count_quorum(plan)
    acts = present_next_acts(plan, found, run, for_user=for_user)
    said = list(use_cases.list_comments(plan))
    shown = position if not is_open else None
    change = None if shown is None else read_change(plan, shown)
    return ReviewPage(
        header_line=present_header(plan, options, find_approval_state(plan, for_user, changes, found, acts), run),
        brief=_present_brief(plan, changes, run, found, for_user),
        listing=_list(plan, changes, listed, reading, position, viewed),
        pane=_present_pane(plan, shown, change, replace(choice or PaneChoice(), keep=listed.query), for_user)
        if shown is not None and change is not None
        else None,
        thread=present_review_talk(plan, said, changes, url_of=url_of, for_user=for_user),
        object_talk=_present_talk(plan, shown, change, said, for_user)
        if shown is not None and change is not None
        else None,
        progress=_present_progress(plan, changes),
        events_url=f"{reverse('reviews:plan-events', args=[plan.review.number, plan.number])}?after={len(changes)}",
        poll_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number])
        if plan.state == PlanState.PLANNING
        else "",
        watch=present_watch(plan, for_user=for_user),
        chosen=next((c for c in changes if c.position == shown), None),
        acts=acts,
    )
