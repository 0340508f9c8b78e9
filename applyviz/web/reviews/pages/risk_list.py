"""The one list of risks with everything that is needed to act on them: objects, sentences, lines, acknowledgments.

Rule: a high risk is acknowledged for each object that has it. An object that a conflict blocks has no risk until it is
resolved; it is one medium row that leads to the conflict. The list reads the documents of the objects that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.reach import ADMISSION_RULES_CHANGED, RBAC_CHANGED
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.sentences import title
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.badges import LEVEL_STYLES, Appearance
from applyviz.web.components.notices import AcknowledgeAction
from applyviz.web.components.object_links import link_alone
from applyviz.web.components.phrases import describe_risk
from applyviz.web.reviews.pages.acknowledgments import present_all_acts
from applyviz.web.reviews.pages.approval_state import link_conflict
from applyviz.web.reviews.pages.plan_context import PlanContext, link_objects
from applyviz.web.reviews.pages.risks import name_place
from applyviz.web.reviews.pages.strip import RiskCounts, count_risks
from applyviz.web.reviews.pane.diff_lines import COUNTED, DifferingLine, DiffRow, diff_at
from applyviz.workflow.approvals.acknowledgments import PLAN_ITSELF
from applyviz.workflow.approvals.viewed_objects import must_be_viewed, name_object
from applyviz.workflow.foundation import sentences
from applyviz.workflow.plans.changes import read_masked, read_masked_without_fields
from applyviz.workflow.plans.live_values import list_rows
from applyviz.workflow.policies.risks import PlanRisk

LISTED, OPENED, LINES, TEXTS = 50, 3, 12, 4
# Of what decides a risk whole lines are left out only beyond this.
DECISIVE_LINES = 200
# What these add is what they grant, demand or refuse: every line of it decides.
_DECIDED_BY_ADDITIONS = frozenset({RBAC_CHANGED, ADMISSION_RULES_CHANGED})
_STRATEGY = fields("spec", "strategy")
_WORDS: dict[RiskLevel, str | Promise] = {
    RiskLevel.HIGH: gettext_lazy("High"),
    RiskLevel.MEDIUM: gettext_lazy("Medium"),
    RiskLevel.INFO: gettext_lazy("Info"),
}
Acts = Mapping[tuple[int, RiskKind], AcknowledgeAction]


class RiskEntry(Struct, frozen=True):
    """One object that has a risk; `name` is empty for a risk of the plan as a whole.

    - `more_lines`: so many lines are left out; with `has_uncounted` perhaps more.
    - `is_watched`: its object counts as viewed once the lines of all its high risks were on the screen.
    """

    position: int
    kind: str
    name: str
    namespace: str
    url: str
    texts: tuple[str, ...]
    lines: tuple[DiffRow, ...] = ()
    more_lines: int = 0
    has_uncounted: bool = False
    diff_url: str = ""
    act: AcknowledgeAction | None = None
    resolve_url: str = ""
    is_watched: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the risk is still to be acknowledged."""
        return self.act is not None and not self.act.noted


class RiskRow(Struct, frozen=True):
    """One risk with its objects; those beyond `LISTED` (`rest`) are named, and their lines are not read."""

    style: Appearance
    slug: str
    title: str
    entries: tuple[RiskEntry, ...]
    rest: tuple[RiskEntry, ...] = ()

    @property
    def total(self) -> int:
        """The number of objects that have the risk."""
        return len(self.entries) + len(self.rest)

    @property
    def is_folded(self) -> bool:
        """Whether the objects are shown on demand."""
        return self.total > OPENED

    @property
    def open_entries(self) -> tuple[RiskEntry, ...]:
        """The objects whose risk this person may acknowledge."""
        return tuple(e for e in (*self.entries, *self.rest) if e.act is not None and e.act.url and e.is_open)

    @property
    def is_acknowledged(self) -> bool:
        """Whether the risk is acknowledged for every object."""
        return all(e.act is not None and e.act.noted for e in (*self.entries, *self.rest))

    @property
    def open_value(self) -> str:
        """Return the form value that acknowledges them, in the format of `RiskPairsForm`: kind and positions."""
        kinds = {entry.act.kind for entry in self.open_entries if entry.act is not None}
        return f"{''.join(kinds)}:{','.join(str(entry.position) for entry in self.open_entries)}"


class RiskGroup(Struct, frozen=True):
    """The risks of one level."""

    style: Appearance
    word: str | Promise
    note: str
    rows: tuple[RiskRow, ...]
    is_folded: bool


