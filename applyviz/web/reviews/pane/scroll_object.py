"""One object with its head, in the scroll of all changes or alone; its content is that of the chosen view."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import DELETIONS, Certainty, Operation, PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import LEVELS, RiskKind, RiskLevel
from applyviz.engine.risks.sentences import title
from applyviz.web.components.badges import CERTAINTY_STYLES, LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.phrases import ORIGINS, describe_certainty, name_method
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.flat_rows import RowFilter
from applyviz.web.reviews.pane.object_addresses import AloneLinks, ObjectLinks
from applyviz.web.reviews.pane.object_content import (
    OBJECT_VIEW_WORDS,
    SCROLL_VIEWS,
    AloneChoice,
    ObjectContent,
    ObjectView,
    fill_alone,
    fill_scroll,
    select_alone,
)
from applyviz.web.reviews.pane.object_notices import present_warnings
from applyviz.web.reviews.pane.resolutions import NOTHING, ConflictPage

Text = str | Promise
_UNCOUNTED = (*DELETIONS, Operation.NOT_FOUND, Operation.ERROR, Operation.LEFT_OUT)  # as a whole, or not at all


class RiskTag(Struct, frozen=True):
    """One risk of an object: its level, its title, and where its sentence is."""

    style: Appearance
    title: Text
    url: str


class ViewLink(Struct, frozen=True):
    """One view of the object, or of the scroll; `part` is its address as a part of the page.

    - `count` is the number of its entries, None for a view without one.
    """

    word: Text
    url: str
    is_current: bool
    part: str = ""
    count: int | None = None


class AloneHead(Struct, frozen=True):
    """The notes of an object shown alone: how its result was calculated, and what can be done.

    - `origin`: where its file comes from, if the plan has several sources or a template in a repository.
    """

    operation: str
    method: str
    certainty: Appearance
    schema_origin: str
    links: AloneLinks
    origin: str = ""
    origin_url: str = ""


class ScrollObject(Struct, frozen=True):
    """One object with its head; `is_viewed` folds its fields away.

    - `must_be_viewed`: an approver must; what was on the screen as a whole then counts as viewed.
    - `line_comments`: how many comments on lines of it are open.
    """

    position: int
    name: str
    kind: str
    namespace: str
    style: Appearance
    risks: tuple[RiskTag, ...]
    estimate: Appearance | None
    estimate_reason: str
    source: str
    notices: tuple[Notice, ...]
    links: ObjectLinks
    views: tuple[ViewLink, ...]
    content: ObjectContent
    deciding: ConflictPage = NOTHING
    is_viewed: bool = False
    can_view: bool = True
    must_be_viewed: bool = False
    alone: AloneHead | None = None
    is_alike: bool = False
    line_comments: int = 0

    @property
    def anchor(self) -> str:
        """Its name in the page."""
        return f"object-{self.position}"

    def link_field(self, index: int) -> str:
        """The address of one of its fields, with the object alone."""
        focus = self.links.focus
        return f"{focus}{'&' if '?' in focus else '?'}field={index}#{self.anchor}-field-{index}"

    @property
    def is_folded(self) -> bool:
        """Whether its fields are folded away: it is viewed, and nothing needs its rows."""
        is_needed = self.alone is not None or self.must_be_viewed or bool(self.deciding.conflict_rows)
        return self.is_viewed and not is_needed

    @property
    def _is_awaited(self) -> bool:
        return self.can_view and self.must_be_viewed and not self.is_viewed

    @property
    def is_watched(self) -> bool:
        """Whether it counts as viewed once all of its rows were on the screen; here it has all of them."""
        return self._is_awaited and self.content.is_whole

    @property
    def is_ticked_by_hand(self) -> bool:
        """Whether its box alone makes it viewed: its fields have no room here."""
        return self._is_awaited and not self.content.template and not self.content.is_whole

    @property
    def fields_count(self) -> int:
        """The number of its fields, including those that are not drawn."""
        return len(self.content.rows) + self.content.more_rows


def tag_risks(
    kinds: list[tuple[RiskKind, RiskLevel]], url_of: Callable[[RiskKind, RiskLevel], str]
) -> tuple[RiskTag, ...]:
    """Risks as tags that lead to the list of risks, the worst first, each kind once."""
    ordered = sorted(dict.fromkeys(kinds), key=lambda one: LEVELS.index(one[1]))
    return tuple(RiskTag(LEVEL_STYLES[level], _(title(kind, level)), url_of(kind, level)) for kind, level in ordered)


def _tag_object(change: PlannedObject, links: ObjectLinks) -> tuple[RiskTag, ...]:
    """Return the tags of one object; the risks of a blocked object are listed only after its conflicts are resolved."""
    kinds = [(risk.kind, risk.level) for risk in change.risks]
    if change.operation is not Operation.BLOCKED:
        return tag_risks(kinds, links.risk_of)
    blocked = RiskTag(LEVEL_STYLES[RiskLevel.MEDIUM], _("Blocked by conflict"), links.conflict)
    return (blocked, *tag_risks(kinds, lambda _kind, _level: links.conflict))


def locate_object(change: PlannedObject) -> str:
    """Where the manifest of an object is written: file and lines."""
    if not change.position.line:
        return change.position.file
    end = f"–{change.end_line}" if change.end_line > change.position.line else ""  # noqa: RUF001 a range
    return f"{change.position.file}:{change.position.line}{end}"


def _present_head(
    change: PlannedObject, position: int, links: ObjectLinks, content: ObjectContent, resolution: ConflictPage
) -> ScrollObject:
    is_sure = change.certainty is Certainty.CONFIRMED
    return ScrollObject(
        position=position,
        name=change.ref.name,
        kind=change.ref.gvk.kind,
        namespace=change.ref.namespace,
        style=OBJECT_STYLES[change.operation],
        risks=(),
        estimate=None if is_sure else CERTAINTY_STYLES[change.certainty],
        estimate_reason=describe_certainty(change.certainty_reason),
        source=locate_object(change),
        notices=(),
        links=links,
        views=(),
        content=content,
        deciding=resolution,
        can_view=change.operation is not Operation.UNCHANGED,
    )


def present_scroll_object(
    change: PlannedObject,
    *,
    position: int,
    options: ApplyOptions,
    view: ObjectView,
    chosen: RowFilter,
    links: ObjectLinks,
    problems: tuple[Notice, ...] = (),
    resolution: ConflictPage = NOTHING,
) -> ScrollObject:
    """One object of the scroll; `problems` say why nothing of it is sent."""
    content = fill_scroll(change, view, chosen, options, links.field_of, resolution)
    return replace(
        _present_head(change, position, links, content, resolution),
        risks=_tag_object(change, links),
        notices=(*problems, *present_warnings(change)),
        views=tuple(ViewLink(OBJECT_VIEW_WORDS[v], links.self_of(v), v is view) for v in SCROLL_VIEWS),
    )


def _link_views(
    change: PlannedObject, chosen: ObjectView, links: AloneLinks, resolution: ConflictPage
) -> tuple[ViewLink, ...]:
    counts = {ObjectView.REQUESTS: len(change.requests)}
    if change.operation not in _UNCOUNTED:
        counts[ObjectView.FIELDS] = len(select_alone(change, FieldFilter.CHANGES, resolution))
    return tuple(
        ViewLink(word, links.page_of(v).rstrip("?&"), v is chosen, links.part_of(v).rstrip("?&"), counts.get(v))
        for v, word in OBJECT_VIEW_WORDS.items()
    )


def present_alone(
    change: PlannedObject,
    choice: AloneChoice,
    *,
    position: int,
    options: ApplyOptions,
    links: ObjectLinks,
    alone_links: AloneLinks,
    notices: tuple[Notice, ...],
    resolution: ConflictPage,
    origin: str = "",
    origin_url: str = "",
) -> ScrollObject:
    """One object alone, in the view that its address chooses; its notices say everything that its tags say."""
    content = fill_alone(change, choice, options, links.field_of, alone_links, resolution)
    return replace(
        _present_head(change, position, links, content, resolution),
        estimate=None,
        notices=notices,
        views=_link_views(change, choice.view, alone_links, resolution),
        alone=AloneHead(
            operation=str(OBJECT_STYLES[change.operation].word),
            method=name_method(change.method),
            certainty=CERTAINTY_STYLES[change.certainty],
            schema_origin=str(ORIGINS[change.schema_origin]),
            links=alone_links,
            origin=origin,
            origin_url=origin_url,
        ),
    )
