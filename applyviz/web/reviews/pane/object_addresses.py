"""The addresses that an object links to, in the scroll of all changes and alone; the playground has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from applyviz.engine.risks.model import RiskKind, RiskLevel

if TYPE_CHECKING:
    from applyviz.web.reviews.pane.object_content import ObjectView


class ObjectLinks(Struct, frozen=True):
    """The addresses of one object: alone, its history, itself in each view, a field and a risk on its own.

    - `conflict`: its row in the list of risks while conflicts block it; `has_comments`: its fields have comments.
    - `lines`: the comments on lines of it, "" without.
    """

    focus: str
    history: str
    self_of: Callable[[ObjectView], str]
    field_of: Callable[[int], str]
    risk_of: Callable[[RiskKind, RiskLevel], str]
    conflict: str
    has_comments: bool = True
    lines: str = ""


class AloneLinks(Struct, frozen=True):
    """The addresses of an object alone, empty where there is none.

    - `page_of` and `part_of`: each view as a page and as its part; a query is added to both.
    - `file_of`: its files by name; `manager_of`: all that a field manager owns; `archive`: all requests of the plan.
    - `changes`: the object among all others; then where its fields are handed over, taken, or edited.
    """

    page_of: Callable[[ObjectView], str]
    part_of: Callable[[ObjectView], str]
    file_of: Callable[[str], str] | None = None
    manager_of: Callable[[str], str] | None = None
    archive: str = ""
    changes: str = ""
    hand_over: str = ""
    take: str = ""
    last_applied: str = ""
