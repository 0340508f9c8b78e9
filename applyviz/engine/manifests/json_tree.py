"""Parse one JSON value of a stream to a value with positions, as Go's JSON decoder reads it.

Rule: sigs.k8s.io/json with integers preserved: a number without point and exponent that fits 64 bits is an integer,
every other one a float; the last of two equal keys wins; lone surrogates become U+FFFD. Nothing here recurses, so deep
nesting ends at a limit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from typing import Any

from applyviz.engine.manifests.documents import (
    DuplicateKey,
    PlainPath,
    Retyped,
    Retyping,
    make_mark,
    put_mark,
    read_position,
)
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.tree_parts import Tree
from applyviz.engine.objects.errors import ManifestError, SourcePosition
from applyviz.engine.objects.values import JSONValue

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_SAFE_INTEGER = 2**53


class NotJSONError(ManifestError):
    """The text is not JSON; it may still be YAML."""


def _is_cut(match: re.Match[str], after: str) -> bool:
    # `5.` and `5e` begin a fraction or an exponent that never comes; `02` is two values.
    has_fraction, has_exponent = match[1] is not None, match[2] is not None
    return (after == "." and not has_fraction and not has_exponent) or (after in ("e", "E") and not has_exponent)


class RefusedValueError(ManifestError):
    """The text is JSON and contains a number that no value can represent."""


def _parse_number(text: str, *, is_float: bool) -> int | float:
    if not is_float and len(text) < 25:
        number = int(text)
        if -(2**63) <= number < 2**63:
            return number
    return float(text)


@dataclass(slots=True)
class _Frame:
    value: Any
    positions: Any
    mark: int
    key: str | None = None
    key_mark: int = 0


@dataclass(slots=True)
class JSONReader:
    """Reads the values of `text` one after the other; `at` is the offset after the last one."""

    file: str
    text: str
    limits: ReadLimits
    at: int = 0
    _line: int = 1
    _line_start: int = 0
    _counted_to: int = 0
    _frames: list[_Frame] = field(default_factory=list)
    _retyped: list[Retyped] = field(default_factory=list)
    _duplicates: list[DuplicateKey] = field(default_factory=list)
    _refused: ManifestError | None = None

    def skip_space(self) -> bool:
        """Advance to the next value; return False at the end of the text."""
        self.at = self._space(self.at)
        return self.at < len(self.text)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset; offsets must not decrease between calls."""
        text, start = self.text, self._counted_to
        newlines = text.count("\n", start, offset)
        if newlines:
            self._line += newlines
            self._line_start = text.rindex("\n", start, offset) + 1
        self._counted_to = offset
        return self._line, offset - self._line_start + 1

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _fail(self, at: int, reason: str) -> ManifestError:
        line = self.text.count("\n", 0, at) + 1
        return ManifestError(reason, SourcePosition(self.file, line, at - self.text.rfind("\n", 0, at)))

    def _not_json(self, at: int) -> NotJSONError:
        shown = repr(self.text[at]) if at < len(self.text) else "end of the text"
        error = self._fail(at, f"JSON syntax: unexpected {shown}")
        return NotJSONError(error.reason, error.position)

    def _path(self) -> PlainPath:
        return tuple(len(f.value) if f.key is None else f.key for f in self._frames)

    def read(self) -> Tree:
        """Read the next value; raises `NotJSONError`, `ManifestError` for a limit, or `RefusedValueError`.

        - The next value can be read after a refused one.
        """
        self._frames, self._retyped, self._duplicates, self._refused = [], [], [], None
        at = self._space(self.at)
        while True:
            done, at = self._read_value(at)
            while done is not None and self._frames:
                at = self._space(at)
                done, at = self._after_entry(at)
            if done is not None:
                self.at = at
                if self._refused is not None:
                    raise self._refused
                return done
            at = self._space(at)

    def _read_value(self, at: int) -> tuple[Tree | None, int]:
        # A finished value is a Tree without notes; None means that a list or object was opened.
        text = self.text
        char = text[at : at + 1]
        line, column = self.locate(at)
        value: JSONValue
        if char == '"':
            value, at = self._read_string(at)
        elif char in ("{", "["):
            return self._open(at, line, column)
        elif char in _WORDS and text.startswith(_WORDS[char][0], at):
            value = _WORDS[char][1]
            at += len(_WORDS[char][0])
        else:
            value, at = self._read_number(at, line, column)
        return self._finish(value, make_mark(line, column), None), at

    def _read_string(self, at: int) -> tuple[str, int]:
        try:
            value, at = scanstring(self.text, at + 1, True)
        except JSONDecodeError as error:
            raise self._not_json(error.pos) from None
        return (_SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value), at

    def _read_number(self, at: int, line: int, column: int) -> tuple[JSONValue, int]:
        match = _NUMBER.match(self.text, at)
        if match is None or _is_cut(match, self.text[match.end() : match.end() + 1]):
            raise self._not_json(at)
        written = match.group()
        value = _parse_number(written, is_float=match.lastindex is not None)
        if isinstance(value, float) and math.isinf(value) and self._refused is None:
            # Go reads the whole text before it converts numbers.
            error = self._fail(at, "json: cannot unmarshal number into Go value of type float64")
            self._refused = RefusedValueError(error.reason, error.position)
        if abs(value) > _SAFE_INTEGER and match.lastindex is None:
            position = SourcePosition(self.file, line, column)
            self._retyped.append(Retyped(self._path(), written, value, Retyping.BIG_INTEGER, position))
        return value, match.end()

    def _open(self, at: int, line: int, column: int) -> tuple[Tree | None, int]:
        if len(self._frames) >= self.limits.depth:
            raise self._fail(at, f"nested deeper than {self.limits.depth} levels")
        is_map = self.text[at] == "{"
        empty: Any = {} if is_map else []
        frame = _Frame(empty, {} if is_map else [0], make_mark(line, column))
        at = self._space(at + 1)
        if self.text[at : at + 1] == ("}" if is_map else "]"):
            return self._finish(frame.value, frame.mark, frame.positions), at + 1
        self._frames.append(frame)
        return None, (self._read_key(frame, at) if is_map else at)

    def _read_key(self, frame: _Frame, at: int) -> int:
        if self.text[at : at + 1] != '"':
            raise self._not_json(at)
        frame.key_mark = make_mark(*self.locate(at))
        frame.key, at = self._read_string(at)
        at = self._space(at)
        if self.text[at : at + 1] != ":":
            raise self._not_json(at)
        if frame.key in frame.value:
            first = read_position(frame.positions[frame.key], self.file)
            second = read_position(frame.key_mark, self.file)
            self._duplicates.append(DuplicateKey(self._path(), first, second))
        return self._space(at + 1)

    def _finish(self, value: JSONValue, mark: int, positions: Any) -> Tree:
        if not self._frames:
            return Tree(value, put_mark(mark, positions), tuple(self._retyped), tuple(self._duplicates))
        frame = self._frames[-1]
        if frame.key is None:
            frame.value.append(value)
            frame.positions.append(put_mark(mark, positions))
        else:
            frame.value[frame.key] = value
            frame.positions[frame.key] = put_mark(frame.key_mark, positions)
        return Tree()

    def _after_entry(self, at: int) -> tuple[Tree | None, int]:
        # After an entry of the innermost list or object: a comma, or the end of it.
        frame, char = self._frames[-1], self.text[at : at + 1]
        is_map = frame.key is not None
        if char == ("}" if is_map else "]"):
            self._frames.pop()
            return self._finish(frame.value, frame.mark, frame.positions), at + 1
        if char != ",":
            raise self._not_json(at)
        at = self._space(at + 1)
        return None, (self._read_key(frame, at) if is_map else at)
