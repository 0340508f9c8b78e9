"""The pane of one object: its header, its tabs, and the content of each tab.

Each tab has an address; only the chosen tab is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.engine.planning.model.plan import DELETIONS, Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.change_builder import REJECTED
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.model import RiskKind
from applyviz.web.components.badges import CERTAINTY_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.components.notices import AcknowledgeAction, Notice, PostAction
from applyviz.web.components.phrases import ORIGINS, describe_certainty, describe_reason, name_method
from applyviz.web.components.tabs import TabLink
from applyviz.web.reviews.pane import fields
from applyviz.web.reviews.pane.calculation import CalculationSteps, present_calculation
from applyviz.web.reviews.pane.diff_lines import DiffPage, present_diff
from applyviz.web.reviews.pane.fields import FieldFilter, FieldSection, FilterChoice
from applyviz.web.reviews.pane.kubectl import KubectlRow, present_requests
from applyviz.web.reviews.pane.object_notices import present_notices
from applyviz.web.reviews.pane.ownership_columns import OwnershipColumn, present_ownership_columns
from applyviz.web.reviews.pane.resolutions import NOTHING, ConflictPage
from applyviz.web.reviews.pane.sequence import SequenceRow, present_sequence
from applyviz.web.reviews.pane.withheld_fields import WithheldRow, present_withheld
from applyviz.web.reviews.pane.yaml_document import VERSION_WORDS, Document, present_document

Text = str | Promise


class Tab(StrEnum):
    """The tabs of one object."""

    CHANGES = "changes"
    DIFF = "diff"
    REQUESTS = "requests"
    OWNERS = "owners"
    YAML = "yaml"


_WORDS: dict[Tab, Text] = {
    Tab.CHANGES: gettext_lazy("Changes"),
    Tab.DIFF: gettext_lazy("Diff"),
    Tab.REQUESTS: gettext_lazy("Requests"),
    Tab.OWNERS: gettext_lazy("Field owners"),
    Tab.YAML: gettext_lazy("YAML"),
}


ROWS = 250


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """One of the versions that the YAML tab can show."""

    value: str
    word: Text
    has_text: bool
    is_current: bool


@dataclass(frozen=True, slots=True)
class DiffChoice:
    """One display of the diff."""

    word: Text
    query: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Pane:
    """The pane; fields of other tabs stay empty.

    - `origin`: where the file of the object comes from, if the plan has several sources or a template in a repository.
    """

    name: str
    kind: str
    namespace: str
    style: Appearance
    position: str
    method: str
    certainty: Appearance
    certainty_reason: str
    schema_origin: str
    notices: tuple[Notice, ...]
    tabs: tuple[TabLink, ...]
    url: str
    template: str
    is_server_side: bool
    origin: str = ""
    origin_url: str = ""
    deciding: ConflictPage = NOTHING
    life_url: str = ""
    hand_over_url: str = ""
    take_url: str = ""
    last_applied_url: str = ""
    filters: tuple[FilterChoice, ...] = ()
    sections: tuple[FieldSection, ...] = ()
    show: str = ""
    is_aligned: bool = False
    first_field: int = 0
    linked_field: int | None = None
    next_field: int = 0
    fields_total: int = 0
    empty_text: str = ""
    withheld: tuple[WithheldRow, ...] = ()
    diff: DiffPage | None = None
    diff_query: str = ""
    is_masked: bool = False
    is_deletion: bool = False
    is_split: bool = False
    choices: tuple[DiffChoice, ...] = ()
    sequence: tuple[SequenceRow, ...] = ()
    sends: bool = False
    calculation: CalculationSteps | None = None
    kubectl: KubectlRow | None = None
    archive_url: str = ""
    columns: tuple[OwnershipColumn, ...] = ()
    versions: tuple[VersionChoice, ...] = ()
    document: Document | None = None
    file_url: str = ""

    @property
    def first_fields_url(self) -> str:
        """Return the address of the first page of fields."""
        return self._link_fields(None)

    @property
    def next_fields_url(self) -> str:
        """Return the address of the page of fields after this one."""
        return self._link_fields(self.next_field + 1)

    def _link_fields(self, start: int | None) -> str:
        page = "" if start is None else f"&start={start}"
        aligned = "&aligned=1" if self.is_aligned else ""
        return f"{self.url}?show={self.show}{page}{aligned}#pane"


@dataclass(frozen=True, slots=True)
class PaneChoice:
    """The choices in the address."""

    tab: Tab = Tab.CHANGES
    show: FieldFilter = FieldFilter.CHANGES
    version: str = "after"
    start: int = 1
    field: int | None = None
    find: str = ""
    is_split: bool = False
    has_server_managed: bool = False
    is_raw: bool = False
    is_edited: bool = False
    is_aligned: bool = False
    archive_url: str = ""
    file_url_of: Callable[[str], str] | None = None
    manager_url_of: Callable[[str], str] | None = None


def locate_object(change: PlannedObject) -> str:
    """Where the manifest of an object is written: file and lines."""
    if not change.position.line:
        return change.position.file
    end = f"–{change.end_line}" if change.end_line > change.position.line else ""  # noqa: RUF001 a range
    return f"{change.position.file}:{change.position.line}{end}"


def _link_tabs(change: PlannedObject, choice: PaneChoice, url_of: Callable[[Tab], str]) -> tuple[TabLink, ...]:
    counts = {Tab.REQUESTS: len(change.requests)}
    if change.operation not in (
        *DELETIONS,
        Operation.NOT_FOUND,
        Operation.ERROR,
        Operation.LEFT_OUT,
    ):  # it changes as a whole, or not at all
        counts[Tab.CHANGES] = len(fields.select_reasons(change, FieldFilter.CHANGES))
    return tuple(TabLink(_WORDS[t], url_of(t), t is choice.tab, counts.get(t)) for t in Tab)


def explain_no_rows(change: PlannedObject, chosen: FieldFilter) -> str:
    """Why a filter leaves no field of an object."""
    if change.operation is Operation.UNCHANGED and chosen is FieldFilter.CHANGES:
        return _("No changes: the live object already matches the manifest.")
    if change.operation.is_deletion:
        return _("The object is deleted.")
    if change.operation is Operation.NOT_FOUND:
        return _("Not found: nothing to delete.")
    if change.operation is Operation.LEFT_OUT:
        return _("Left out: nothing of it is sent.")
    if change.operation is Operation.UPDATE and chosen is FieldFilter.CHANGES:
        return _("Only field ownership changes; no values change.")
    if change.operation is Operation.CREATE and chosen is FieldFilter.CHANGES:
        return _("The object is created. The manifest sets only its name.")
    is_refused = change.certainty_reason == REJECTED or change.refusal is not None
    if change.operation is Operation.ERROR and is_refused and change.certainty is not Certainty.UNKNOWN:
        return _("The API server rejects this object, so none of it changes.")
    if change.operation is Operation.ERROR and not change.requests:
        return _("Could not calculate the changes.")
    return _("No fields match this filter.")


def _find_field(change: PlannedObject, choice: PaneChoice) -> PaneChoice:
    """Return the choice that shows the field in an address, whichever filter and page it is on."""
    if choice.field is None:
        return choice
    for show in (choice.show, FieldFilter.ALL):
        indices = [index for index, _reason in fields.select_reasons(change, show)]
        if choice.field in indices:
            return replace(choice, show=show, start=indices.index(choice.field) // ROWS * ROWS + 1)
    return replace(choice, field=None)


def _fill_changes(
    change: PlannedObject,
    choice: PaneChoice,
    options: ApplyOptions,
    url_of: Callable[[int], str],
    resolution: ConflictPage,
) -> dict[str, object]:
    if change.operation.is_deletion:
        return {**_fill_diff(change, choice, options), "empty_text": explain_no_rows(change, choice.show)}
    choice = _find_field(change, choice)
    filters, start = fields.present_filters(change, choice.show), choice.start - 1
    total = next(f.count for f in filters if f.is_current)
    return {
        "filters": filters,
        "is_aligned": choice.is_aligned,
        "show": choice.show.value,
        "first_field": start,
        "linked_field": choice.field,
        "next_field": start + ROWS if start + ROWS < total else 0,
        "fields_total": total,
        "sections": fields.present_sections(
            change,
            mode=options.mode,
            you=options.field_manager,
            chosen=choice.show,
            explain=describe_reason,
            url_of=url_of,
            start=start,
            limit=ROWS,
            resolution=resolution,
        ),
        "empty_text": explain_no_rows(change, choice.show),
        "withheld": present_withheld(change, mode=options.mode),
    }


def _fill_yaml(change: PlannedObject, choice: PaneChoice) -> dict[str, object]:
    objects = {name: getattr(change.versions, name) for name in VERSION_WORDS}
    objects |= {"after": None} if change.operation is Operation.ERROR else {}  # nothing is written
    shown = (
        choice.version if objects.get(choice.version) is not None else next((n for n, o in objects.items() if o), "")
    )
    url_of = choice.file_url_of
    return {
        "versions": tuple(VersionChoice(n, w, objects[n] is not None, n == shown) for n, w in VERSION_WORDS.items()),
        "document": present_document(change, shown, start=choice.start, find=choice.find) if shown else None,
        "file_url": url_of(f"{shown}.yaml") if shown and url_of else "",
    }


def _write_query(choice: PaneChoice) -> str:
    """Return the query of this display of the diff."""
    view = "split" if choice.is_split else "unified"
    return f"view={view}{'&complete=1' if choice.has_server_managed else ''}{'&raw=1' if choice.is_raw else ''}"


def _offer_choices(choice: PaneChoice, *, has_inside: bool) -> tuple[DiffChoice, ...]:
    def offer(word: Text, **values: bool) -> DiffChoice:
        other = replace(choice, **values)  # type: ignore[arg-type]  # the names are those of switches
        return DiffChoice(word, _write_query(other), other == choice)

    one, two = offer(_("One column"), is_split=False), offer(_("Side by side"), is_split=True)
    is_whole = choice.has_server_managed
    whole = replace(offer(_("Normalized"), has_server_managed=not is_whole), is_current=is_whole)
    raw = replace(offer(_("Raw"), is_raw=not choice.is_raw), is_current=choice.is_raw)
    return (one, two, whole, raw) if has_inside or choice.is_raw else (one, two, whole)


def _fill_diff(change: PlannedObject, choice: PaneChoice, options: ApplyOptions) -> dict[str, object]:
    diff = present_diff(
        change,
        you=options.field_manager,
        is_split=choice.is_split,
        has_server_managed=choice.has_server_managed,
        is_raw=choice.is_raw,
        start=choice.start,
    )
    return {
        "diff": diff,
        "diff_query": _write_query(choice),
        "is_masked": change.ref.gvk.kind == "Secret",
        "is_split": choice.is_split,
        "choices": _offer_choices(choice, has_inside=diff.has_inside),
    }


def _fill_requests(
    change: PlannedObject, choice: PaneChoice, options: ApplyOptions, version_url_of: Callable[[str], str]
) -> dict[str, object]:
    requests, kubectl = present_requests(change, options, is_edited=choice.is_edited, file_url_of=choice.file_url_of)
    return {
        "sequence": present_sequence(change, requests),
        "sends": change.has_effect,
        "calculation": present_calculation(change, options, url_of=version_url_of),
        "kubectl": kubectl,
        "archive_url": choice.archive_url,
    }


def _fill_tab(
    change: PlannedObject,
    choice: PaneChoice,
    options: ApplyOptions,
    field_url_of: Callable[[int], str],
    version_url_of: Callable[[str], str],
    resolution: ConflictPage,
) -> dict[str, object]:
    if choice.tab is Tab.CHANGES:
        return _fill_changes(change, choice, options, field_url_of, resolution)
    if choice.tab is Tab.DIFF:
        return _fill_diff(change, choice, options)
    if choice.tab is Tab.REQUESTS:
        return _fill_requests(change, choice, options, version_url_of)
    if choice.tab is Tab.OWNERS:
        return {
            "columns": present_ownership_columns(change.fields, you=options.field_manager, url_of=choice.manager_url_of)
        }
    return _fill_yaml(change, choice)


def present_pane(
    change: PlannedObject,
    *,
    options: ApplyOptions,
    choice: PaneChoice,
    url_of: Callable[[Tab], str],
    field_url_of: Callable[[int], str],
    resolution: ConflictPage = NOTHING,
    acts: Mapping[RiskKind, AcknowledgeAction] | None = None,
    offers: tuple[PostAction, ...] = (),
    life_url: str = "",
    hand_over_url: str = "",
    take_url: str = "",
    last_applied_url: str = "",
    others_url: str = "",
    origin: str = "",
    origin_url: str = "",
) -> Pane:
    """Return the pane of one object with the chosen tab filled in."""
    return Pane(
        name=change.ref.name,
        kind=change.ref.gvk.kind,
        namespace=change.ref.namespace,
        style=OBJECT_STYLES[change.operation],
        position=locate_object(change),
        origin=origin,
        origin_url=origin_url,
        method=name_method(change.method),
        certainty=CERTAINTY_STYLES[change.certainty],
        certainty_reason=describe_certainty(change.certainty_reason),
        schema_origin=str(ORIGINS[change.schema_origin]),
        notices=present_notices(change, acts, offers, hand_over_url, others_url),
        tabs=_link_tabs(change, choice, url_of),
        url=url_of(choice.tab),
        template=f"reviews/_{choice.tab.value}.html",
        is_deletion=change.operation.is_deletion,
        is_server_side=options.mode is ApplyMode.SERVER,
        deciding=resolution,
        life_url=life_url,
        hand_over_url=hand_over_url,
        take_url=take_url,
        last_applied_url=last_applied_url,
        **_fill_tab(
            change, choice, options, field_url_of, lambda name: f"{url_of(Tab.YAML)}?version={name}", resolution
        ),  # type: ignore[arg-type]  # each tab fills its own fields
    )
