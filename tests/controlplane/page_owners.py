"""Judge the Owners tab: how many fields each field manager owns, before and after, or that one owns them all."""

from __future__ import annotations

import re

from django.test.html import Element

from tests.controlplane.page_facts import Identity, list_owners
from tests.controlplane.pages import Pages, Told, find_class
from tests.web import reading

_SOLE = r"(.+) \((\w+)\) owns every owned field of (?:the|all) (\d+) objects?, before and after\."


def _count(told: Told) -> dict[Identity, tuple[int, int]]:
    """Return how many fields each owner has before and after, without controllers and what is written to status."""
    counts: dict[Identity, list[int]] = {}
    for number, obj in enumerate((told.before, told.after)):
        for path in (reason.path for reason in told.change.fields):
            for owner in () if told.fact(path).is_of_controllers else list_owners(obj, path):
                counts.setdefault(owner, [0, 0])[number] += 1
    return {
        owner: (was, now)
        for owner, (was, now) in sorted(counts.items())
        if not owner[2] and owner[0] != "kube-controller-manager"
    }


def _judge_sole(pages: Pages, page: Element, all_told: list[Told]) -> None:
    """Judge the sentence that stands instead of a table: one manager owns the same fields before and after."""
    for empty in find_class(page, "empty"):
        text = " ".join(reading.text_of(one) for one in reading.find_all(empty, "p"))
        said = re.fullmatch(_SOLE, text)
        real = [(owner[:2], was == now) for told in all_told for owner, (was, now) in _count(told).items()]
        if said is None:
            is_true = not real and text == "No field manager owns fields of these objects."
        else:
            is_true = set(real) == {((said[1], said[2]), True)} and int(said[3]) == len(all_told)
        pages.expect(text, is_true=is_true, kind="sentence of the owners tab")


def judge_owners(pages: Pages, all_told: list[Told]) -> None:
    """The Owners tab: how many fields each field manager owns, before and after."""
    page = pages.read(f"{pages.address('show-owners')}?view=table&all=1")
    tables = find_class(page, "owner-map")
    if not tables:
        _judge_sole(pages, page, all_told)
        return
    said = "".join("".join(reading.text_of(t).split()) for t in tables)
    for told in all_told:
        for owner, (was, now) in _count(told).items():
            cell = str(was) if was == now else f"{was}→{now}"
            pages.expect(f"{owner[0]} {cell}", is_true=cell in said, where=told.name, kind="owners tab")
