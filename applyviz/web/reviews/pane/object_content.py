"""The content below the head of an object: its fields, its diff, its requests, its field owners, or its YAML.

Only what the chosen view needs is computed. Values come masked. The scroll of all changes shows the beginning of a
view; an object alone shows all of it in pages, with filters, displays and versions to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from urllib.parse import parse_qsl, urlsplit

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.change_builder import REJECTED
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.admission import is_overruled
from applyviz.web.reviews.pane.calculation import CalculationSteps, present_calculation
from applyviz.web.reviews.pane.created_document import CreatedDocument, present_created
from applyviz.web.reviews.pane.diff_lines import DiffPage, present_diff
from applyviz.web.reviews.pane.fields import FILTER_WORDS, FieldFilter, FilterChoice, select_reasons
from applyviz.web.reviews.pane.flat_rows import ROWS, FlatRow, RowFilter, present_flat_rows, select_rows
from applyviz.web.reviews.pane.kubectl import KubectlRow, present_requests
from applyviz.web.reviews.pane.object_addresses import AloneLinks
from applyviz.web.reviews.pane.ownership_columns import OwnershipColumn, present_ownership_columns
from applyviz.web.reviews.pane.resolutions import ConflictPage, is_edited
from applyviz.web.reviews.pane.sequence import SequenceRow, present_sequence
from applyviz.web.reviews.pane.withheld_fields import WithheldRow, present_withheld
from applyviz.web.reviews.pane.yaml_document import VERSION_WORDS, Document, present_document
from applyviz.workflow.approvals.commented_lines import LineText

Text = str | Promise
ROWS_ALONE = 250


class ObjectView(StrEnum):
    """How an object is shown."""

    FIELDS = "fields"
    DIFF = "diff"
    REQUESTS = "requests"
    OWNERS = "owners"
    YAML = "yaml"


OBJECT_VIEW_WORDS: dict[ObjectView, Text] = {
    ObjectView.FIELDS: gettext_lazy("Fields"),
    ObjectView.DIFF: gettext_lazy("Diff"),
    ObjectView.REQUESTS: gettext_lazy("Requests"),
    ObjectView.OWNERS: gettext_lazy("Field owners"),
    ObjectView.YAML: gettext_lazy("YAML"),
}
SCROLL_VIEWS = (ObjectView.FIELDS, ObjectView.DIFF, ObjectView.YAML)


class AloneChoice(Struct, frozen=True):
    """The choices in the address of an object shown alone."""

    view: ObjectView = ObjectView.FIELDS
    show: FieldFilter = FieldFilter.CHANGES
    version: str = "after"
    start: int = 1
    field: int | None = None
    find: str = ""
    is_split: bool = False
    has_server_managed: bool = False
    is_raw: bool = False
    is_aligned: bool = False


class DisplayChoice(Struct, frozen=True):
    """One display of the diff, or one version of the YAML: its word, and the query that chooses it; "" for none."""

    word: Text
    query: str
    is_current: bool


class ObjectContent(Struct, frozen=True):
    """The content of one view; parts of other views stay empty.

    - `template` draws every view but that of the fields; `page` and `part` are the addresses of this view alone, to
      which a query is added.
    - `rows` begin after `first_row` others of `rows_total`; `next_row` others stand before the next page, 0 without
      one, and the scroll leaves `more_rows` out.
    - `linked` is the index of the field that the address names.
    """

    template: str = ""
    page: str = ""
    part: str = ""
    rows: tuple[FlatRow, ...] = ()
    more_rows: int = 0
    empty_text: str = ""
    created: CreatedDocument | None = None
    withheld: tuple[WithheldRow, ...] = ()
    filters: tuple[FilterChoice, ...] = ()
    show: str = ""
    is_aligned: bool = False
    is_server_side: bool = False
    first_row: int = 0
    next_row: int = 0
    rows_total: int = 0
    linked: int | None = None
    diff: DiffPage | None = None
    diff_query: str = ""
    is_masked: bool = False
    is_deletion: bool = False
    is_split: bool = False
    displays: tuple[DisplayChoice, ...] = ()
    sequence: tuple[SequenceRow, ...] = ()
    sends: bool = False
    is_compared: bool = False
    calculation: CalculationSteps | None = None
    kubectl: KubectlRow | None = None
    archive_url: str = ""
    columns: tuple[OwnershipColumn, ...] = ()
    document: Document | None = None
    file_url: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all that changes is in the page, so that who saw all of it viewed the object."""
        if self.created is not None:
            return not self.created.hidden
        if self.diff is not None:  # a deletion alone; the diff of other objects is not whole, and has no such text
            return bool(self.empty_text) and not (self.diff.before or self.diff.after)
        is_all = (
            bool(self.rows or self.empty_text) if not self.show else self.show in (FieldFilter.CHANGES, FieldFilter.ALL)
        )
        return is_all and not (self.more_rows or self.first_row or self.next_row)

    @property
    def lines_text(self) -> str:
        """The text whose lines a comment can be about; "" where the display counts other lines, or there are none."""
        if self.document is not None:
            return self.document.version.replace("_", "-")
        is_default = self.diff_query in ("", "split=0", "split=1")
        return LineText.DIFF_AFTER.value if self.diff is not None and self.diff.rows and is_default else ""

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """The query of this view as the hidden inputs of a form."""
        return parse_qsl(urlsplit(self.page).query)

    @property
    def rows_query(self) -> str:
        """The query of these fields, without their page."""
        return f"show={self.show}{'&compare=1' if self.is_aligned else ''}"

    @property
    def toggle_query(self) -> str:
        """The query of the same fields with their values compared, or without."""
        return replace(self, is_aligned=not self.is_aligned).rows_query


