"""The parts of the review header: steps, blockers, the button.

Frozen values only; `review_header` fills them.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.web.components.notices import Text


class StepState(StrEnum):
    """The state of one step."""

    DONE = "done"
    NOW = "now"
    NEXT = "next"
    BAD = "bad"


_GLYPHS = {StepState.DONE: "✓", StepState.NOW: "▸", StepState.NEXT: "○", StepState.BAD: "×"}  # noqa: RUF001 drawn
_SEPARATOR = " · "


class HeaderStep(Struct, frozen=True):
    """One step, with the next actor or the blocker."""

    word: Text
    state: StepState
    note: Text = ""

    @property
    def glyph(self) -> str:
        """Return the shape of the state."""
        return _GLYPHS[self.state]


class Blocker(Struct, frozen=True):
    """Why the button is disabled, with a link to resolve it."""

    text: Text
    url: str = ""


class Button(Struct, frozen=True):
    """The button: a link (`url`), a form (`form_url`), or disabled without either.

    - `can_wait`: the form offers to wait until workloads are ready.
    - `about`: the full text behind the short label.
    """

    text: Text = ""
    url: str = ""
    form_url: str = ""
    blockers: tuple[Blocker, ...] = ()
    note: Text = ""
    can_wait: bool = False
    about: Text = ""


class WhyPart(Struct, frozen=True):
    """One part of the line beside the button: a blocker, the note or the emergency apply.

    - `lead` separates it from the part before, and `end` is the full stop right after its text.
    """

    text: Text
    url: str = ""
    lead: str = ""
    is_calm: bool = False
    end: str = ""


class ReviewHeader(Struct, frozen=True):
    """The sticky header; `scheduled` is the line of a start that waits, `cancel_url` where it is canceled."""

    title: str
    review_id: int
    plan_number: int | None
    target: str
    mode: Text
    manager: str
    track: tuple[HeaderStep, ...]
    action: Button
    digest: str = ""
    emergency_url: str = ""
    identity: str = ""
    planned_at: datetime | None = None
    requested_at: datetime | None = None
    newer: str = ""
    newer_url: str = ""
    scheduled: str = ""
    cancel_url: str = ""

    @property
    def mark(self) -> str:
        """Return a short digest of what the header says and offers; an open page asks with it for another header."""
        act = self.action
        texts = (self.newer, self.scheduled, act.text, act.url, act.form_url, act.note)
        steps = (f"{step.state} {step.word} {step.note}" for step in self.track)
        blockers = (f"{one.text} {one.url}" for one in act.blockers)
        return hashlib.sha256("\n".join([*map(str, texts), *steps, *blockers]).encode()).hexdigest()[:12]

    @property
    def why(self) -> tuple[WhyPart, ...]:
        """Return the line beside the button. A note that follows blockers without a link is a sentence of its own."""
        parts: list[WhyPart] = []
        if self.scheduled:
            parts.append(WhyPart(self.scheduled))
        if self.cancel_url:
            parts.append(WhyPart(_("Cancel…"), self.cancel_url, _SEPARATOR, is_calm=True))
        for blocker in self.action.blockers:
            parts.append(WhyPart(blocker.text, blocker.url, _SEPARATOR if parts else ""))
        if self.action.note:
            is_sentence = bool(self.action.blockers) and not self.action.url
            if is_sentence:
                parts[-1] = replace(parts[-1], end=".")
            parts.append(WhyPart(self.action.note, lead=_SEPARATOR if parts and not is_sentence else ""))
        if self.emergency_url:
            lead = _SEPARATOR if parts else ""
            parts.append(WhyPart(_("Emergency apply…"), self.emergency_url, lead, is_calm=True))
        return tuple(parts)
