"""The Changes tab: all objects in one scroll, in chunks, beside the list of them.

The scroll and the list share one order (`object_groups.arrange`): what needs attention first, then identical changes
as one block each, then the rest. Only the documents of one chunk are read, so that a plan of thousands opens at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RiskKind, RiskLevel, find_kind
from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.notices import Notice
from applyviz.web.components.object_links import link_alone, link_change, link_object
from applyviz.web.reviews.pages.comments import ON_LINES, CommentThread, read_marks
from applyviz.web.reviews.pages.object_groups import Arranged, SameChange, arrange
from applyviz.web.reviews.pages.object_list import (
    ObjectIndex,
    ObjectList,
    SelectedObjects,
    present_list,
    select_objects,
)
from applyviz.web.reviews.pages.object_offers import find_others_url, present_offers
from applyviz.web.reviews.pages.object_page import present_object, present_thread
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.web.reviews.pages.plan_overview import PlanOverview, read_for_reader
from applyviz.web.reviews.pages.risks import LinkedObject, name_place
from applyviz.web.reviews.pages.scroll_parts import AlikeBlock, Chunk, ScrollChoice, ScrollPage
from applyviz.web.reviews.pages.search.in_plan import find_by_field
from applyviz.web.reviews.pane.flat_rows import ROW_FILTER_WORDS, RowFilter
from applyviz.web.reviews.pane.object_addresses import ObjectLinks
from applyviz.web.reviews.pane.object_content import OBJECT_VIEW_WORDS, SCROLL_VIEWS
from applyviz.web.reviews.pane.object_notices import present_problems
from applyviz.web.reviews.pane.resolutions import ConflictReader
from applyviz.web.reviews.pane.scroll_object import ScrollObject, ViewLink, present_scroll_object, tag_risks
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.approvals.viewed_objects import name_object
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import list_rows

CHUNK, LEAST_ALIKE, NAMED = 20, 2, 60
_ANY = 4_711_000_000


class _Entry(Struct, frozen=True):
    """One object, or objects that are shown as one block."""

    changes: tuple[ObjectChange, ...]
    key: str = ""
    alike: SameChange | None = None


def _open_group(arranged: Sequence[Arranged], choice: ScrollChoice) -> ScrollChoice:
    """The choice that shows the object of the address: its group is opened, if it would not be drawn there.

    - A block of identical changes shows its first object; unchanged objects are drawn only when they are asked for.
    """
    for group in arranged:
        is_unchanged = group.key == Operation.UNCHANGED.value
        hidden = group.changes if is_unchanged else group.changes[1:] if _is_block(group) else ()
        if any(change.position == choice.at for change in hidden):
            return replace(choice, expand=group.key)
    return choice


def _is_block(group: Arranged) -> bool:
    return group.alike is not None and group.alike.is_same and len(group.changes) >= LEAST_ALIKE


def _list_entries(arranged: Sequence[Arranged], choice: ScrollChoice) -> Iterator[_Entry]:
    """The entries of the scroll in their order; unchanged objects only when they are asked for."""
    for group in arranged:
        is_opened = group.key == choice.expand
        if group.key == Operation.UNCHANGED.value and choice.listed.op != Operation.UNCHANGED and not is_opened:
            continue
        if _is_block(group) and not is_opened:
            yield _Entry(group.changes, group.key, group.alike)
        else:
            yield from (_Entry((change,)) for change in group.changes)


class ScrollReader(Struct, frozen=True):
    """The facts about a plan and its reader that the scroll uses; a whole page needs more."""

    plan: Plan
    person: Person
    options: ApplyOptions
    changes: Sequence[ObjectChange]
    viewed: frozenset[str]

    @property
    def address(self) -> tuple[int, int]:
        """The arguments of every address of the plan."""
        return self.plan.review.number, self.plan.number

    @property
    def is_complete(self) -> bool:
        """Whether the plan is finished and can be read as a whole."""
        return self.plan.state == PlanState.COMPLETE


def read_reader(plan: Plan, *, for_user: Person) -> ScrollReader:
    """Read what a chunk needs."""
    viewed = viewed_objects.list_viewed(plan, by=for_user)
    return ScrollReader(plan, for_user, options_from_json(plan.options), list_changes(plan), viewed)


def read_index(context: ScrollReader, overview: PlanOverview, text: str) -> ObjectIndex:
    """Return the values that objects of a plan are filtered by; `text` is the search text of the filter."""
    found = find_by_field(context.plan, context.changes, text)
    return ObjectIndex(overview.risks, overview.managers, overview.same, found)


class _Scroll:
    """One plan as one person scrolls through it."""

    def __init__(self, context: ScrollReader, choice: ScrollChoice) -> None:
        self._context = context
        self.overview = read_for_reader(context.plan) if context.is_complete else PlanOverview()
        self.page_url = reverse("reviews:show-changes", args=context.address)
        self.chunk_url = reverse("reviews:scroll-objects", args=context.address)
        field_url = reverse("reviews:show-field", args=[*context.address, _ANY, _ANY + 1])
        before, _any, after = field_url.partition(str(_ANY))
        middle, _any, end = after.partition(str(_ANY + 1))
        self._field_parts = (before, middle, end)
        self._risks_url = reverse("reviews:show-risks", args=context.address)
        self._desk = ConflictReader(context.plan, context.person)
        self._comments, self.collected = read_marks(context.plan, for_user=context.person)
        self._commented = frozenset(about for about, _path in self._comments)
        self._rows = {row.position: row for row in context.changes}
        self.where = read_index(context, self.overview, choice.listed.q)
        wanted = select_objects(context.changes, choice.listed, self.where, context.viewed)
        self.selection = SelectedObjects(wanted, arrange(wanted, self.overview.same))
        self._choice = _open_group(self.selection.groups, choice)
        self.entries = tuple(_list_entries(self.selection.groups, self._choice))

    def link(self, position: int) -> str:
        """The address of an object in the scroll, in the same view and under the same filter."""
        return f"{self.page_url}{self._choice.write(at=position)}#object-{position}"

    def _find_start(self) -> int:
        at = self._choice.at
        if at is None:
            return min(self._choice.start, max(0, len(self.entries) - 1))
        found = (n for n, one in enumerate(self.entries) if any(c.position == at for c in one.changes))
        return next(found, 0) // CHUNK * CHUNK

    def _read(self, positions: Sequence[int]) -> Mapping[int, engine.PlannedObject]:
        rows = list_rows(self._context.plan, Q(position__in=positions), with_documents=True)
        return {row.position: read_masked(row) for row in rows}

    def _link_object(self, position: int, change: engine.PlannedObject) -> ObjectLinks:
        before, middle, end = self._field_parts
        choice = self._choice
        return ObjectLinks(
            focus=link_alone(self._context.plan, position),
            history=link_object(self._context.plan.target.cluster.slug, *change.ref.key),
            self_of=lambda view: f"{self.chunk_url}{replace(choice, view=view).write(only=position)}",
            field_of=lambda index: f"{before}{position}{middle}{index}{end}",
            risk_of=self._link_risk,
            conflict=f"{self._risks_url}#risk-conflict",
            lines=f"{before}{position}/lines/",
        )

    def _link_risk(self, kind: RiskKind, level: RiskLevel) -> str:
        return f"{self._risks_url}#risk-{name_place(kind, level)}"

    def present_object(self, row: ObjectChange, change: engine.PlannedObject) -> ScrollObject:
        """One object with its head."""
        shown = present_scroll_object(
            change,
            position=row.position,
            options=self._context.options,
            view=self._choice.view,
            chosen=self._choice.show,
            links=self._link_object(row.position, change),
            problems=self._present_problems(row.position, change),
            resolution=self._desk.present(row.position, change),
        )
        return self._mark(shown, row, change)

    def _mark(self, shown: ScrollObject, row: ObjectChange, change: engine.PlannedObject) -> ScrollObject:
        """Say of an object whether it is viewed, and on each of its rows how many comments are open."""
        is_viewed, must_be_viewed = name_object(row) in self._context.viewed, viewed_objects.must_be_viewed(row)
        shown = replace(shown, is_viewed=is_viewed, must_be_viewed=must_be_viewed)
        return self._mark_comments(shown, change)

    def _present_problems(self, position: int, change: engine.PlannedObject) -> tuple[Notice, ...]:
        """Why nothing of an object is sent, with what its reader can have the next plan do instead."""
        if not change.error and change.left_out is None:
            return ()
        plan, person = self._context.plan, self._context.person
        return present_problems(change, present_offers(plan, person, position, change), find_others_url(plan, person))

    def _mark_comments(self, shown: ScrollObject, change: engine.PlannedObject) -> ScrollObject:
        """Say on each row how many comments on its field are open."""
        key = "/".join(change.ref.key)
        if key not in self._commented:
            return shown
        rows = tuple(
            replace(flat, comments=self._comments.get((key, render_path(change.fields[flat.row.index].path)), 0))
            for flat in shown.content.rows
        )
        return replace(shown, content=replace(shown.content, rows=rows), line_comments=self._comments[key, ON_LINES])

    def _link_member(self, row: ObjectChange) -> LinkedObject:
        return LinkedObject(row.name, row.kind, self.link(row.position))

    def _present_block(self, entry: _Entry, change: engine.PlannedObject, alike: SameChange) -> AlikeBlock:
        rows = entry.changes
        kinds = {row.kind for row in rows}
        facts = {"count": len(rows), "kind": f"{next(iter(kinds))}s" if len(kinds) == 1 else _("objects")}
        risks = [(find_kind(kind), RiskLevel(level)) for row in rows for kind, level in row.risk_levels]
        sample = self.present_object(rows[0], change)
        return AlikeBlock(
            key=entry.key,
            title=_("%(count)d %(kind)s with the same change") % facts,
            what=alike.text,
            risks=tag_risks(risks, self._link_risk),
            sample=replace(sample, is_viewed=False),
            members=tuple(map(self._link_member, rows[:NAMED])),
            hidden_members=len(rows[NAMED:]),
            similar=tuple(
                LinkedObject(row.name, row.kind, link_change(self._context.plan, n))  # the filter may hide it
                for n, row in ((n, self._rows.get(n)) for n in alike.exceptions[:8])
                if row is not None
            ),
            expand_url=f"{self.page_url}{replace(self._choice, expand=entry.key).write(at=rows[0].position)}",
            expand_text=ngettext("Show as %(count)d object", "Show as %(count)d objects", len(rows))
            % {"count": len(rows)},
            is_viewed=all(name_object(row) in self._context.viewed for row in rows),
        )

    def _present(self, entries: Sequence[_Entry]) -> Iterator[ScrollObject | AlikeBlock]:
        found = self._read([entry.changes[0].position for entry in entries])
        self._desk.applied.prepare(found)
        for entry in entries:
            first = entry.changes[0]
            if first.position not in found:
                continue
            change = found[first.position]
            if entry.alike is not None:
                yield self._present_block(entry, change, entry.alike)
            else:
                yield self.present_object(first, change)

    def _find(self, position: int) -> tuple[ObjectChange, engine.PlannedObject]:
        row = self._rows.get(position)
        found = self._read([position]) if row is not None else {}
        if row is None or position not in found:
            raise NotVisibleError(f"plan {self._context.plan.number} has no object {position}")
        return row, found[position]

    def find_entry(self, position: int) -> ScrollObject:
        """One object, drawn like in the scroll."""
        return self.present_object(*self._find(position))

    def find_alone(self, position: int) -> tuple[ScrollObject, CommentThread]:
        """One object alone with everything about it, and the comments on it."""
        context, (row, change) = self._context, self._find(position)
        shown = present_object(
            context.plan,
            position,
            change,
            self._choice.of_object,
            self._link_object(position, change),
            self._desk.present(position, change),
            part=self.chunk_url,
            for_user=context.person,
        )
        can_view = shown.can_view and bool(context.plan.digest)
        thread = present_thread(context.plan, position, change, for_user=context.person)
        return self._mark(replace(shown, can_view=can_view), row, change), thread

    def find_block(self, key: str) -> AlikeBlock:
        """One block of identical changes alone."""
        entry = next((one for one in self.entries if one.key == key and one.alike is not None), None)
        block = next(self._present([entry]), None) if entry is not None else None
        if not isinstance(block, AlikeBlock):
            raise NotVisibleError(f"plan {self._context.plan.number} has no group {key}")
        return block

    def present_chunk(self) -> Chunk:
        """The entries that the choice asks for."""
        start, total, plan = self._find_start(), len(self.entries), self._context.plan
        entries = tuple(self._present(self.entries[start : start + CHUNK]))
        end = min(start + CHUNK, total)
        later = self._choice.write(start=end) if end < total else ""
        earlier = self._choice.write(start=max(0, start - CHUNK)) or self.page_url
        return Chunk(
            entries=entries,
            first=start + 1,
            last=end,
            total=total,
            next_url=f"{self.chunk_url}{later}" if later else "",
            next_page=f"{self.page_url}{later}" if later else "",
            before_page=f"{self.page_url}{earlier}" if start and earlier.startswith("?") else earlier if start else "",
            next_count=min(CHUNK, total - end),
            is_narrowed=self._choice.listed.is_active,
            planned_later=max(0, plan.expected - len(self._context.changes)) if plan.state == PlanState.PLANNING else 0,
            is_complete=self._context.is_complete,
            is_deleting=self._context.options.is_deleting,
        )


def _offer_filters(scroll: _Scroll, choice: ScrollChoice) -> tuple[ViewLink, ...]:
    return tuple(
        ViewLink(ROW_FILTER_WORDS[f], f"{scroll.page_url}{replace(choice, show=f).write()}", f is choice.show)
        for f in RowFilter
    )


def _offer_views(scroll: _Scroll, choice: ScrollChoice) -> tuple[ViewLink, ...]:
    return tuple(
        ViewLink(OBJECT_VIEW_WORDS[v], f"{scroll.page_url}{replace(choice, view=v).write()}", v is choice.view)
        for v in SCROLL_VIEWS
    )


def _present_listing(context: ScrollReader, scroll: _Scroll, choice: ScrollChoice) -> ObjectList:
    return present_list(
        context.changes,
        scroll.selection,
        choice.listed,
        url=reverse("reviews:list-changes", args=context.address),
        url_of=scroll.link,
        current=choice.at if choice.only is None else choice.only,
        viewed=context.viewed,
        where=scroll.where,
        can_mark=bool(context.plan.digest),
    )


def present_scroll(context: ScrollReader, choice: ScrollChoice) -> ScrollPage:
    """The tab with the chunk, or with the object, that the choice asks for."""
    scroll = _Scroll(context, choice)
    alone, thread = scroll.find_alone(choice.only) if choice.only is not None else (None, None)
    return ScrollPage(
        listing=_present_listing(context, scroll, choice),
        chunk=scroll.present_chunk() if alone is None else None,
        alone=alone,
        thread=thread,
        row_filters=_offer_filters(scroll, choice),
        object_views=_offer_views(scroll, choice),
        changes_url=scroll.page_url,
        chunk_url=scroll.chunk_url,
        list_url=reverse("reviews:list-changes", args=context.address),
        viewed_url=reverse("reviews:mark-viewed", args=context.address),
        choice=choice,
        collected=scroll.collected,
    )


def present_chunk(context: ScrollReader, choice: ScrollChoice) -> Chunk:
    """One chunk of the scroll alone."""
    return _Scroll(context, choice).present_chunk()


def present_one(context: ScrollReader, choice: ScrollChoice, position: int) -> ScrollObject:
    """One object of the scroll."""
    return _Scroll(context, choice).find_entry(position)


def present_only(context: ScrollReader, choice: ScrollChoice, position: int) -> tuple[ScrollObject, CommentThread]:
    """One object alone, and the comments on it."""
    return _Scroll(context, choice).find_alone(position)


def present_block(context: ScrollReader, choice: ScrollChoice, key: str) -> AlikeBlock:
    """One block of identical changes of the scroll."""
    return _Scroll(context, choice).find_block(key)