def _explain_update(change: PlannedObject) -> str:
    if select_reasons(change, FieldFilter.DEFAULTED):
        return _("The manifest changes no values; the server fills in defaults.")
    is_recorded = any(one.path == LAST_APPLIED_PATH and one.operation in CHANGING for one in change.fields)
    if is_recorded and all(
        one.owners_before == one.owners_after for one in change.fields if one.path != LAST_APPLIED_PATH
    ):
        return _("Only last-applied changes; no other values change.")
    if is_recorded:
        return _("Only last-applied and field ownership change; no other values change.")
    return _("Only field ownership changes; no values change.")


def explain_no_rows(change: PlannedObject, chosen: FieldFilter) -> str:
    """Why a filter leaves no field of an object."""
    if change.operation is Operation.UNCHANGED and chosen is FieldFilter.CHANGES:
        if any(map(is_overruled, change.risks)):
            return _("No changes: the server keeps the live values, although the manifest sets others.")
        return _("No changes: the live object already matches the manifest.")
    if change.operation.is_deletion:
        return _("The object is deleted.")
    if change.operation is Operation.NOT_FOUND:
        return _("Not found: nothing to delete.")
    if change.operation is Operation.LEFT_OUT:
        return _("Its fields are not calculated.")
    if change.operation is Operation.UPDATE and chosen is FieldFilter.CHANGES:
        return _explain_update(change)
    if change.operation is Operation.CREATE and chosen is FieldFilter.CHANGES:
        return _("The object is created. The manifest sets only its name.")
    is_refused = change.certainty_reason == REJECTED or change.refusal is not None
    if change.operation is Operation.ERROR and is_refused and change.certainty is not Certainty.UNKNOWN:
        return _("The API server rejects this object, so none of it changes.")
    if change.operation is Operation.ERROR and not change.requests:
        return _("Could not calculate the changes.")
    return _("No fields match this filter.")


def select_alone(change: PlannedObject, chosen: FieldFilter, resolution: ConflictPage) -> list[tuple[int, FieldReason]]:
    """The reasons below a filter of an object alone; what changes is the same as in the scroll."""
    if chosen is FieldFilter.CHANGES:
        return select_rows(change, RowFilter.CHANGED, resolution.applied)
    return select_reasons(change, chosen)


