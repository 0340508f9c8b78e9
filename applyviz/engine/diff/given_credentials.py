"""Find the credentials in a person's files, and hide them in the output of programs that read these files.

Release notes of charts and errors of helm and kustomize are text that programs make of values, so they may repeat a
password to every reader of a review. Files are searched as text, without a YAML parser: the cost is linear, whatever
aliases they have. Left out: a credential that nothing names as one and that no Secret holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from applyviz.engine.diff.credential_names import names_credential
from applyviz.engine.diff.credentials import redact
from applyviz.engine.diff.embedded import decode_secret, looks_secret
from applyviz.engine.diff.repeating import list_forms

MASK = "••••••"
_SHORTEST = 4
_SIZES = (_SHORTEST, 8, 16, 32)
_FEW = 100
_MOST_FORMS = 1_000
_BEYOND, _BEGINNING = 64 * 1024, 64
_LONGEST_FORM = 12  # characters of a form for one of a value: a surrogate pair in JSON, four bytes in a URL
# Each repetition is followed by what it cannot match itself, or gives nothing back: a line is read once.
_VALUE = re.compile(r"""^[ \t]*+(?:-[ \t]++)?(?:["']?([\w.\-/]{1,200})["']?[ \t]*+[:=])?[ \t]*+(\S.*)$""", re.MULTILINE)
_WORDS = re.compile(r"[a-z]+(?:-[a-z]+)*")
# What a Secret, or a kustomization that makes one, shows.
_SHOWN = frozenset({"apiVersion", "kind", "name", "namespace", "type", "namePrefix", "nameSuffix", "resources"})


def list_credentials(text: str) -> frozenset[str]:
    """Return the credentials that a text names; every value of a Secret or a secret generator."""
    found: set[str] = set()

    def keep(value: str, _name: str) -> str:
        found.add(value)
        return ""

    redact(text, keep)
    if looks_secret(text) or "secretGenerator" in text:
        found.update(_list_values(text))
    return frozenset(found)


def list_defaults(text: str) -> frozenset[str]:
    """Return the credentials that the default values of a chart name, without words that name the key of a Secret."""
    return frozenset(one for one in list_credentials(text) if not (_WORDS.fullmatch(one) and names_credential(one)))


def _list_values(text: str) -> Iterator[str]:
    for match in _VALUE.finditer(text):
        if match[1] in _SHOWN:
            continue
        value = match[2].rstrip(" \t,").strip("\"'")
        yield from (value, value.partition("=")[2], decode_secret(value).decode("utf-8", "replace"))


class _Windows:
    """The parts of a text of some sizes: they show of most other texts at once that it does not hold them.

    Nearly all are refused by the shortest parts. Longer ones are only listed where searches of the whole text, of which
    each costs as much as its length, become many.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._of_size: dict[int, set[str]] = {}
        self._searches = 0

    def hold(self, part: str) -> bool:
        """Return whether the text holds a part, which has at least `_SHORTEST` characters."""
        if self._searches >= _FEW * len(self._of_size) and len(self._of_size) < len(_SIZES):
            size = _SIZES[len(self._of_size)]
            self._of_size[size] = {self._text[at : at + size] for at in range(len(self._text) - size + 1)}
        for size, known in self._of_size.items():
            if size <= len(part) and (part[:size] not in known or part[-size:] not in known):
                return False
        self._searches += 1
        return part in self._text


def hide_credentials(text: str, values: Iterable[str]) -> str:
    """Return a text without credentials: the given ones in any form, and those that it names itself.

    - A text that repeats more than `_MOST_FORMS` of them is hidden whole.
    """
    windows, found = _Windows(text), set[str]()
    for value in values:
        if len(value.strip()) < _SHORTEST:
            continue
        # A chart may have a million values, with a dozen forms each: only those are kept that the text has.
        forms = (form for form in (value, *list_forms(value)) if len(form.strip()) >= _SHORTEST)
        found.update(form for form in forms if windows.hold(form))
        if len(found) > _MOST_FORMS:
            return MASK
    for form in sorted(found, key=lambda form: (-len(form), form)):
        text = text.replace(form, MASK)
    return redact(text, lambda _found, _name: MASK)


def hide_and_cut(text: str, values: Iterable[str], most: int) -> str:
    """Return the beginning of a text, at most so many characters, without credentials or the beginning of one.

    - What is read beyond it is dropped again, because its end may divide a credential. A text with the beginning of
      one that is longer than that is hidden whole.
    """
    begun = text[: most + _BEYOND]
    if len(begun) == len(text):
        return hide_credentials(text, values)[:most]
    given = list(values)
    for value in (one for one in given if len(one) * _LONGEST_FORM > _BEYOND):
        if any(len(form) > _BEYOND and form[:_BEGINNING] in begun for form in (value, *list_forms(value))):
            return MASK
    return hide_credentials(begun, given)[:-_BEYOND][:most]
