"""Notices, facts and progress: small frozen rows that many pages print."""

from __future__ import annotations

from datetime import datetime

from django.utils.functional import Promise
from msgspec import Struct

from applyviz.web.components.badges import Appearance


class NotedBy(Struct, frozen=True):
    """One person who acknowledged a risk, and when."""

    name: str
    at: datetime
    note: str
    is_you: bool


class AlikeRow(Struct, frozen=True):
    """Another object with the same unacknowledged risk, and the text of its risk."""

    position: int
    kind: str
    name: str
    url: str
    texts: tuple[str, ...]


class AcknowledgeAction(Struct, frozen=True):
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


class PlanFact(Struct, frozen=True):
    """A labelled fact in small print."""

    label: Text
    text: Text
    url: str = ""
    is_code: bool = False
    is_external: bool = False


class PostAction(Struct, frozen=True):
    """A button that posts a form: its fixed values, and on demand one choice beside it."""

    text: Text
    url: str
    values: tuple[tuple[str, str], ...] = ()
    help: Text = ""
    label: Text = ""
    name: str = ""
    choices: tuple[tuple[str, Text], ...] = ()


class Notice(Struct, frozen=True):
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


class Progress(Struct, frozen=True):
    """The progress of planning or applying."""

    text: Text
    done: int
    total: int
