"""Notices, facts and progress: small frozen rows that many pages print."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise

from applyviz.web.components.badges import Appearance


@dataclass(frozen=True, slots=True)
class NotedBy:
    """One person who acknowledged a risk, and when."""

    name: str
    at: datetime
    note: str
    is_you: bool


@dataclass(frozen=True, slots=True)
class AlikeRow:
    """Another object with the same risk that nobody acknowledged yet, and what its risk says."""

    position: int
    kind: str
    name: str
    url: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AcknowledgeAction:
    """What can be done about one risk of an object; addresses are empty where it cannot be done.

    - `alike`: the other objects with this risk, each shown with it: only those are acknowledged together.
    - `more`: how many further ones are not shown here.
    """

    kind: str
    position: int
    noted: tuple[NotedBy, ...] = ()
    url: str = ""
    withdraw_url: str = ""
    alike: tuple[AlikeRow, ...] = ()
    more: int = 0

    @property
    def anchor(self) -> str:
        """The name of the fields of this form on a page that has several."""
        return f"{self.kind}-{self.position}"


Text = str | Promise


@dataclass(frozen=True, slots=True)
class PlanFact:
    """A labelled fact in small print."""

    label: Text
    text: Text
    url: str = ""
    is_code: bool = False
    is_external: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the page has to say by itself."""

    look: Appearance
    title: Text
    text: Text = ""
    lines: tuple[Text, ...] = ()
    url: str = ""
    link: Text = ""
    anchor: str = ""
    act: AcknowledgeAction | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far planning or applying is."""

    text: Text
    done: int
    total: int
