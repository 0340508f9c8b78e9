"""One object in the scroll of all changes: its head, and its fields, its diff or its YAML.

Only what the chosen view needs is computed. Values come masked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RiskKind, RiskLevel
from applyviz.engine.risks.sentences import title
from applyviz.web.components.badges import CERTAINTY_STYLES, LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.phrases import describe_certainty
from applyviz.web.reviews.pane.created_document import CreatedDocument, present_created
from applyviz.web.reviews.pane.diff_lines import DiffPage, present_diff
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.flat_rows import ROWS, FlatRow, RowFilter, present_flat_rows, select_rows
from applyviz.web.reviews.pane.object_notices import present_warnings
from applyviz.web.reviews.pane.object_pane import explain_no_rows, locate_object
from applyviz.web.reviews.pane.resolutions import NOTHING, ConflictPage
from applyviz.web.reviews.pane.withheld_fields import WithheldRow, present_withheld
from applyviz.web.reviews.pane.yaml_document import Document, present_document

Text = str | Promise
_LEVELS = (RiskLevel.HIGH, RiskLevel.MEDIUM, RiskLevel.INFO)


class ObjectView(StrEnum):
    """How an object is shown."""

    FIELDS = "fields"
    DIFF = "diff"
    YAML = "yaml"


OBJECT_VIEW_WORDS: dict[ObjectView, Text] = {
    ObjectView.FIELDS: gettext_lazy("Fields"),
    ObjectView.DIFF: gettext_lazy("Diff"),
    ObjectView.YAML: gettext_lazy("YAML"),
}


@dataclass(frozen=True, slots=True)
class RiskTag:
    """One risk of an object: its level, its title, and where its sentence is."""

    style: Appearance
    title: Text
    url: str


@dataclass(frozen=True, slots=True)
class ObjectLinks:
    """The addresses of one object: alone on a page, its history, itself in each view, a field and a risk on its own.

    - `conflict`: its row in the list of risks while conflicts block it.
    """

    focus: str
    history: str
    self_of: Callable[[ObjectView], str]
    field_of: Callable[[int], str]
    risk_of: Callable[[RiskKind, RiskLevel], str]
    conflict: str


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """The content below the head; parts of other views stay empty."""

    rows: tuple[FlatRow, ...] = ()
    more_rows: int = 0
    empty_text: str = ""
    created: CreatedDocument | None = None
    withheld: tuple[WithheldRow, ...] = ()
    diff: DiffPage | None = None
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class ViewLink:
    """One view of the object."""

    word: Text
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ScrollObject:
    """One object with its head; `is_viewed` folds its fields away.

    - `must_be_viewed`: an approver must; what was on the screen as a whole then counts as viewed.
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
    is_alike: bool = False

    @property
    def anchor(self) -> str:
        """Its name in the page."""
        return f"object-{self.position}"

    @property
    def is_folded(self) -> bool:
        """Whether its fields are folded away: it is viewed, and neither a high risk nor a conflict needs its rows."""
        return self.is_viewed and not self.must_be_viewed and not self.deciding.conflict_rows

    @property
    def is_watched(self) -> bool:
        """Whether it counts as viewed once all of its rows were on the screen; here it has all of them."""
        created = self.content.created
        is_whole = not created.hidden if created is not None else bool(self.content.rows) and not self.content.more_rows
        return self.must_be_viewed and not self.is_viewed and is_whole

    @property
    def fields_count(self) -> int:
        """The number of its fields, including those that are not drawn."""
        return len(self.content.rows) + self.content.more_rows


def tag_risks(
    kinds: list[tuple[RiskKind, RiskLevel]], url_of: Callable[[RiskKind, RiskLevel], str]
) -> tuple[RiskTag, ...]:
    """Risks as tags that lead to the list of risks, the worst first, each kind once."""
    ordered = sorted(dict.fromkeys(kinds), key=lambda one: _LEVELS.index(one[1]))
    return tuple(RiskTag(LEVEL_STYLES[level], _(title(kind, level)), url_of(kind, level)) for kind, level in ordered)


def _tag_object(change: PlannedObject, links: ObjectLinks) -> tuple[RiskTag, ...]:
    """Return the tags of one object; the risks of a blocked object are listed only after its conflicts are resolved."""
    kinds = [(risk.kind, risk.level) for risk in change.risks]
    if change.operation is not Operation.BLOCKED:
        return tag_risks(kinds, links.risk_of)
    blocked = RiskTag(LEVEL_STYLES[RiskLevel.MEDIUM], _("Blocked by conflict"), links.conflict)
    return (blocked, *tag_risks(kinds, lambda _kind, _level: links.conflict))


def _fill_fields(
    change: PlannedObject, chosen: RowFilter, options: ApplyOptions, links: ObjectLinks, resolution: ConflictPage
) -> ObjectContent:
    created = present_created(change) if chosen is RowFilter.CHANGED else None
    if created is not None:
        return ObjectContent(created=created)
    reasons = select_rows(change, chosen, resolution.applied)
    if len(reasons) > ROWS:  # conflicts are never left out
        reasons.sort(key=lambda one: one[1].operation is not FieldOperation.CONFLICT)
    return ObjectContent(
        rows=present_flat_rows(change, reasons[:ROWS], options=options, url_of=links.field_of, resolution=resolution),
        more_rows=len(reasons[ROWS:]),
        empty_text="" if reasons or change.error else explain_no_rows(change, FieldFilter.CHANGES),
        withheld=present_withheld(change, mode=options.mode),
    )


def _fill(
    change: PlannedObject,
    view: ObjectView,
    chosen: RowFilter,
    options: ApplyOptions,
    links: ObjectLinks,
    resolution: ConflictPage,
) -> ObjectContent:
    if view is ObjectView.FIELDS:
        return _fill_fields(change, chosen, options, links, resolution)
    if view is ObjectView.DIFF:
        return ObjectContent(
            diff=present_diff(change, you=options.field_manager, is_split=False, has_server_managed=False, is_raw=False)
        )
    versions = change.versions
    shown = next((name for name in ("after", "live", "manifest") if getattr(versions, name) is not None), "")
    return ObjectContent(document=present_document(change, shown) if shown else None)


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
    is_viewed: bool = False,
    must_be_viewed: bool = False,
) -> ScrollObject:
    """One object of the scroll; `problems` say why nothing of it is sent."""
    is_sure = change.certainty is Certainty.CONFIRMED
    return ScrollObject(
        position=position,
        name=change.ref.name,
        kind=change.ref.gvk.kind,
        namespace=change.ref.namespace,
        style=OBJECT_STYLES[change.operation],
        risks=_tag_object(change, links),
        estimate=None if is_sure else CERTAINTY_STYLES[change.certainty],
        estimate_reason=describe_certainty(change.certainty_reason),
        source=locate_object(change),
        notices=(*problems, *present_warnings(change)),
        links=links,
        views=tuple(ViewLink(OBJECT_VIEW_WORDS[v], links.self_of(v), v is view) for v in ObjectView),
        content=_fill(change, view, chosen, options, links, resolution),
        deciding=resolution,
        is_viewed=is_viewed,
        must_be_viewed=must_be_viewed,
        can_view=change.operation is not Operation.UNCHANGED,
    )