class RiskList(Struct, frozen=True):
    """Everything that the list prints; `open_entries` are those that one act can acknowledge together.

    - `is_complete`: the plan is; `has_unplanned`: some objects have errors; their risks are not listed.
    """

    groups: tuple[RiskGroup, ...]
    counts: RiskCounts
    acknowledge_url: str
    back_url: str
    is_complete: bool
    has_unplanned: bool

    @property
    def open_rows(self) -> tuple[RiskRow, ...]:
        """The risks that this person may acknowledge now."""
        return tuple(row for group in self.groups for row in group.rows if row.open_entries)

    @property
    def open_count(self) -> int:
        """The number of risks that one click acknowledges, each kind once as in the header."""
        return len({row.slug for row in self.open_rows})


def _find_overwritten(change: engine.PlannedObject, risk: Risk) -> tuple[DifferingLine, ...]:
    """The lines of the fields that other managers lose by force; most changes of the object are not among them."""
    losing = set(risk.facts.get("owners", "").split(", "))
    lines: list[DifferingLine] = []
    for reason in change.fields:
        lost = {owner.manager for owner in reason.owners_before} - {owner.manager for owner in reason.owners_after}
        if lost & losing:
            lines += diff_at(change, reason.path)
    return tuple(lines)


def _find_lines(change: engine.PlannedObject, risk: Risk) -> tuple[DifferingLine, ...]:
    """The lines that cause a risk; none for restarts, which every line of a pod template causes."""
    if risk.kind is PODS_RESTART:
        return diff_at(change, _STRATEGY) if risk.level is RiskLevel.HIGH else ()
    if change.operation not in (Operation.UPDATE, Operation.REPLACE):
        return ()
    if risk.kind is FORCED:
        return _find_overwritten(change, risk)
    return diff_at(change, risk.path, most=None if risk.kind in _DECIDED_BY_ADDITIONS else COUNTED)


def _choose_lines(lines: Sequence[DifferingLine], kind: RiskKind) -> tuple[DiffRow, ...]:
    """Return the lines to show, in their order: what is added before what is removed, and no decisive one left out."""
    added = [n for n, line in enumerate(lines) if line.row.after is not None]
    kept = added[: DECISIVE_LINES if kind in _DECIDED_BY_ADDITIONS else LINES]
    removed = [n for n, line in enumerate(lines) if line.row.after is None]
    kept += removed[: max(LINES - len(kept), 0)]
    return tuple(lines[n].present() for n in sorted(kept))


def _present_entry(
    plan: Plan, change: engine.PlannedObject, row: ObjectChange, kind: RiskKind, level: RiskLevel, url: str, acts: Acts
) -> RiskEntry:
    found = [risk for risk in change.risks if risk.kind is kind and risk.level is level]
    shown = found[:TEXTS]
    texts = [describe_risk(risk) for risk in shown]
    if len(found) > TEXTS:
        more = len(found) - TEXTS
        texts.append(ngettext("and %(n)d more field", "and %(n)d more fields", more) % {"n": more})
    parts = [_find_lines(change, risk) for risk in shown] if level is not RiskLevel.INFO else []
    lines = [line for part in parts for line in part]
    chosen = _choose_lines(lines, kind)
    return RiskEntry(
        position=row.position,
        kind=row.kind,
        name=row.name,
        namespace=row.namespace,
        url=url,
        texts=tuple(texts),
        lines=chosen,
        more_lines=len(lines) - len(chosen),
        has_uncounted=kind not in _DECIDED_BY_ADDITIONS and any(len(part) >= COUNTED for part in parts),
        diff_url=link_alone(plan, row.position, "diff") if len(chosen) < len(lines) else "",
        act=acts.get((row.position, kind)),
    )


def _name_entry(row: ObjectChange, kind: RiskKind, url: str, acts: Acts) -> RiskEntry:
    """An object that is only named."""
    return RiskEntry(row.position, row.kind, row.name, row.namespace, url, (), act=acts.get((row.position, kind)))


def _present_plan_row(risk: PlanRisk, acts: Acts) -> RiskRow:
    facts = {"count": str(len(risk.positions)), "limit": str(risk.limit), "unsure": str(risk.unsure or "")}
    facts |= {"who": sentences.join_clauses(risk.unknown)} if risk.unknown else {}
    text = describe_risk(Risk(risk.kind, risk.level, facts=facts))
    entry = RiskEntry(PLAN_ITSELF, "", "", "", "", (text,), act=acts.get((PLAN_ITSELF, risk.kind)))
    return RiskRow(LEVEL_STYLES[risk.level], risk.kind.slug, _(title(risk.kind, risk.level)), (entry,))