def fill_scroll(
    change: PlannedObject,
    view: ObjectView,
    chosen: RowFilter,
    options: ApplyOptions,
    field_of: Callable[[int], str],
    resolution: ConflictPage,
) -> ObjectContent:
    """The beginning of a view, for the scroll of all changes."""
    if view is ObjectView.DIFF:
        diff = present_diff(change, you=options.field_manager, is_split=False, has_server_managed=False, is_raw=False)
        return ObjectContent(template="reviews/_diff.html", diff=diff)
    if view is ObjectView.YAML:
        shown = next((n for n in ("after", "live", "manifest") if getattr(change.versions, n) is not None), "")
        document = present_document(change, shown) if shown else None
        return ObjectContent(template="reviews/_yaml.html", document=document)
    created = present_created(change) if chosen is RowFilter.CHANGED else None
    if created is not None:
        return ObjectContent(created=created)
    reasons = select_rows(change, chosen, resolution.applied)
    if len(reasons) > ROWS:  # conflicts are never left out
        reasons.sort(key=lambda one: one[1].operation is not FieldOperation.CONFLICT)
    return ObjectContent(
        rows=present_flat_rows(change, reasons[:ROWS], options=options, url_of=field_of, resolution=resolution),
        more_rows=len(reasons[ROWS:]),
        empty_text="" if reasons or change.error else explain_no_rows(change, FieldFilter.CHANGES),
        withheld=present_withheld(change, mode=options.mode),
    )


