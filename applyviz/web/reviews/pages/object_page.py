"""Everything about one object of a plan, on a page of its own: its fields, diff, requests, owners and versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import Comment, ObjectChange, Plan
from applyviz.web.components.object_links import link_change, link_details, link_object
from applyviz.web.reviews.pages.acknowledgments import present_acts
from applyviz.web.reviews.pages.comments import CommentThread, present_object_thread
from applyviz.web.reviews.pages.object_offers import find_others_url, present_offers
from applyviz.web.reviews.pages.sources.provenance import describe_origin, link_template
from applyviz.web.reviews.pages.sources.source_changes import LineOrigin, present_line
from applyviz.web.reviews.pane.field_schema import FieldSchema, present_schema, with_past
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.object_pane import Pane, PaneChoice, Tab, present_pane
from applyviz.web.reviews.pane.resolutions import is_edited, present_conflicts
from applyviz.workflow import worker_requests
from applyviz.workflow.approvals import comments as use_cases
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import field_details as field_facts
from applyviz.workflow.plans import git_sources
from applyviz.workflow.plans.live_values import view_of


@dataclass(frozen=True, slots=True)
class ViewedBox:
    """The box of an object's own page that says whether a person viewed the object.

    - `is_watched`: it counts as viewed once all of its rows were on the screen; the page has all of them.
    """

    position: int
    url: str
    is_viewed: bool
    is_watched: bool


def _requests_url(plan: Plan) -> str:
    return reverse("reviews:keep-requests", args=[plan.review.number, plan.number])


def _find_row(plan: Plan, position: int, *left_out: str) -> ObjectChange:
    try:
        return plan.changes.defer(*left_out).get(position=position)
    except ObjectChange.DoesNotExist as error:
        raise NotVisibleError(f"plan {plan.number} has no object {position}") from error


def present_field_schema(plan: Plan, position: int, index: int, *, for_user: Person, after: int = 0) -> FieldSchema:
    """Return the schema of one field of one object, its owners, and its changes by runs."""
    row = _find_row(plan, position, "sealed")
    change = view_of(plan).read(row)
    if index >= len(change.fields):
        raise NotVisibleError(f"object {position} has no field {index}")
    reason = change.fields[index]
    facts = worker_requests.find_facts(plan, change.ref.gvk, reason.path, by=for_user, after=after)
    about = present_schema(facts, reason.path)
    you = options_from_json(plan.options).field_manager
    found = with_past(about, reason.owners_before, field_facts.list_past(plan, row, reason.path), you=you)
    return replace(found, is_folded=reason.operation is FieldOperation.CONFLICT)


def present_field_line(plan: Plan, position: int, index: int) -> LineOrigin | None:
    """Return the line of one field in its repository, and the commit that last changed it."""
    if not git_sources.find_commit(plan.revision):
        return None
    change = read_change(plan, position)
    return present_line(plan, change.fields[index].position) if index < len(change.fields) else None


def read_change(plan: Plan, position: int) -> engine.PlannedObject:
    """Return one object of a plan, masked for its reader."""
    return view_of(plan).read(_find_row(plan, position, "sealed"))


def _present_pane(plan: Plan, position: int, change: engine.PlannedObject, choice: PaneChoice, person: Person) -> Pane:
    return present_pane(
        change,
        options=options_from_json(plan.options),
        origin=describe_origin(plan, change.position.file),
        origin_url=link_template(plan, change.position.file),
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
        url_of=lambda tab: link_details(plan, position, tab.value),
        field_url_of=lambda index: reverse(
            "reviews:show-field", args=[plan.review.number, plan.number, position, index]
        ),
        resolution=present_conflicts(plan, person, position, change),
        acts=present_acts(plan, person, position, change),
        offers=present_offers(plan, person, position, change),
        life_url=link_object(plan.target.cluster.slug, *change.ref.key),
        hand_over_url=_find_move_url("hand-over", plan, position, change, person),
        take_url=_find_move_url("take-fields", plan, position, change, person),
        last_applied_url=_find_last_applied_url(plan, position, change, person),
        others_url=find_others_url(plan, person),
    )


def _present_viewing(
    plan: Plan, row: ObjectChange, pane: Pane, choice: PaneChoice, viewed: Collection[str]
) -> ViewedBox | None:
    """Return the box of one object; None while the plan has no digest, and for an object that stays the same."""
    if not plan.digest or row.operation == Operation.UNCHANGED:
        return None
    is_viewed = viewed_objects.name_object(row) in viewed
    is_whole = choice.tab is Tab.CHANGES and choice.show in (FieldFilter.CHANGES, FieldFilter.ALL)
    is_whole = is_whole and not pane.first_field and not pane.next_field
    return ViewedBox(
        row.position,
        reverse("reviews:mark-viewed", args=[plan.review.number, plan.number]),
        is_viewed,
        is_watched=is_whole and not is_viewed and viewed_objects.must_be_viewed(row),
    )


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


def _present_thread(
    plan: Plan, position: int, change: engine.PlannedObject, comments: Sequence[Comment], person: Person
) -> CommentThread:
    return present_object_thread(plan, comments, change, position, url=link_details(plan, position), for_user=person)


def get_row(plan: Plan, position: int) -> ObjectChange:
    """Return the row of one object of a plan, without its documents."""
    return _find_row(plan, position, "document", "sealed")


def present_object(plan: Plan, row: ObjectChange, choice: PaneChoice, *, for_user: Person) -> dict[str, object]:
    """Return the parts of the page by their names: the object with its chosen tab, the box "viewed", the comments."""
    change = read_change(plan, row.position)
    pane = _present_pane(plan, row.position, change, choice, for_user)
    (shown,) = view_of(plan).show([row])
    return {
        "pane": pane,
        "changes_url": link_change(plan, row.position),
        "viewing": _present_viewing(plan, shown, pane, choice, viewed_objects.list_viewed(plan, by=for_user)),
        "object_thread": _present_thread(plan, row.position, change, list(use_cases.list_comments(plan)), for_user),
    }
