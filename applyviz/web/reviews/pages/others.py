"""The page "Plan the others": the refused objects, those that refer to them, and everything else of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import UNPLANNED, Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.object_links import link_change
from applyviz.web.components.server_text import fold
from applyviz.web.reviews.pages.object_offers import find_others_url, list_replaceable, present_replacements
from applyviz.web.reviews.pages.plan_context import PlanContext, list_changes
from applyviz.workflow.plans.plan_details import read_graph

_CHOSEN = (*UNPLANNED, Operation.LEFT_OUT)
_NAMED = 3


class Candidate(Struct, frozen=True):
    """One object that may be left out; `note` says why it stands where it does."""

    position: int
    name: str
    namespace: str
    style: Appearance
    note: str
    is_ticked: bool


class OthersPage(Struct, frozen=True):
    """The objects of a plan in the order in which one thinks about leaving them out."""

    refused: tuple[Candidate, ...]
    referring: tuple[Candidate, ...]
    rest: tuple[Candidate, ...]
    reason: str
    has_addons: bool

    @property
    def positions(self) -> tuple[int, ...]:
        """Return every position that can be chosen."""
        return tuple(one.position for one in (*self.refused, *self.referring, *self.rest))

    @property
    def total(self) -> int:
        """Return the number of objects."""
        return len(self.positions)


def _name(row: ObjectChange) -> str:
    return f"{row.kind}/{row.name}"


def _link_objects(plan: Plan, rows: Sequence[ObjectChange]) -> tuple[tuple[str, str], ...]:
    return tuple((_name(row), link_change(plan, row.position)) for row in rows[:10])


def _list_links(plan: Plan, rows: Sequence[ObjectChange]) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions: an object, and one that it refers to, or whose namespace it is in."""
    graph = read_graph(plan)
    for edge in graph.edges if graph is not None else ():
        source, target = (graph.nodes[n].position if graph else None for n in (edge.source, edge.target))
        if source is not None and target is not None:
            yield source, target
    spaces = {row.name: row.position for row in rows if (row.group, row.kind) == NAMESPACE}
    yield from ((row.position, spaces[row.namespace]) for row in rows if row.namespace in spaces)


def _find_referring(plan: Plan, rows: Sequence[ObjectChange], chosen: set[int]) -> Mapping[int, list[str]]:
    """Return the objects that refer to chosen ones, directly or through others, with what they refer to."""
    names = {row.position: _name(row) for row in rows}
    links = [(a, b) for a, b in _list_links(plan, rows) if a in names and b in names and a != b]
    found: dict[int, list[str]] = {}
    reached = set(chosen)
    while True:
        new = {a for a, b in links if b in reached and a not in reached}
        if not new:
            break
        reached |= new
    for a, b in links:
        if a in reached - chosen and b in reached and names[b] not in found.setdefault(a, []):
            found[a].append(names[b])
    return found