def _find_field(change: PlannedObject, choice: AloneChoice, resolution: ConflictPage) -> AloneChoice:
    """Return the choice that shows the field in an address, whichever filter and page it is on."""
    if choice.field is None:
        return choice
    for show in (choice.show, FieldFilter.ALL):
        indices = [index for index, _reason in select_alone(change, show, resolution)]
        if choice.field in indices:
            return replace(choice, show=show, start=indices.index(choice.field) // ROWS_ALONE * ROWS_ALONE + 1)
    return replace(choice, field=None)


def _title_kept(rows: Iterable[FlatRow], reasons: Sequence[FieldReason]) -> tuple[FlatRow, ...]:
    """Give what is kept its two titles: first what others set, then the defaults."""
    titles = {
        False: _("Set by other field managers"),
        True: _("Server defaults and fields without another owner"),
    }
    shown, last = [], None if any(reason.reason is not Reason.LIVE_ONLY for reason in reasons) else True
    for row, reason in zip(rows, reasons, strict=True):
        is_default = reason.reason is Reason.LIVE_ONLY
        shown.append(row if is_default is last else replace(row, title=titles[is_default]))
        last = is_default
    return tuple(shown)


def _fill_fields(
    change: PlannedObject,
    choice: AloneChoice,
    options: ApplyOptions,
    field_of: Callable[[int], str],
    resolution: ConflictPage,
) -> ObjectContent:
    if change.operation.is_deletion:
        filled = replace(_fill_diff(change, choice, options), empty_text=explain_no_rows(change, choice.show))
        return replace(filled, template="reviews/_deleted.html")
    choice = _find_field(change, choice, resolution)
    by_filter = {one: select_alone(change, one, resolution) for one in FieldFilter}
    start, found_reasons = choice.start - 1, by_filter[choice.show]
    reasons = found_reasons[start : start + ROWS_ALONE]
    rows = present_flat_rows(change, reasons, options=options, url_of=field_of, resolution=resolution)
    if choice.show is FieldFilter.KEPT:
        rows = _title_kept(rows, [reason for _index, reason in reasons])
    return ObjectContent(
        rows=rows,
        filters=tuple(
            FilterChoice(one.value, FILTER_WORDS[one], len(found), one is choice.show)
            for one, found in by_filter.items()
        ),
        show=choice.show.value,
        is_aligned=choice.is_aligned,
        is_server_side=options.mode is ApplyMode.SERVER,
        first_row=start,
        next_row=start + ROWS_ALONE if start + ROWS_ALONE < len(found_reasons) else 0,
        rows_total=len(found_reasons),
        linked=choice.field,
        empty_text=explain_no_rows(change, choice.show),
        withheld=present_withheld(change, mode=options.mode),
    )


def _fill_yaml(change: PlannedObject, choice: AloneChoice, links: AloneLinks) -> ObjectContent:
    objects = {name: getattr(change.versions, name) for name in VERSION_WORDS}
    objects |= {"after": None} if change.operation is Operation.ERROR else {}  # nothing is written
    is_there = objects.get(choice.version) is not None
    shown = choice.version if is_there else next((n for n, o in objects.items() if o), "")
    return ObjectContent(
        template="reviews/_yaml.html",
        displays=tuple(
            DisplayChoice(word, f"version={n}" if objects[n] is not None else "", n == shown)
            for n, word in VERSION_WORDS.items()
        ),
        document=present_document(change, shown, start=choice.start, find=choice.find) if shown else None,
        file_url=links.file_of(f"{shown}.yaml") if shown and links.file_of else "",
    )


def _write_query(choice: AloneChoice) -> str:
    """Return the query of this display of the diff."""
    whole, raw = "&complete=1" if choice.has_server_managed else "", "&raw=1" if choice.is_raw else ""
    return f"split={int(choice.is_split)}{whole}{raw}"


def _offer_displays(choice: AloneChoice, *, has_inside: bool) -> tuple[DisplayChoice, ...]:
    def offer(word: Text, **values: bool) -> DisplayChoice:
        other = replace(choice, **values)  # type: ignore[arg-type]  # the names are those of switches
        return DisplayChoice(word, _write_query(other), other == choice)

    one, two = offer(_("One column"), is_split=False), offer(_("Side by side"), is_split=True)
    is_whole = choice.has_server_managed
    whole = replace(offer(_("Normalized"), has_server_managed=not is_whole), is_current=is_whole)
    raw = replace(offer(_("Raw"), is_raw=not choice.is_raw), is_current=choice.is_raw)
    return (one, two, whole, raw) if has_inside or choice.is_raw else (one, two, whole)


def _fill_diff(change: PlannedObject, choice: AloneChoice, options: ApplyOptions) -> ObjectContent:
    diff = present_diff(
        change,
        you=options.field_manager,
        is_split=choice.is_split,
        has_server_managed=choice.has_server_managed,
        is_raw=choice.is_raw,
        start=choice.start,
    )
    return ObjectContent(
        template="reviews/_diff.html",
        diff=diff,
        diff_query=_write_query(choice),
        is_masked=names_secret(change.ref.gvk.kind),
        is_split=choice.is_split,
        displays=_offer_displays(choice, has_inside=diff.has_inside),
    )


def _fill_requests(change: PlannedObject, options: ApplyOptions, links: AloneLinks) -> ObjectContent:
    requests, kubectl = present_requests(change, options, is_edited=is_edited(change), file_url_of=links.file_of)
    version_of = links.page_of(ObjectView.YAML)
    return ObjectContent(
        template="reviews/_requests.html",
        sequence=present_sequence(change, requests),
        sends=change.has_effect,
        is_compared=any(request.beside is not None for request in requests),
        calculation=present_calculation(change, options, url_of=lambda name: f"{version_of}version={name}"),
        kubectl=kubectl,
        archive_url=links.archive,
    )


def fill_alone(
    change: PlannedObject,
    choice: AloneChoice,
    options: ApplyOptions,
    field_of: Callable[[int], str],
    links: AloneLinks,
    resolution: ConflictPage,
) -> ObjectContent:
    """The whole view that the address of an object alone chooses."""
    match choice.view:
        case ObjectView.FIELDS:
            content = _fill_fields(change, choice, options, field_of, resolution)
        case ObjectView.DIFF:
            content = _fill_diff(change, choice, options)
        case ObjectView.REQUESTS:
            content = _fill_requests(change, options, links)
        case ObjectView.OWNERS:
            columns = present_ownership_columns(change.fields, you=options.field_manager, url_of=links.manager_of)
            content = ObjectContent(template="reviews/_owners.html", columns=columns)
        case _:
            content = _fill_yaml(change, choice, links)
    return replace(
        content,
        is_deletion=change.operation.is_deletion,
        page=links.page_of(choice.view),
        part=links.part_of(choice.view),
    )
