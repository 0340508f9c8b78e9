"""Messages of a server, kubectl or kustomize, folded behind a sentence of ours where one fits.

Rule: `field.Error` of apimachinery prints the kind of the error, the value as JSON or as Go prints it, and the detail.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext
from msgspec import Struct

from applyviz.engine.explain.server_refusals import find_refusal

# A map, a list or a Go value. Quoted texts and numbers stay: they are short and show the error.
_VALUE = re.compile(r"^(?P<kind>[A-Z][\w ]*): (?:[\[{]|[\w.*&\[\]]+\{).*[\]}]: (?P<detail>.+)$", re.DOTALL)
_NAMED = re.compile(r"(?<![\w\"'.])([a-z][\w.\[\]]{0,200}): (?:Invalid value|Forbidden): ")
_LONGEST = 65_536
_MOST_NAMED, _IMMUTABLE = 3, "immutable"
_INVALID = "Invalid value"


class ServerText(Struct, frozen=True):
    """A sentence for people, and the original text behind it; "" where the sentence is the text itself."""

    sentence: str = ""
    message: str = ""


def fold(text: str) -> ServerText:
    """Return the sentence for an error with its original text; masked texts stay masked.

    - A sentence about fields that are immutable names them.
    """
    found = find_refusal(text)
    if found is None:
        return ServerText(text)
    sentence = gettext(found.sentence)
    names = list(dict.fromkeys(_NAMED.findall(text[:_LONGEST]))) if found.kind == _IMMUTABLE else []
    return ServerText(f"{', '.join(names[:_MOST_NAMED])}: {sentence}" if names else sentence, text)


def leave_out_value(message: str) -> str:
    """Return the message of a server about a field without a map, list or Go value, which the whole message shows.

    - "Invalid value: {…}: field is immutable" becomes "field is immutable".
    """
    found = _VALUE.match(message[:_LONGEST])
    if found is None:
        return message
    return found["detail"] if found["kind"] == _INVALID else f"{found['kind']}: {found['detail']}"
