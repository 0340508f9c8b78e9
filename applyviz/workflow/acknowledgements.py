"""Hazards that somebody must take note of before a plan can be approved.

Which they are is computed (`engine/hazards`: dangers of what will be written). Taking note is a person's own
act; it holds in its review while what happens to the object stays the same, and can be withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models.fields.json import KeyTransform
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity
from applyviz.engine.hazards.rules import needs_acknowledgement
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.plan import Operation
from applyviz.engine.planning.serialize import from_json
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.models import Acknowledgement, ObjectChange, Plan
from applyviz.workflow import access, audit, changes
from applyviz.workflow.access import Action, Person
from applyviz.workflow.errors import NotPossibleError
from applyviz.workflow.locks import hold_review
from applyviz.workflow.viewing import name_object


@dataclass(frozen=True, slots=True)
class OpenHazard:
    """One kind of hazard of one object (its `position` in the plan) that nobody took note of yet."""

    position: int
    object_key: str
    effect: str
    kind: HazardKind

    @property
    def identity(self) -> tuple[str, str, str]:
        """What an acknowledgement must name to hold for it."""
        return self.object_key, self.effect, self.kind.value


def _list_dangerous(plan: Plan) -> Iterator[tuple[ObjectChange, list[JSONObject]]]:
    """What will be written and is dangerous, with its hazards; of a document no more is read than that.

    - An object that is refused is judged when it is decided.
    """
    rows = plan.changes.filter(worst_hazard=Severity.DANGER.value, has_effect=True)
    rows = rows.exclude(operation=Operation.REFUSED.value).defer("document", "sealed")
    for row in rows.annotate(found=KeyTransform("hazards", "document")):
        yield row, row.found or []


def find_kinds(hazards: Iterable[Hazard]) -> tuple[HazardKind, ...]:
    """The kinds among hazards that must be taken note of."""
    return tuple(dict.fromkeys(hazard.kind for hazard in hazards if needs_acknowledgement(hazard)))


def list_required(plan: Plan) -> tuple[OpenHazard, ...]:
    """Every hazard of a plan that must be taken note of, whether somebody did or not."""
    return tuple(
        OpenHazard(row.position, name_object(row), row.effect, kind)
        for row, found in _list_dangerous(plan)
        for kind in find_kinds(from_json(Hazard, hazard) for hazard in found)
    )


def list_standing(plan: Plan) -> list[Acknowledgement]:
    """Who took note of what in the review of a plan, the oldest first; each holds for the effect that it names."""
    rows = Acknowledgement.objects.filter(review=plan.review_id, withdrawn_at=None)
    return list(rows.select_related("by", "plan"))


def name_standing(rows: Iterable[Acknowledgement]) -> set[tuple[str, str, str]]:
    """What acknowledgements hold for, as `OpenHazard.identity` says it."""
    return {(row.object_key, row.effect, row.hazard) for row in rows}


def find_open(plan: Plan) -> tuple[OpenHazard, ...]:
    """The hazards of a finished plan that still block its approval; empty when all are taken note of."""
    if plan.state != PlanState.COMPLETE:
        return ()
    required = list_required(plan)
    known = name_standing(list_standing(plan)) if required else set()
    return tuple(hazard for hazard in required if hazard.identity not in known)


def _require_open(plan: Plan) -> None:
    review = hold_review(plan.review_id)  # no run is started between the look and what follows
    if review.state != ReviewState.OPEN:
        facts = {"state": review.get_state_display()}
        raise NotPossibleError(_("the review is %(state)s; nothing is left to acknowledge") % facts)
    latest = review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        raise NotPossibleError(
            _("plan %(number)s took the place of this one; acknowledge there") % {"number": latest.number}
        )


def _subject(plan: Plan, row: ObjectChange) -> audit.Subject:
    return audit.Subject(
        cluster=plan.target.cluster.slug,
        review=plan.review.number,
        plan=plan.number,
        ref=changes.ref_of(row),
        plan_digest=plan.digest,
    )


def _keep(plan: Plan, hazards: Iterable[OpenHazard], *, by: Person, note: str) -> None:
    rows = {row.position: row for row in plan.changes.defer("document", "sealed")}
    kept: dict[tuple[str, str, str], Acknowledgement] = {}
    for hazard in hazards:
        kept[hazard.identity] = Acknowledgement(
            plan=plan,
            review=plan.review,
            effect=hazard.effect,
            object_key=hazard.object_key,
            hazard=hazard.kind.value,
            by=by,
            note=note,
            created_at=timezone.now(),
        )
        detail = {"hazard": hazard.kind.value, "note": note}
        about = _subject(plan, rows[hazard.position])
        audit.record(AuditAction.HAZARD_ACKNOWLEDGED, by=by, about=about, detail=detail)
    try:
        with transaction.atomic():
            Acknowledgement.objects.bulk_create(kept.values())
    except IntegrityError as error:
        raise NotPossibleError(_("you acknowledged this at this very moment already")) from error


def acknowledge_hazards(
    plan: Plan, kind: HazardKind, *, by: Person, position: int | None = None, note: str = ""
) -> int:
    """Take note of one kind of hazard: of one object, or of all that have it; gives how many that were.

    - Raises `NotPossibleError` when there is none (left), or the plan is not the one that counts.
    """
    access.require(by, Action.ACKNOWLEDGE, access.places_of(plan.review))
    with transaction.atomic():
        _require_open(plan)
        mine = name_standing(a for a in list_standing(plan) if a.by_id == by.pk)
        wanted = [h for h in list_required(plan) if h.kind is kind and position in (None, h.position)]
        chosen = [hazard for hazard in wanted if hazard.identity not in mine]
        if not chosen:
            raise NotPossibleError(_("there is no such hazard to acknowledge, or you did so already"))
        _keep(plan, chosen, by=by, note=note)
    return len(chosen)


def withdraw_acknowledgement(plan: Plan, kind: HazardKind, *, by: Person, position: int) -> None:
    """Take one's own acknowledgement back.

    - Raises `NotPossibleError` when there is none of this person, or the review is no longer open.
    """
    access.require(by, Action.ACKNOWLEDGE, access.places_of(plan.review))
    with transaction.atomic():
        _require_open(plan)
        row = plan.changes.defer("document", "sealed").filter(position=position).first()
        if row is None:
            raise NotPossibleError(
                _("plan %(number)s has no object %(position)s") % {"number": plan.number, "position": position}
            )
        mine = Acknowledgement.objects.filter(
            review=plan.review_id,
            effect=row.effect,
            object_key=name_object(row),
            hazard=kind.value,
            by=by,
            withdrawn_at=None,
        )
        if not mine.update(withdrawn_at=timezone.now()):
            raise NotPossibleError(_("you have no acknowledgement here that could be withdrawn"))
        audit.record(
            AuditAction.ACKNOWLEDGEMENT_WITHDRAWN,
            by=by,
            about=_subject(plan, row),
            detail={"hazard": kind.value},
        )


def name_open(hazards: Sequence[OpenHazard]) -> tuple[str, ...]:
    """What hazards that nobody took note of mean for who approves."""
    count = len(hazards)
    text = ngettext("%(n)d danger is not taken note of", "%(n)d dangers are not taken note of", count)
    return (text % {"n": count},) if count else ()
