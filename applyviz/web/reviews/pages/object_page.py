"""Everything about one object of a plan, where the Changes tab shows it alone, and about one of its fields."""

from __future__ import annotations

from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone, link_change
from applyviz.web.reviews.pages.acknowledgments import present_acts
from applyviz.web.reviews.pages.comments import CommentThread, present_object_thread
from applyviz.web.reviews.pages.object_offers import find_others_url, present_offers
from applyviz.web.reviews.pages.sources.provenance import describe_origin, link_template
from applyviz.web.reviews.pages.sources.source_changes import LineOrigin, present_line
from applyviz.web.reviews.pane.field_schema import FieldSchema, present_schema, with_past
from applyviz.web.reviews.pane.object_addresses import AloneLinks, ObjectLinks
from applyviz.web.reviews.pane.object_content import AloneChoice
from applyviz.web.reviews.pane.object_notices import present_notices
from applyviz.web.reviews.pane.resolutions import ConflictPage
from applyviz.web.reviews.pane.scroll_object import ScrollObject, present_alone
from applyviz.workflow import worker_requests
from applyviz.workflow.approvals import comments as use_cases
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import field_details as field_facts
from applyviz.workflow.live.shown_owners import date_owners, date_write
from applyviz.workflow.plans import git_sources
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import get_row, read_change


def present_field_schema(plan: Plan, position: int, index: int, *, for_user: Person, after: int = 0) -> FieldSchema:
    """Return the schema of one field of one object, its owners, and its changes by runs."""
    row = get_row(plan, position, with_documents=True)
    change = read_masked(row)
    if index >= len(change.fields):
        raise NotVisibleError(f"object {position} has no field {index}")
    reason = change.fields[index]
    facts = worker_requests.find_facts(plan, change.ref.gvk, reason.path, by=for_user, after=after)
    about = present_schema(facts, reason.path)
    you = options_from_json(plan.options).field_manager
    owners = date_owners(reason.owners_before, plan.server_ahead)
    found = with_past(about, owners, field_facts.list_past(plan, row, reason.path), you=you)
    return replace(found, is_folded=reason.operation is FieldOperation.CONFLICT)


def present_field_line(plan: Plan, position: int, index: int) -> LineOrigin | None:
    """Return the line of one field in its repository, and the commit that last changed it."""
    if not git_sources.find_commit(plan.revision):
        return None
    change = read_change(plan, position)
    return present_line(plan, change.fields[index].position) if index < len(change.fields) else None


def _find_move_url(name: str, plan: Plan, position: int, change: engine.PlannedObject, person: Person) -> str:
    """Return where this person chooses the fields that an object gives up or takes; "" if they may not, or not now."""
    is_written = change.operation in (Operation.UPDATE, Operation.UNCHANGED, Operation.BLOCKED)
    is_written = is_written and options_from_json(plan.options).is_applying
    if not is_written or plan.review.state != ReviewState.OPEN or plan.review.latest_plan != plan:
        return ""
    if not access.can(person, Action.WRITE, access.scopes_of(plan.review)):
        return ""
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number, position])


def _find_last_applied_url(plan: Plan, position: int, change: engine.PlannedObject, person: Person) -> str:
    """Return where last-applied of a live object is viewed and edited; "" without one, or for who may not."""
    can_write = access.can(person, Action.WRITE, access.scopes_of(plan.review))
    if change.versions.live is None or change.operation is Operation.WITHHELD or not can_write:
        return ""
    return reverse("reviews:edit-last-applied", args=[plan.review.number, plan.number, position])


def _link_alone(plan: Plan, position: int, change: engine.PlannedObject, person: Person, part: str) -> AloneLinks:
    here, cluster = [plan.review.number, plan.number], plan.target.cluster.slug
    return AloneLinks(
        page_of=lambda view: f"{link_alone(plan, position, view.value)}&",
        part_of=lambda view: f"{part}?only={position}&view={view.value}&alone=on&",
        file_of=lambda name: reverse("reviews:show-file", args=[*here, position, name]),
        manager_of=lambda name: reverse("clusters:field-manager", args=[cluster, name]) if name else "",
        archive=reverse("reviews:keep-requests", args=here) if plan.state == PlanState.COMPLETE else "",
        changes=link_change(plan, position),
        hand_over=_find_move_url("hand-over", plan, position, change, person),
        take=_find_move_url("take-fields", plan, position, change, person),
        last_applied=_find_last_applied_url(plan, position, change, person),
    )


def present_object(
    plan: Plan,
    position: int,
    change: engine.PlannedObject,
    choice: AloneChoice,
    links: ObjectLinks,
    resolution: ConflictPage,
    *,
    part: str,
    for_user: Person,
) -> ScrollObject:
    """Return one object alone in its chosen view; `part` is the address of parts of the Changes tab."""
    alone_links = _link_alone(plan, position, change, for_user, part)
    acts = present_acts(plan, for_user, position, change)
    offers, others = present_offers(plan, for_user, position, change), find_others_url(plan, for_user)
    found = present_alone(
        change,
        choice,
        position=position,
        options=options_from_json(plan.options),
        links=links,
        alone_links=alone_links,
        notices=present_notices(change, acts, offers, alone_links.hand_over, others),
        resolution=resolution,
        origin=describe_origin(plan, change.position.file),
        origin_url=link_template(plan, change.position.file),
    )
    columns = tuple(replace(one, time=date_write(one.time, plan.server_ahead)) for one in found.content.columns)
    return replace(found, content=replace(found.content, columns=columns))


def present_thread(plan: Plan, position: int, change: engine.PlannedObject, *, for_user: Person) -> CommentThread:
    """Return the comments on one object and its fields."""
    comments = list(use_cases.list_comments(plan))
    return present_object_thread(plan, comments, change, position, for_user=for_user)
