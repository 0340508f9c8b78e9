"""The page of consent: what exactly is approved, by which digest, and every danger in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise

from applyviz.engine.hazards.model import Severity
from applyviz.engine.planning.plan import Operation
from applyviz.engine.planning.serialize import options_from_json
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.presenters.decks import MODE_WORDS, count_effects, name_target
from applyviz.web.presenters.objects import ObjectItem, present_item
from applyviz.web.presenters.operations import OBJECT_LOOKS, SEVERITY_LOOKS, Look
from applyviz.web.presenters.plans import Risk
from applyviz.web.presenters.readings import read_plan
from applyviz.web.presenters.summaries import present_impact, present_sentence
from applyviz.workflow import approvals, quorum
from applyviz.workflow.access import Person

LISTED = (Operation.RECREATE, Operation.PRUNE, Operation.CREATE, Operation.UPDATE)


@dataclass(frozen=True, slots=True)
class OperationList:
    """The objects of one operation."""

    look: Look
    items: tuple[ObjectItem, ...]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Everything that the page prints."""

    review_number: int
    plan_number: int
    title: str
    author: str
    why: str
    ticket: str
    target: str
    server: str
    mode: str | Promise
    manager: str
    digest: str
    count: int
    sentence: str
    impact: tuple[str, ...]
    risks: tuple[Risk, ...]
    lists: tuple[OperationList, ...]
    blockers: tuple[str, ...]
    given: tuple[str, ...]
    needed: int
    can_apply_now: bool
    back_url: str


def _list_operations(plan: Plan, changes: Sequence[ObjectChange]) -> tuple[OperationList, ...]:
    lists = []
    for operation in LISTED:
        items = tuple(
            present_item(
                c,
                url=reverse("reviews:show-object", args=[plan.review.number, plan.number, c.position, "changes"]),
                is_current=False,
            )
            for c in changes
            if c.operation == operation
        )
        if items:
            lists.append(OperationList(OBJECT_LOOKS[operation], items))
    return tuple(lists)


def _present_risks(plan: Plan) -> tuple[Risk, ...]:
    found = read_plan(plan.pk, plan.digest).risks if plan.digest else ()
    base = [plan.review.number, plan.number]
    return tuple(
        Risk(
            SEVERITY_LOOKS[Severity(r.severity)],
            r.text,
            reverse("reviews:show-object", args=[*base, r.position, "changes"]),
        )
        for r in found
    )


def present_confirmation(plan: Plan, *, for_user: Person) -> Confirmation:
    """The whole page."""
    options = options_from_json(plan.options)
    changes = list(plan.changes.defer("document", "sealed"))
    found = quorum.count_quorum(plan)
    standing, needed = found.standing, found.needed
    blockers = approvals.find_plan_blockers(plan) + approvals.find_approver_blockers(plan, for_user=for_user)
    return Confirmation(
        review_number=plan.review.number,
        plan_number=plan.number,
        title=plan.review.title,
        author=plan.review.author.get_username(),
        why=plan.review.reason,
        ticket=plan.review.ticket,
        target=name_target(plan, options),
        server=plan.target.cluster.server,
        mode=MODE_WORDS[options.mode],
        manager=options.field_manager,
        digest=plan.digest,
        count=count_effects(plan),
        sentence=present_sentence(plan),
        impact=present_impact(plan),
        risks=_present_risks(plan),
        lists=_list_operations(plan, changes),
        blockers=blockers,
        given=tuple(a.by_name for a in standing),
        needed=needed,
        can_apply_now=len(standing) + 1 >= needed,
        back_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    )
