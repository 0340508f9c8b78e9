"""The file means something other than it shows: retyped values, duplicate keys, invisible characters.

Rule: YAML 1.1 as kubectl reads it (`manifests`), and Trojan Source (CVE-2021-42574): bidirectional and invisible
characters make a reviewer see another text than the one that is applied.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.manifests.documents import PlainPath, Retyped, Retyping
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import (
    ManifestField,
    find_field,
    path_of,
    position_of,
)

_READ_AS = {
    Retyping.BOOLEAN: "boolean",
    Retyping.OCTAL: "octal",
    Retyping.LEADING_ZERO: "decimal: 8 and 9 are not octal digits",
    Retyping.SEPARATED: "separated digits",
    Retyping.OTHER_BASE: "number of another base",
    Retyping.EXPONENT: "number with an exponent",
    Retyping.FLOAT: "rounded number",
    Retyping.BIG_INTEGER: "integer above 2^53",
    Retyping.NULL: "null",
    Retyping.DATE: "date",
}
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Control, format, private and unassigned characters; blanks that are invisible or look like a space.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\U0001d173-\U0001d17a]"
)

_ESCAPED_CONTROL = re.compile(r"\\(?:u00[01]|[bf])")


def _describe_retyped(f: Facts) -> Templates:
    role = "The key" if f.get("role") == "key" else "The value"
    quote = Advice.QUOTE.value
    if not f.get("text"):
        return (role + " is not parsed as written ({what}).", quote)
    if f["what"] == "date":
        return (role + " {text} looks like a date, and kubectl keeps it as text.", Advice.QUOTE_DATE.value)
    if f.get("takes") == "number":
        return (role + " {text} is read as {value} ({what}), in a field that takes a number.",)
    return (role + " {text} is read as {value} ({what}).", quote)


RETYPED_VALUE = RiskKind("retyped-value", "Value re-typed by YAML", _describe_retyped, is_beside_field=True)
DUPLICATE_KEY = RiskKind(
    "duplicate-key", "Duplicate key", "{key} appears twice, in lines {first} and {second}; the last one wins silently."
)
INVISIBLE_CHARACTERS = RiskKind(
    "invisible-characters",
    "Invisible characters",
    "The text contains characters that are invisible or that reorder the visible text: {characters}.",
)


def _takes_number(note: Retyped, field: ManifestField | None) -> bool:
    return not note.is_key and field is not None and field.node is not None and field.node.type in ("integer", "number")


def _level_of(note: Retyped, field: ManifestField | None) -> RiskLevel:
    wants_text = field is not None and field.node is not None and field.node.type == "string"
    if note.is_key or (wants_text and not isinstance(note.value, str)):
        return RiskLevel.HIGH
    numeric = (Retyping.DATE, Retyping.OCTAL, Retyping.LEADING_ZERO, Retyping.FLOAT)
    if note.retyping in numeric and field is not None:
        return RiskLevel.INFO if _takes_number(note, field) or note.retyping is Retyping.DATE else RiskLevel.MEDIUM
    return RiskLevel.MEDIUM


def _show(value: object) -> str:
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value))
        if isinstance(value, (bool, type(None)))
        else str(value)
    )


@rule(70)
def find_retyped(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the values and keys that YAML does not read as text."""
    document = subject.document
    is_secret = names_secret(subject.ref.gvk.kind)
    for note in document.retyped if document is not None else ():
        field = find_field(subject, note.path)
        facts = {
            "text": "" if is_secret else note.text[:60],
            "value": "" if is_secret else _show(note.value)[:60],
            "what": _READ_AS[note.retyping],
            "role": "key" if note.is_key else "value",
            "takes": "number" if _takes_number(note, field) else "",
        }
        yield RETYPED_VALUE.at(path_of(subject, note.path), facts, note.position, level=_level_of(note, field))


@rule(80)
def find_duplicates(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the duplicate keys of the file: the last one wins, silently."""
    document = subject.document
    for note in document.duplicates if document is not None else ():
        facts = {
            "key": str(note.path[-1]) if note.path else "",
            "first": str(note.first.line),
            "second": str(note.second.line),
        }
        yield DUPLICATE_KEY.at(path_of(subject, note.path), facts, note.second)


def _describe(character: str) -> str:
    name = unicodedata.name(character, "control character").lower()
    return f"U+{ord(character):04X} {name}"


def _is_suspicious(subject: RiskSubject) -> bool:
    # One pass in C over the whole text clears nearly every object.
    text = json.dumps(subject.manifest, ensure_ascii=False)
    return not text.isascii() or _ESCAPED_CONTROL.search(text) is not None or "\x7f" in text


@rule(90)
def find_unseen(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the texts of the manifest with invisible or reordering characters."""
    if subject.manifest is None or not _is_suspicious(subject):
        return
    for where, value, _ in subject.containers:
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for step, entry in entries:
            texts = [text for text in (step, entry) if isinstance(text, str)]
            found = list(dict.fromkeys(c for text in texts for c in _UNSEEN.findall(text)))
            if found:
                yield _unseen_at(subject, (*where, step), found)


def _unseen_at(subject: RiskSubject, plain: PlainPath, found: list[str]) -> Risk:
    facts = {"characters": ", ".join(_describe(c) for c in found[:5]), "count": str(len(found))}
    level = RiskLevel.HIGH if any(c in _BIDI for c in found) else RiskLevel.MEDIUM
    path, position = path_of(subject, plain), position_of(subject, plain)
    return INVISIBLE_CHARACTERS.at(path, facts, position, level=level)
