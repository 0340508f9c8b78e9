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
    """Another object with the same unacknowledged risk, and the text of its risk."""

    position: int
    kind: str
    name: str
    url: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AcknowledgeAction:
    """The actions on one risk of an object; an address is empty where the action is impossible.

    - `alike`: the other objects with this risk, listed beside it: only those are acknowledged together.
    - `more`: the number of further ones that are not listed.
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
        """Return a name for the fields of this form on a page that has several."""
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
class PostAction:
    """A button that posts a form: its fixed values, and on demand one choice beside it."""

    text: Text
    url: str
    values: tuple[tuple[str, str], ...] = ()
    help: Text = ""
    label: Text = ""
    name: str = ""
    choices: tuple[tuple[str, Text], ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of the page itself.

    - `links`: what it is about, each with its address.
    """

    style: Appearance
    title: Text
    text: Text = ""
    lines: tuple[Text, ...] = ()
    url: str = ""
    link: Text = ""
    anchor: str = ""
    act: AcknowledgeAction | None = None
    server_message: str = ""
    posts: tuple[PostAction, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of planning or applying."""

    text: Text
    done: int
    total: int
