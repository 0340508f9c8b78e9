"""Messages of a server, kubectl or kustomize, folded behind a sentence of ours where one fits."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from applyviz.engine.explain.server_refusals import find_refusal


@dataclass(frozen=True, slots=True)
class ServerText:
    """A sentence for people, and the original text behind it; "" where the sentence is the text itself."""

    sentence: str = ""
    message: str = ""


def fold(text: str) -> ServerText:
    """Return the sentence for an error with its original text; masked texts stay masked."""
    found = find_refusal(text)
    return ServerText(gettext(found.sentence), text) if found else ServerText(text)
