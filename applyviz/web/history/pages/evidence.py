"""Read model of evidence for a period: one section per kind of fact, with counts, links and what is omitted."""

from __future__ import annotations

from itertools import islice
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.enums import FindingSort
from applyviz.web.components.notices import PlanFact
from applyviz.web.history.pages.entries import present_links
from applyviz.web.runs.pages.results import OUTCOME_STYLES
from applyviz.workflow.audit import chain
from applyviz.workflow.audit.chain import Checkpoint
from applyviz.workflow.audit.entries import name_action
from applyviz.workflow.evidence.report import (
    EXCEPTIONS,
    TITLES,
    EvidenceFact,
    EvidenceSection,
    Period,
    count_section,
    read_section,
)
from applyviz.workflow.foundation.access import Person

SHOWN = 250
_WORDS = {
    "started outside the change window": _("started outside the change window"),
    "continued outside the change window": _("continued outside the change window"),
}


class FactRow(Struct, frozen=True):
    """One line."""

    fact: EvidenceFact
    who_url: str
    what: str | Promise
    roles: str
    links: tuple[PlanFact, ...]
    entry_url: str


class SectionRows(Struct, frozen=True):
    """One section; `total` includes facts that are not listed."""

    anchor: str
    title: str | Promise
    rows: tuple[FactRow, ...]
    total: int
    is_exception: bool
    has_objects: bool
    has_writes: bool = False


class EvidencePage(Struct, frozen=True):
    """The evidence page; `exceptions` counts what an auditor checks first."""

    period: Period
    sections: tuple[SectionRows, ...]
    exceptions: int
    total: int
    head: Checkpoint
    query: str


def _name(fact: EvidenceFact) -> str | Promise:
    if fact.what in FindingSort.values:
        return FindingSort(fact.what).label
    if fact.what in OUTCOME_STYLES:
        return OUTCOME_STYLES[fact.what].word
    return _WORDS.get(fact.what) or name_action(fact.what)


def _present(fact: EvidenceFact) -> FactRow:
    is_found = fact.section is EvidenceSection.UNREVIEWED
    return FactRow(
        fact,
        who_url=reverse("history:show-person", args=[fact.who]) if fact.who and not is_found else "",
        what=_name(fact),
        roles=fact.roles.replace(" ", ", "),
        links=present_links(fact.review, fact.plan, fact.run),
        entry_url=reverse("history:show-entry", args=[fact.number]) if fact.number else "",
    )


def _count(section: EvidenceSection, rows: tuple[FactRow, ...], period: Period, person: Person) -> int:
    if section is not EvidenceSection.RUNS and len(rows) < SHOWN:
        return len(rows)
    return count_section(section, period, for_user=person)


def _present_section(section: EvidenceSection, period: Period, *, for_user: Person) -> SectionRows:
    facts = read_section(section, period, for_user=for_user)
    rows = tuple(_present(fact) for fact in islice(facts, SHOWN))
    return SectionRows(
        anchor=section.value,
        title=TITLES[section],
        rows=rows,
        total=_count(section, rows, period, for_user),
        is_exception=section in EXCEPTIONS,
        has_objects=section is EvidenceSection.UNREVIEWED,
        has_writes=section is EvidenceSection.CHANGED_OBJECTS,
    )


def present_evidence(period: Period, *, for_user: Person) -> EvidencePage:
    """Return the evidence page."""
    sections = tuple(_present_section(section, period, for_user=for_user) for section in EvidenceSection)
    query = {"since": period.since.isoformat(), "until": period.until.isoformat(), "cluster": period.cluster}
    return EvidencePage(
        period=period,
        sections=sections,
        exceptions=sum(section.total for section in sections if section.is_exception),
        total=sum(section.total for section in sections),
        head=chain.find_checkpoint(),
        query="?" + urlencode({name: value for name, value in query.items() if value}),
    )
