"""Comparison of two plans of a review: the differences of the second, and the field managers that caused them.

The page details a bounded number of objects and fields and says how many it omits. Values are masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.objects.paths import element_value
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, is_same_json
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
from applyviz.web.components.owners import OwnerChip, is_handed_on, present_owners
from applyviz.web.components.values import ABSENT, PREVIEW_LINES, Shown, show_value
from applyviz.web.reviews.pages.sources.option_words import ObjectDifference, compare_options
from applyviz.web.reviews.pane.diff_lines import DiffRow, diff_values
from applyviz.web.reviews.pane.fields import render_short
from applyviz.web.reviews.pane.resolutions import RESOLUTION_WORDS
from applyviz.workflow import worker_requests
from applyviz.workflow.approvals import quorum
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.plans import comparisons
from applyviz.workflow.plans.comparisons import MOST_DETAILED, Differing
from applyviz.workflow.plans.live_values import hides

FIELDS, NAMED, OPEN_LINES = 30, 3, 60


class MovedValue(Struct, frozen=True):
    """Versions of a field with the same values in both plans; None where the field is absent.

    - `lines`: the differing lines of two long values, in place of the values.
    """

    word: str
    first: Shown | None
    second: Shown | None
    lines: tuple[DiffRow, ...] = ()


class MovedField(Struct, frozen=True):
    """One field that differs."""

    path: str
    values: tuple[MovedValue, ...]
    movers: tuple[OwnerChip, ...]
    owners_before: tuple[OwnerChip, ...]
    owners_after: tuple[OwnerChip, ...]

    @property
    def has_owner_change(self) -> bool:
        """Return whether the live owner changed."""
        return is_handed_on(self.owners_before, self.owners_after)


class MovedObject(Struct, frozen=True):
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
    has_other_error: bool = False
    is_open: bool = True

    @property
    def has_owners(self) -> bool:
        """Return whether any of its fields has an owner or a mover in the cluster; a new object has none."""
        return any(field.movers or field.owners_before or field.owners_after for field in self.fields)

    @property
    def has_movers(self) -> bool:
        """Return whether any of its fields changed in the cluster between the plans."""
        return any(field.movers for field in self.fields)

    @property
    def is_sent_otherwise(self) -> bool:
        """Return whether nothing that is listed says what differs, such as of a field that only the server sets."""
        is_listed = self.fields or self.is_another_object or self.has_other_error or self.first != self.second
        return self.is_detailed and not is_listed

    @property
    def size(self) -> int:
        """Return how many of its fields differ."""
        return len(self.fields) + self.more


class ComparePage(Struct, frozen=True):
    """The comparison page."""

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


def _show(value: JSONValue) -> Shown | None:
    return show_value(ABSENT if value is MISSING else value)


def _present_values(move: FieldMove) -> Iterator[MovedValue]:
    """Yield what differs; versions that differ alike, as manifest and after apply often do, are one."""
    moved = [(str(word), pair) for name, word in _VERSIONS if (pair := getattr(move, name)) is not None]
    name = str(element_value(move.path[-1]))
    while moved:
        pair = moved[0][1]
        alike = [word for word, other in moved if _is_same_pair(pair, other)]
        moved = [one for one in moved if one[0] not in alike]
        sides = [ABSENT if value is MISSING else value for value in (pair.first, pair.second)]
        lines = diff_values(name, *sides, has_diff=False)
        yield MovedValue(", ".join(alike), _show(pair.first), _show(pair.second), lines)


def _is_same_pair(one: Pair, other: Pair) -> bool:
    sides = ((one.first, other.first), (one.second, other.second))
    return all(a is b or (a is not MISSING and b is not MISSING and is_same_json(a, b)) for a, b in sides)


def _present_field(move: FieldMove, you: str) -> MovedField:
    return MovedField(
        render_short(move.path),
        tuple(_present_values(move)),
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
        has_other_error=one.first is not None and one.second is not None and one.first.error != one.second.error,
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
    approvals = list_valid_approvals(second) if second.digest else []
    if is_same:
        names = ", ".join(a.by_name for a in approvals)
        return _("Approvals are kept: %(names)s.") % {"names": names} if names else _("No approvals were given.")
    return _("Approvals of the first plan do not apply to the second.")


def _find_shown(first: Plan, second: Plan) -> tuple[comparisons.Differing, ...]:
    return tuple(one for one in comparisons.find_differing(first, second) if not hides(second, one.row))


def _count_objects(second: Plan, found: Iterable[Differing]) -> int:
    """Return how many objects the two plans have together."""
    return int(sum(second.counts.values())) + sum(one.second is None for one in found)


def _count_lines(value: MovedValue) -> int:
    sides = (min(side.lines, PREVIEW_LINES) for side in (value.first, value.second) if side is not None)
    return len(value.lines) or max(1, sum(sides) - 1)


def _choose_open(objects: Iterable[MovedObject]) -> Iterator[bool]:
    """Yield whether the fields of an object are shown at once: as long as all of them so far take few lines."""
    shown = 0
    for one in objects:
        shown += sum(_count_lines(value) for field in one.fields for value in field.values)
        yield shown <= OPEN_LINES


def present_comparison(first: Plan, second: Plan, *, after: int = 0) -> ComparePage:
    """Return the page; the plans belong to one review. Raises `WaitingError` while a worker compares their secrets."""
    you = options_from_json(second.options).field_manager
    found = _find_shown(first, second)
    detailed, rest = found[:MOST_DETAILED], found[MOST_DETAILED:]
    moves = worker_requests.compare_objects(first, second, detailed, is_waited_for=True, after=after)
    objects = [_present_object(o, first, second, m, you) for o, m in zip(detailed, moves, strict=True)]
    objects = [replace(one, is_open=is_open) for one, is_open in zip(objects, _choose_open(objects), strict=True)]
    objects += [_present_object(one, first, second, None, you) for one in rest]
    differences = _compare_frames(first, second)
    is_same = first.digest == second.digest
    complete = second.review.plans.filter(state=PlanState.COMPLETE).order_by("number")
    return ComparePage(
        first=first,
        second=second,
        numbers=tuple(complete.values_list("number", flat=True)),
        is_same=is_same,
        headline=_headline(len(found), _count_objects(second, found), has_frame=not is_same),
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
    return _("a long value") if shown.is_long else shown.text


def _describe_field(move: FieldMove) -> str:
    """Return a field that differs, with its result in either plan where that differs."""
    text = render_short(move.path)
    pairs = (("", move.after), (_("live"), move.live), (_("manifest"), move.manifest))
    for word, pair in pairs:
        if pair is not None:
            return " ".join(filter(None, (f"{text}:", word, _format_pair(pair))))
    return text


def _format_pair(pair: Pair) -> str:
    shown = [_show(value) for value in (pair.first, pair.second)]
    if all(side is not None and side.is_long for side in shown):
        return _("its long value differs")
    return f"{_format_value(pair.first, is_before=True)} → {_format_value(pair.second)}"


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