def _describe_references(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _NAMED else ""
    return _("refers to %(names)s") % {"names": ", ".join(names[:_NAMED]) + more}


def _describe_refusal(row: ObjectChange) -> str:
    if row.operation == Operation.ERROR:
        return fold(row.error).sentence
    if row.operation == Operation.BLOCKED:
        return ngettext("%(n)d conflict", "%(n)d conflicts", row.conflicts) % {"n": row.conflicts}
    return ""


def _offer(row: ObjectChange, note: str = "") -> Candidate:
    style = OBJECT_STYLES[Operation(row.operation)]
    return Candidate(row.position, _name(row), row.namespace, style, note, row.operation in _CHOSEN)


def _is_parent(row: ObjectChange, options: ApplyOptions) -> bool:
    """Return whether an object is the parent of the ApplySet, which is no member of the set."""
    kind, _mark, name = options.prune.applyset.partition("/")
    return bool(name) and row.name == name and kind.partition(".")[0] == f"{row.kind.lower()}s"


def is_refused_prune(row: ObjectChange, options: ApplyOptions) -> bool:
    """Return whether the server refuses to prune an object: nothing of the set names it, so it cannot be left out."""
    return row.operation == Operation.ERROR and row.method == "delete" and not options.is_deleting


def _can_be_left_out(row: ObjectChange, options: ApplyOptions) -> bool:
    return row.operation != Operation.PRUNE and not is_refused_prune(row, options) and not _is_parent(row, options)


def _list_records(plan: Plan, options: ApplyOptions) -> frozenset[int]:
    """Return the positions of what is written about the addons of a channel: no manifest names it."""
    if options.channel is None:
        return frozenset()
    return frozenset(plan.changes.filter(document__is_record=True).values_list("position", flat=True))


def present_page(plan: Plan) -> OthersPage:
    """Return the page for the reader of a plan."""
    options = options_from_json(plan.options)
    records = _list_records(plan, options)
    rows = [row for row in list_changes(plan) if row.position not in records and _can_be_left_out(row, options)]
    chosen = {row.position for row in rows if row.operation in _CHOSEN}
    referring = _find_referring(plan, rows, chosen)
    refused = [row for row in rows if row.position in chosen]
    is_refused = any(row.operation in UNPLANNED for row in refused)
    suggested = options.left_out_reason or (
        _("Refused in plan %(number)d") % {"number": plan.number} if is_refused else ""
    )
    return OthersPage(
        tuple(_offer(row, _describe_refusal(row)) for row in refused),
        tuple(_offer(row, _describe_references(referring[row.position])) for row in rows if row.position in referring),
        tuple(_offer(row) for row in rows if row.position not in chosen and row.position not in referring),
        suggested,
        options.channel is not None,
    )


def _describe_left_out(options: ApplyOptions) -> str:
    """Return what it means that objects are left out."""
    if options.channel is not None:
        return _(
            "%(reason)s. The addons of left-out objects are neither pruned nor recorded as installed this time. A "
            "later plan without this choice includes these objects again."
        )
    return _(
        "%(reason)s. Left-out objects stay members of their set, and nothing is pruned this time. A later plan without "
        "this choice includes them again."
    )


def present_others(context: PlanContext) -> tuple[Notice, ...]:
    """Return the notices that objects are refused, hold the rest of a plan, or are left out; () without any."""
    url = find_others_url(context.plan, context.person)
    left = [row for row in context.changes if row.operation == Operation.LEFT_OUT]
    refused = [row for row in context.changes if row.operation in UNPLANNED]
    refused = [row for row in refused if not is_refused_prune(row, context.options)]
    if left:
        text = ngettext("%(n)d object is left out", "%(n)d objects are left out", len(left)) % {"n": len(left)}
        links = _link_objects(context.plan, left)
        hint = _describe_left_out(context.options) % {"reason": context.options.left_out_reason.rstrip(".")}
        style = OBJECT_STYLES[Operation.LEFT_OUT]
        notice = Notice(style, text, hint, url=url, link=_("Choose again…"), anchor="left-out", links=links)
        return (notice, *_offer_replacements(context, refused))
    others = len(context.changes) - len(refused)
    if not others:
        return _offer_replacements(context, refused)
    return (_offer_others(context, refused, others, url),) if url and refused and context.is_complete else ()


def _describe_offer(refused: int, replaceable: int) -> str:
    """Return what the next plan can do with the refused objects."""
    if not replaceable:
        return ngettext(
            "The next plan can leave it out and apply the others after their own approval.",
            "The next plan can leave them out and apply the others after their own approval.",
            refused,
        )
    if replaceable == refused:
        return ngettext(
            "The server refuses to change it. The next plan can replace it or leave it out.",
            "The server refuses to change them. The next plan can replace them or leave them out.",
            refused,
        )
    return ngettext(
        "The server refuses to change %(n)d of them. The next plan can replace it, or leave out what is refused.",
        "The server refuses to change %(n)d of them. The next plan can replace these, or leave out what is refused.",
        replaceable,
    ) % {"n": replaceable}


def _offer_replacements(context: PlanContext, refused: Sequence[ObjectChange]) -> tuple[Notice, ...]:
    """Return the offer to replace refused objects, without one to plan others; () if that is of no help."""
    replaceable = list_replaceable(context.plan, refused) if context.is_complete else ()
    posts = present_replacements(context.plan, context.person, replaceable)
    if not posts:
        return ()
    n = len(replaceable)
    text = ngettext("The server refuses to change %(n)d object", "The server refuses to change %(n)d objects", n)
    hint = ngettext("The next plan can replace it.", "The next plan can replace them.", n)
    links = _link_objects(context.plan, replaceable)
    return (Notice(OBJECT_STYLES[Operation.ERROR], text % {"n": n}, hint, anchor="others", posts=posts, links=links),)


def _offer_others(context: PlanContext, refused: Sequence[ObjectChange], others: int, url: str) -> Notice:
    """Return the offer; quiet while only conflicts wait, because they are resolved first, and loud beside an error."""
    count = len(refused)
    text = ngettext("%(n)d object blocks the others", "%(n)d objects block the others", count) % {"n": count}
    replaceable = list_replaceable(context.plan, refused)
    hint = _describe_offer(count, len(replaceable))
    link = ngettext("Plan the other %(n)d…", "Plan the other %(n)d…", others) % {"n": others}
    if any(row.operation == Operation.ERROR for row in refused):
        posts = present_replacements(context.plan, context.person, replaceable)
        links = _link_objects(context.plan, refused)
        style = OBJECT_STYLES[Operation.ERROR]
        return Notice(style, text, hint, url=url, link=link, anchor="others", posts=posts, links=links)
    title = f"{text}: {', '.join(map(_name, refused[:_NAMED]))}{'…' if len(refused) > _NAMED else ''}"
    return Notice(LEVEL_STYLES[RiskLevel.INFO], title, hint, url=url, link=link, anchor="others")