def _read(row: ObjectChange) -> engine.PlannedObject:
    """Return a change as its risks need it; only the lines of one that takes fields over come from its fields."""
    is_forced = any(kind == FORCED.slug for kind, _level in row.risk_levels)
    return read_masked(row) if is_forced else read_masked_without_fields(row)


def _present_rows(context: PlanContext, acts: Acts) -> list[tuple[RiskLevel, RiskRow]]:
    plan, url_of = context.plan, link_objects(context.plan)
    wanted = {p for risk in context.risks if not risk.is_of_plan for p in risk.positions[:LISTED]}
    stored = list_rows(plan, Q(position__in=wanted), with_documents=True) if wanted else ()
    changes = {row.position: (row, _read(row)) for row in stored}
    named = {row.position: row for row in context.changes}
    rows = []
    for risk in context.risks:
        if risk.is_of_plan:
            rows.append((risk.level, _present_plan_row(risk, acts)))
            continue
        entries = tuple(
            _present_entry(plan, changes[p][1], changes[p][0], risk.kind, risk.level, url_of(p), acts)
            for p in risk.positions[:LISTED]
        )
        rest = tuple(_name_entry(named[p], risk.kind, url_of(p), acts) for p in risk.positions[LISTED:])
        words = _(title(risk.kind, risk.level))
        shown = RiskRow(LEVEL_STYLES[risk.level], name_place(risk.kind, risk.level), words, entries, rest)
        rows.append((risk.level, shown))
    return rows


def _present_blocked(context: PlanContext) -> RiskRow | None:
    """The objects that conflicts block, as one row; the first of them says where to resolve it."""
    blocked = [row for row in context.changes if row.operation == Operation.BLOCKED]
    if not blocked:
        return None
    url_of, can_resolve = link_objects(context.plan), bool(context.acts.replan_url)
    entries = tuple(
        RiskEntry(
            row.position,
            row.kind,
            row.name,
            row.namespace,
            url_of(row.position),
            (ngettext("%(n)d conflict", "%(n)d conflicts", row.conflicts) % {"n": row.conflicts},),
            resolve_url=link_conflict(context.plan, row.position) if can_resolve and n < OPENED else "",
        )
        for n, row in enumerate(blocked[:LISTED])
    )
    rest = tuple(
        RiskEntry(row.position, row.kind, row.name, row.namespace, url_of(row.position), ()) for row in blocked[LISTED:]
    )
    return RiskRow(LEVEL_STYLES[RiskLevel.MEDIUM], "conflict", _("Blocked by conflict"), entries, rest)


def _watch(context: PlanContext, rows: Sequence[tuple[RiskLevel, RiskRow]]) -> list[tuple[RiskLevel, RiskRow]]:
    """Mark the entries of objects that an approver must view, where the list has every line of their high risks."""
    unseen = {row.position for row in context.changes if must_be_viewed(row) and name_object(row) not in context.viewed}
    high = [entry for level, row in rows if level is RiskLevel.HIGH for entry in (*row.entries, *row.rest)]
    unseen -= {entry.position for entry in high if not entry.lines or entry.more_lines}
    return [
        (level, replace(row, entries=tuple(replace(e, is_watched=e.position in unseen) for e in row.entries)))
        if level is RiskLevel.HIGH
        else (level, row)
        for level, row in rows
    ]


def _note(level: RiskLevel, rows: Sequence[RiskRow]) -> str:
    if level is RiskLevel.HIGH:
        return _("must be acknowledged before approval")
    if level is RiskLevel.MEDIUM:
        return _("need no acknowledgment")
    return ", ".join(row.title for row in rows[:3]) + (" …" if len(rows) > 3 else "")


def present_risk_list(context: PlanContext) -> RiskList:
    """The whole list, the worst first."""
    acts = present_all_acts(context.plan, context.person)
    rows = _watch(context, _present_rows(context, acts)) if context.is_complete else []
    blocked = _present_blocked(context) if context.is_complete else None
    if blocked is not None:
        rows.append((RiskLevel.MEDIUM, blocked))
    groups = []
    for level, word in _WORDS.items():
        found = tuple(row for of_level, row in rows if of_level is level)
        if found:
            groups.append(RiskGroup(LEVEL_STYLES[level], word, _note(level, found), found, level is RiskLevel.INFO))
    return RiskList(
        groups=tuple(groups),
        counts=count_risks(context),
        acknowledge_url=reverse("reviews:acknowledge-all", args=context.address),
        back_url=reverse("reviews:show-overview", args=context.address),
        is_complete=context.is_complete,
        has_unplanned=bool(context.plan.counts.get(Operation.ERROR)),
    )
