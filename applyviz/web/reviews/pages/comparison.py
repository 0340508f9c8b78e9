"""Comparison of two plans of a review: the differences of the second, and the field managers that caused them.

The page details a bounded number of objects and fields and says how many it omits. Values are masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.digest.comparison import FieldMove, ObjectMove, Pair
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.schema.walk import MISSING
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan, Resolution
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.object_links import link_change
from applyviz.web.components.owners import OwnerChip, present_owners
from applyviz.web.components.values import ABSENT, Shown, show_value
from applyviz.web.reviews.pages.sources.option_words import ObjectDifference, compare_options
from applyviz.web.reviews.pane.fields import render_short
from applyviz.web.reviews.pane.resolutions import RESOLUTION_WORDS
from applyviz.workflow import worker_requests
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.plans import comparisons
from applyviz.workflow.plans.comparisons import MOST_DETAILED, Differing
from applyviz.workflow.plans.live_values import hides

FIELDS, NAMED = 30, 3


@dataclass(frozen=True, slots=True)
class MovedValue:
    """One version of a field in both plans; None where the field is absent."""

    word: str | Promise
    first: Shown | None
    second: Shown | None


@dataclass(frozen=True, slots=True)
class MovedField:
    """One field that differs."""

    path: str
    values: tuple[MovedValue, ...]
    movers: tuple[OwnerChip, ...]
    owners_before: tuple[OwnerChip, ...]
    owners_after: tuple[OwnerChip, ...]

    @property
    def has_owner_change(self) -> bool:
        """Return whether the live owner changed."""
        return {o.identity for o in self.owners_before} != {o.identity for o in self.owners_after}


@dataclass(frozen=True, slots=True)
class MovedObject:
    """One object whose change differs; a style is None where a plan does not have the object."""

    name: str
    kind: str
    namespace: str
    first: Appearance | None
    second: Appearance | None
    url: str
    movers: tuple[OwnerChip, ...] = ()
    fields: tuple[MovedField, ...] = ()
    more: int = 0
    is_detailed: bool = True
    is_another_object: bool = False


@dataclass(frozen=True, slots=True)
class ComparePage:
    """The comparison page."""

    review_number: int
    title: str
    first: Plan
    second: Plan
    numbers: tuple[int, ...]
    is_same: bool
    headline: str
    approval_note: str
    differences: tuple[ObjectDifference, ...]
    objects: tuple[MovedObject, ...]
    back_url: str


_VERSIONS = (
    ("live", gettext_lazy("live")),
    ("manifest", gettext_lazy("manifest")),
    ("after", gettext_lazy("after apply")),
)


def _show(value: Any) -> Shown | None:
    return show_value(ABSENT if value is MISSING else value)


def _present_field(move: FieldMove, you: str) -> MovedField:
    pairs: list[tuple[str | Promise, Pair | None]] = [(word, getattr(move, name)) for name, word in _VERSIONS]
    return MovedField(
        render_short(move.path),
        tuple(MovedValue(word, _show(pair.first), _show(pair.second)) for word, pair in pairs if pair is not None),
        present_owners(move.movers, you=you),
        present_owners(move.owners_first, you=you),
        present_owners(move.owners_second, you=you),
    )


def _look(operation: str | None) -> Appearance | None:
    return OBJECT_STYLES[Operation(operation)] if operation else None


def _present_object(one: Differing, first: Plan, second: Plan, move: ObjectMove | None, you: str) -> MovedObject:
    row = one.row
    found = move.fields if move is not None else ()
    return MovedObject(
        name=row.name,
        kind=row.kind,
        namespace=row.namespace,
        first=_look(one.first.operation if one.first else None),
        second=_look(one.second.operation if one.second else None),
        url=link_change(second if one.second else first, row.position),
        movers=present_owners(move.movers, you=you) if move is not None else (),
        fields=tuple(_present_field(f, you) for f in found[:FIELDS]),
        more=len(found[FIELDS:]),
        is_detailed=move is not None,
        is_another_object=move is not None and move.is_another_object,
    )


def _name_source(plan: Plan, other: Plan) -> str:
    """Return the source of a plan; never reveals whether the bytes of two revisions are equal."""
    return "" if plan.revision_id == other.revision_id else _("manifests of plan %(number)d") % {"number": plan.number}


def _compare_frames(first: Plan, second: Plan) -> tuple[ObjectDifference, ...]:
    rows = (
        (_("Source"), _name_source(first, second), _name_source(second, first)),
        (_("Resolutions applied"), str(len(first.decisions)), str(len(second.decisions))),
    )
    differences = [ObjectDifference(label, old[:40], new[:40]) for label, old, new in rows if old != new]
    return (*differences, *compare_options(*(options_from_json(plan.options) for plan in (first, second))))


def _headline(count: int, total: int, *, has_frame: bool) -> str:
    if count:
        text = ngettext("%(count)d of %(total)d object differs", "%(count)d of %(total)d objects differ", total)
        return text % {"count": count, "total": total}
    if has_frame:
        return _("All objects are the same. The plans differ as shown below")
    return _("Both plans are identical")


def _describe_approval(second: Plan, *, is_same: bool) -> str:
    approvals = approving.list_valid_approvals(second) if second.digest else []
    if is_same:
        names = ", ".join(a.by_name for a in approvals)
        return _("Approvals are kept: %(names)s.") % {"names": names} if names else _("No approvals were given.")
    return _("Approvals of the first plan do not apply to the second.")


def _find_shown(first: Plan, second: Plan) -> tuple[comparisons.Differing, ...]:
    return tuple(one for one in comparisons.find_differing(first, second) if not hides(second, one.row))


def present_comparison(first: Plan, second: Plan, *, after: int = 0) -> ComparePage:
    """Return the page; the plans belong to one review. Raises `WaitingError` while a worker compares their secrets."""
    you = options_from_json(second.options).field_manager
    found = _find_shown(first, second)
    detailed, rest = found[:MOST_DETAILED], found[MOST_DETAILED:]
    moves = worker_requests.compare_objects(first, second, detailed, is_waited_for=True, after=after)
    objects = [_present_object(o, first, second, m, you) for o, m in zip(detailed, moves, strict=True)]
    objects += [_present_object(one, first, second, None, you) for one in rest]
    differences = _compare_frames(first, second)
    is_same = first.digest == second.digest
    complete = second.review.plans.filter(state=PlanState.COMPLETE).order_by("number")
    return ComparePage(
        review_number=second.review.number,
        title=second.review.title,
        first=first,
        second=second,
        numbers=tuple(complete.values_list("number", flat=True)),
        is_same=is_same,
        headline=_headline(len(found), sum(second.counts.values()), has_frame=not is_same),
        approval_note=_describe_approval(second, is_same=is_same),
        differences=differences,
        objects=tuple(objects),
        back_url=reverse("reviews:show-plan", args=[second.review.number, second.number]),
    )


def _name_movers(moves: Sequence[ObjectMove]) -> str:
    names = dict.fromkeys(o.manager for move in moves for o in move.movers)
    return ", ".join(names)


def _format_value(value: JSONValue, *, is_before: bool = False) -> str:
    shown = _show(value)
    if shown is None:
        return _("unset") if is_before else _("removed")
    return _("a different long value") if shown.is_long else shown.text


def _describe_field(move: FieldMove) -> str:
    """Return a field that differs, with its result in either plan where that differs."""
    text = render_short(move.path)
    pairs = (("", move.after), (_("live"), move.live), (_("manifest"), move.manifest))
    for word, pair in pairs:
        if pair is not None:
            return " ".join(
                filter(
                    None, (f"{text}:", word, _format_value(pair.first, is_before=True), "→", _format_value(pair.second))
                )
            )
    return text


def _describe_answers(ref: ObjectRef, decided: Sequence[Resolution]) -> str:
    """Return who resolved conflicts of this object between the two plans, and how."""
    mine = [d for d in decided if d.object_key == "/".join(ref.key)]
    words = dict.fromkeys(
        _("resolved by %(name)s: %(resolution)s")
        % {
            "name": d.by.get_username(),
            "resolution": RESOLUTION_WORDS[ResolutionKind(d.choice)] % {"manager": d.manager},
        }
        for d in mine
    )
    return "; ".join(words)


def _describe_operations(move: ObjectMove) -> str:
    words = [str(OBJECT_STYLES[one].word) if one else _("not in the plan") for one in (move.first, move.second)]
    return " → ".join(words) if words[0] != words[1] else ""


def _describe_move(move: ObjectMove, decided: Sequence[Resolution]) -> str:
    about = f"{move.ref.gvk.kind} {move.ref.name}"
    paths = "; ".join(_describe_field(f) for f in move.fields[:NAMED]) + (" …" if len(move.fields) > NAMED else "")
    movers = _name_movers([move])
    why = [_("changed by %(movers)s") % {"movers": movers}] if movers else []
    replaced = _("deleted and re-created since") if move.is_another_object else ""
    answers = _describe_answers(move.ref, decided)
    parts = [replaced, paths, *why, *([answers] if answers else [])]
    if not any(parts):  # such as an object that is left out
        parts = [_describe_operations(move)]
    return ": ".join(filter(None, (about, ", ".join(filter(None, parts)))))


def present_replan_notice(plan: Plan) -> Notice | None:
    """Return the differences of a plan from the previous one; None for the first of a review."""
    if plan.number == 1 or plan.state != PlanState.COMPLETE:
        return None
    before = plan.review.plans.filter(number__lt=plan.number, state=PlanState.COMPLETE).order_by("-number").first()
    if before is None:
        return None
    url = f"{reverse('reviews:compare-plans', args=[plan.review.number])}?from={before.number}&to={plan.number}"
    if before.digest == plan.digest:
        title = _("Identical to plan %(number)d") % {"number": before.number}
        return Notice(OBJECT_STYLES[Operation.UNCHANGED], title, _describe_approval(plan, is_same=True))
    found = _find_shown(before, plan)
    compared = worker_requests.compare_objects(before, plan, found[:NAMED], is_waited_for=False)
    moves = [move for move in compared if move is not None]
    decided = list(plan.review.decisions.filter(plan=before, undone_at=None).select_related("by"))
    lines = [_describe_move(move, decided) for move in moves]
    if len(found) > NAMED:
        more = len(found) - NAMED
        lines.append(ngettext("and %(count)d more object", "and %(count)d more objects", more) % {"count": more})
    dropped = dict.fromkeys(approval.by_name for approval in quorum.list_dropped(plan))
    title = _("Changed since plan %(number)d") % {"number": before.number}
    text = _("The approvals of %(names)s do not apply to this plan.") % {"names": ", ".join(dropped)} if dropped else ""
    return Notice(OBJECT_STYLES[Operation.UPDATE], title, text, tuple(lines), url=url, link=_("Changes between plans"))
