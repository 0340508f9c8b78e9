"""Ask the read models of page and API what they show of a planned object: the presenter of conformance."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.conformance.shown import ShownDocument, ShownObject, ShownRow
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.requests.options import ApplyOptions
from applyviz.web.api.responses import present_fields
from applyviz.web.components.badges import FIELD_STYLES
from applyviz.web.components.values import Shown, show_value
from applyviz.web.reviews.pane.fields import FieldFilter, FieldRow
from applyviz.web.reviews.pane.flat_rows import RowFilter
from applyviz.web.reviews.pane.object_addresses import AloneLinks, ObjectLinks
from applyviz.web.reviews.pane.object_content import AloneChoice, ObjectView
from applyviz.web.reviews.pane.resolutions import NOTHING
from applyviz.web.reviews.pane.scroll_object import ScrollObject, present_alone, present_scroll_object
from applyviz.web.reviews.pane.yaml_document import PAGE, VERSION_WORDS, WIDTH, present_document

_KEY = b"conformance"
_LINKS = ObjectLinks("", "", lambda view: "", lambda index: "", lambda kind, level: "", "")
_ALONE = AloneLinks(lambda view: "", lambda view: "")


def present(change: PlannedObject, options: ApplyOptions) -> ShownObject:
    """Return what page and API show of a change: it is masked and stored before, as in a review."""
    change = change_from_json(change_to_json(mask_change(change, tag_key=_KEY)))
    pages = list(_list_pages(change, options, FieldFilter.CHANGES))
    defaults = _list_pages(change, options, FieldFilter.DEFAULTED)
    first = pages[0]
    content = present_scroll_object(
        change, position=0, options=options, view=ObjectView.FIELDS, chosen=RowFilter.CHANGED, links=_LINKS
    ).content
    shown = [(change.fields[flat.row.index].path, change.fields[flat.row.index].operation) for flat in content.rows]
    # A field that left the manifest and stays is shown in its place, although nothing of it changes.
    changes = [row for page in pages for row in _list_rows(page) if row.style is not FIELD_STYLES[FieldOperation.KEPT]]
    stays = sum(len(page.content.rows) for page in pages) - len(changes)
    tab = next(link.count for link in first.views if link.is_current)
    counts = {choice.value: choice.count for choice in first.content.filters}
    return ShownObject(
        operation=change.operation.value,
        changes=tuple(_show(change, row) for row in changes),
        defaults=tuple(_show(change, row) for one in defaults for row in _list_rows(one)),
        scroll=None
        if content.created is not None or content.more_rows
        else tuple(path for path, operation in shown if operation is not FieldOperation.KEPT),
        answered=tuple((row["path"], row["live"], row["after"]) for row in present_fields(change, options)),
        counts={name: count - stays if name == FieldFilter.CHANGES else count for name, count in counts.items()},
        tab=None if tab is None else tab - stays,
        empty_text=first.content.empty_text,
        documents=dict(_list_documents(change)),
        print_value=_print,
    )


def _list_pages(change: PlannedObject, options: ApplyOptions, chosen: FieldFilter) -> Iterator[ScrollObject]:
    """Yield every page of the rows below a filter."""
    start = 1
    while start:
        page = present_alone(
            change,
            AloneChoice(show=chosen, start=start),
            position=0,
            options=options,
            links=_LINKS,
            alone_links=_ALONE,
            notices=(),
            resolution=NOTHING,
        )
        yield page
        start = page.content.next_row + 1 if page.content.next_row else 0


def _list_rows(page: ScrollObject) -> Iterator[FieldRow]:
    return (flat.row for flat in page.content.rows)


def _show(change: PlannedObject, row: FieldRow) -> ShownRow:
    reason = change.fields[row.index]
    if render_path(reason.path) != row.path:
        raise ValueError(f"{row.path} leads to {render_path(reason.path)}")
    return ShownRow(
        reason.path,
        reason.operation.value,
        row.rule,
        row.why,
        _text(row.live),
        _text(row.after),
        any(shown is not None and shown.is_masked for shown in (row.live, row.after)),
    )


def _text(shown: Shown | None) -> str | None:
    return None if shown is None else shown.text


def _print(value: JSONValue) -> str:
    shown = show_value(value)
    return "" if shown is None else shown.text


def _list_documents(change: PlannedObject) -> Iterator[tuple[str, ShownDocument]]:
    for version in VERSION_WORDS:
        if getattr(change.versions, version) is None:
            continue
        pages = [present_document(change, version)]
        while pages[-1].after:
            pages.append(present_document(change, version, start=pages[-1].first + PAGE))
        lines = [line.indent + line.text for page in pages for line in page.lines]
        is_whole = all(len(line.text) <= WIDTH for page in pages for line in page.lines)
        yield version, ShownDocument("\n".join(lines), pages[0].marked, is_whole)
