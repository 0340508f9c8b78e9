"""Decide whether text repeats a secret value of the object that contains it, in any encoding of the value.

Rule: eight or more characters of a value count, in any encoding; shorter values count as whole words, values below four
characters only between quotes. Text is compared only with values of the same provenance: otherwise, a mask would answer
guesses about values that its author may not read. The cost is linear in text and values.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from applyviz.engine.diff.embedded import OBJECT_META, claims_secret, decode_secret, hides_field, names_secret
from applyviz.engine.diff.encoded import decode_all, find_pieces, looks_encoded
from applyviz.engine.diff.marks import OPEN
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue

_RUN = 8
_TINY = 4
_MOST_RUNS = 262_144
_BLANK = re.compile(r"\\[nrt]|\s+")
_QUOTES = "\"'`"
# As many letters as a part of a text has that is compressed or encrypted, if nothing reads it.
_LEAST_PIECES = 64


def find_secrets(obj: JSONObject, *, gvk: GroupVersionKind | None, plain: PlainValues | None = None) -> frozenset[str]:
    """Return every secret value of an object, both encoded and decoded; containers in `plain` are in no Secret."""
    found: set[str] = set()
    known = PlainValues() if plain is None else plain
    _collect(obj, gvk is None or names_secret(gvk.kind), found, known, is_resolved=gvk is not None)
    return frozenset(found)


def _collect(
    value: JSONValue, is_secret: bool, found: set[str], plain: PlainValues, *, is_resolved: bool = True
) -> None:
    if not is_secret and value in plain:  # it names no Secret itself
        return
    if isinstance(value, list):
        for item in value:
            _collect(item, is_secret, found, plain, is_resolved=is_resolved)
    elif isinstance(value, str):
        embedded = plain.parse(value) if len(value) > _RUN else None
        if embedded is not None:
            _collect(embedded, is_secret, found, plain, is_resolved=False)
    elif isinstance(value, Mapping):
        is_named = claims_secret(value)
        is_secret, is_resolved = is_secret or is_named, is_resolved or is_named
        for key, below in value.items():
            if is_secret and hides_field(key, below, is_resolved=is_resolved):
                _collect_values(below, key == "data", found)
            elif is_secret and key == "metadata" and isinstance(below, Mapping):
                _collect_metadata(below, found, plain)
            else:
                is_below = is_secret and (key == "items" or not is_resolved)
                _collect(below, is_below, found, plain, is_resolved=is_resolved)


def _collect_metadata(metadata: JSONObject, found: set[str], plain: PlainValues) -> None:
    for key, value in metadata.items():
        if key not in OBJECT_META:
            _collect_values(value, False, found)
        elif key == "annotations" and isinstance(value, Mapping):
            for text in value.values():  # an object in an annotation of a Secret is taken for a Secret
                _collect(text, True, found, plain, is_resolved=False)
        else:
            _collect(value, False, found, plain)


def _collect_values(value: JSONValue, is_encoded: bool, found: set[str]) -> None:
    if isinstance(value, Mapping):
        for below in value.values():
            _collect_values(below, is_encoded, found)
    elif isinstance(value, list):
        for below in value:
            _collect_values(below, is_encoded, found)
    elif value is not None and not isinstance(value, bool):
        text = value if isinstance(value, str) else json.dumps(value)
        found.add(text)
        if is_encoded:
            found.add(decode_secret(text).decode("utf-8", "replace"))
    found.discard("")


def list_forms(secret: str) -> set[str]:
    """Return the encoded forms of a value in which it counts as repeated, and the value, all without blanks."""
    raw = secret.encode("utf-8", "surrogatepass")
    written = json.dumps(secret, ensure_ascii=False)[1:-1]
    encoded = (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), *_encode_inside(raw))
    letters = (raw.hex(), raw.hex().upper(), base64.b32encode(raw).decode(), base64.b32encode(raw).decode().lower())
    shown = {secret, secret[::-1], written, json.dumps(secret)[1:-1], quote(raw, safe=""), *letters, *encoded}
    bare = {form.rstrip("=") for form in (*letters, *encoded)}  # a label has no "="
    return {_BLANK.sub("", form) for form in shown | bare} - {""}


def _encode_inside(raw: bytes) -> Iterator[str]:
    """Yield the base64 of bytes at other positions of a longer text, without the letters that depend on that text."""
    for before in (1, 2):
        written = base64.b64encode(bytes(before) + raw).decode()[before + 1 : 8 * (before + len(raw)) // 6]
        if len(written) >= _RUN:
            yield written


class Repeats:
    """The values of one object, indexed to check whether text repeats one of them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in list_forms(secret)}
        self._short = frozenset(form for form in forms if len(form) < _RUN)
        long = [form for form in forms if len(form) >= _RUN]
        # Of very long values only every eighth run is indexed: a repetition of fifteen characters is still found.
        stride = 1 if sum(map(len, long)) <= _MOST_RUNS else _RUN
        self._runs = frozenset(form[n : n + _RUN] for form in long for n in range(0, len(form) - _RUN + 1, stride))

    def __bool__(self) -> bool:
        """Whether there is any value."""
        return bool(self._runs or self._short)

    def are_encoded_in(self, text: str) -> bool:
        """Return whether a text holds a value encoded, or what the limits do not allow to decode."""
        if not self or not looks_encoded(text):
            return False
        decoded = decode_all(text)
        return not decoded.is_whole or any(map(self.are_in, decoded.texts))

    def find_cut(self, texts: Mapping[str, JSONValue], shown: Mapping[str, JSONValue]) -> set[str]:
        """Return the names of texts in which, together, an encoded copy may stand in pieces between words.

        - `shown`: the same texts without what is masked already.
        """
        if not self:
            return set()
        left = {name: find_pieces(text) for name, text in shown.items() if isinstance(text, str)}
        if sum(len(piece) for pieces in left.values() for piece in pieces.surely) >= _LEAST_PIECES:
            return {name for name, pieces in left.items() if pieces.maybe}
        read = {name: texts[name] if str(one).startswith(OPEN) else one for name, one in shown.items()}
        every = [(name, piece) for name in sorted(read, key=_sort_numbers) for piece in _list_pieces(read[name])]
        owners = [name for name, piece in every for _ in piece]
        joined = "".join(piece for _, piece in every)
        found = (n for n in range(len(joined) - _RUN + 1) if joined[n : n + _RUN] in self._runs)
        return {owner for n in found for owner in (owners[n], owners[n + _RUN - 1])}

    def are_in(self, text: str) -> bool:
        """Return whether the text contains one of the values, or a recognizable part of one."""
        if self._runs:
            compact = _BLANK.sub("", text)
            if any(compact[n : n + _RUN] in self._runs for n in range(len(compact) - _RUN + 1)):
                return True
        return bool(self._short) and any(word in self._short for word in _list_words(text))


def _list_pieces(text: JSONValue) -> tuple[str, ...]:
    return find_pieces(text).maybe if isinstance(text, str) else ()


def _sort_numbers(name: str) -> str:
    return re.sub("[0-9]+", lambda found: found[0].zfill(9), name)


def _list_words(text: str) -> Iterator[str]:
    """Yield every candidate for a short value: up to seven letters or digits between other characters."""
    for start in range(len(text)):
        if start and _is_word(text[start - 1]):
            continue
        for end in range(start + 1, min(start + _RUN, len(text) + 1)):
            is_whole = end == len(text) or not _is_word(text[end])
            if is_whole and (end - start >= _TINY or _is_quoted(text, start, end)):
                yield text[start:end]


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_quoted(text: str, start: int, end: int) -> bool:
    return start > 0 and text[start - 1] in _QUOTES and end < len(text) and text[end] in f"{_QUOTES}\\"
