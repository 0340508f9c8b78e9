"""Parse one YAML document to a JSON value with positions, in one pass over libyaml's events.

Rule: the decoder of go.yaml.in/yaml/v2 (last duplicate wins, `<<` overrides earlier keys, aliases only up to a share of
the document) under sigs.k8s.io/yaml (keys become text). Working on events keeps the stack flat: depth, alias and merge
bombs hit a limit and never the C stack.
"""

from __future__ import annotations

import math
import re
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from applyviz.engine.manifests.documents import (
    DuplicateKey,
    PlainPath,
    Retyped,
    Retyping,
    make_mark,
    put_mark,
    read_position,
    to_field_path,
)
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.scalars import HINTS, Scalar, resolve_plain, resolve_tagged, write_key
from applyviz.engine.manifests.tree_parts import (
    UNUSABLE_KEY,
    Anchored,
    FlowColonError,
    Frame,
    TagIndicatorError,
    Tree,
    allowed_alias_share,
    holds_unusable,
)
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import ManifestError, SourcePosition
from applyviz.engine.objects.values import JSONValue

# PyYAML's stubs call the marks of events optional; the C parser always sets them.
_Event: TypeAlias = Any
_ESCAPED_SLASH: Final = re.compile(r"(?<!\\)(?:\\\\)*\\/")
_TAG_WITH_INDICATOR: Final = re.compile(r"(?:&\S+\s+)?(![-\w;/?:@&=+$.!~*'()%]*[,\[\]])", re.ASCII)
_IN_TAG: Final = ("while scanning a tag", "while parsing a tag")
_TEXTS = ("str", "timestamp")
# What libyaml says of flow collections before it gives their first event.
_TOO_DEEP = "exceeded maximum nesting depth"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"


@dataclass(slots=True)
class TreeReader:
    """Reads the first document of a text that starts at `first_line` (from 1) of `file`."""

    file: str
    first_line: int
    limits: ReadLimits
    cache: dict[str, Scalar] = field(default_factory=dict)
    _count: int = 0
    _alias_count: int = 0
    _anchors: dict[str, Anchored] = field(default_factory=dict)
    _frames: list[Frame] = field(default_factory=list)
    _retyped: list[Retyped] = field(default_factory=list)
    _duplicates: list[DuplicateKey] = field(default_factory=list)
    _root: Tree = field(default_factory=Tree)
    _text: bytes = b""
    _characters: str = ""
    _has_escaped_slash: bool = False
    _unusable: ManifestError | None = None

    def read(self, text: bytes) -> Tree:
        """Read the document; raises `ManifestError` with the position of the problem."""
        self._text, self._has_escaped_slash = text, b"\\/" in text
        parser = CParser(text)
        handlers = {
            ScalarEvent: self._on_scalar,
            MappingStartEvent: self._on_start,
            SequenceStartEvent: self._on_start,
            MappingEndEvent: self._on_end,
            SequenceEndEvent: self._on_end,
            AliasEvent: self._on_alias,
        }
        try:
            get_event = parser.get_event
            event = get_event()
            while True:
                event = get_event()
                handler = handlers.get(event.__class__)
                if handler is not None:
                    handler(event)
                elif event.__class__ is DocumentEndEvent or event.__class__ is StreamEndEvent:
                    if self._unusable is not None and holds_unusable(self._root.value):
                        raise self._unusable
                    return self._root
        except YAMLError as error:
            raise self._syntax_error(error) from None
        finally:
            parser.dispose()

    def _syntax_error(self, error: YAMLError) -> ManifestError:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        if mark:
            where = (mark.line + self.first_line, mark.column + 1)
        else:
            offset = getattr(error, "position", 0)
            where = (self.first_line + self._text.count(b"\n", 0, offset), 0)
        position = SourcePosition(self.file, *where)
        if reason == _TOO_DEEP:
            return ManifestError(f"nested deeper than {self.limits.depth} levels", position)
        if mark and reason == "found unexpected ':'":
            return FlowColonError(f"YAML syntax: {reason}", position, (), mark.index)
        began = getattr(error, "context_mark", None)
        if began and getattr(error, "context", None) in _IN_TAG:
            return TagIndicatorError(f"YAML syntax: {reason}", position, (), began.index)
        return ManifestError(f"YAML syntax: {reason}", position)

    def _fail(self, event: _Event, reason: str) -> ManifestError:
        mark = event.start_mark
        position = SourcePosition(self.file, mark.line + self.first_line, mark.column + 1)
        return ManifestError(reason, position, to_field_path(self._path()))

    def _path(self) -> PlainPath:
        steps: list[str | int] = []
        for frame in self._frames:
            if not frame.is_map:
                steps.append(len(frame.value))
            elif frame.key is not None:
                steps.append(frame.key)
        return tuple(steps)

    def _step(self, event: _Event, cost: int = 1) -> None:
        self._count += cost
        if self._count > self.limits.values:
            reason = f"more than {self.limits.values:,} values after aliases and merge keys are expanded"
            raise self._fail(event, reason)

    def _resolve(self, event: _Event) -> Scalar:
        text: str = event.value
        if not event.implicit[0]:
            if event.tag is None:
                return Scalar("str", text)
            self._check_tag(event)
            try:
                return resolve_tagged(event.tag, text)
            except ValueError as error:
                raise self._fail(event, str(error)) from None
        if text and text[0] not in HINTS:
            return Scalar("str", text)
        scalar = self.cache.get(text)
        if scalar is None:
            scalar = self.cache[text] = resolve_plain(text)
        if scalar.tag != "str" and event.end_mark.index - event.start_mark.index != len(text):
            # `! 5` and `! '5'`: libyaml does not report the tag `!`, which turns anything into text.
            before = self._source_of(event).partition(text)[0] if text else self._source_of(event)
            if "!" in before or event.style:
                return Scalar("str", text)
        return scalar

    def _source_of(self, event: _Event) -> str:
        if not self._characters:
            self._characters = self._text.decode("utf-8", "replace")
        return self._characters[event.start_mark.index : event.end_mark.index + 1]

    def _check_spelling(self, event: _Event, frame: Frame | None) -> None:
        # Syntax that libyaml accepts by now and Go's library still refuses.
        if frame is not None and frame.is_flow and not event.style and "?" in event.value[1:]:
            end = "}" if frame.is_map else "]"
            raise self._fail(event, f"YAML syntax: did not find expected ',' or '{end}'")
        if self._has_escaped_slash and event.style == '"' and _ESCAPED_SLASH.search(self._source_of(event)):
            raise self._fail(event, "YAML syntax: found unknown escape character")

    def _check_tag(self, event: _Event) -> None:
        found = _TAG_WITH_INDICATOR.match(self._source_of(event)) if event.tag is not None else None
        if found:
            failed = self._fail(event, "YAML syntax: did not find expected whitespace or line break")
            raise TagIndicatorError(failed.reason, failed.position, (), event.start_mark.index + found.start(1))

    def _on_scalar(self, event: _Event) -> None:
        frame = self._frames[-1] if self._frames else None
        text = event.value
        if self._has_escaped_slash or (frame is not None and frame.is_flow):
            self._check_spelling(event, frame)
        if frame is not None:
            if frame.is_map and frame.key is None:
                self._on_key(event, frame)
                return
            if frame.is_merge or frame.merge_items is not None:
                raise self._fail(event, "map merge requires map or sequence of maps as the value")
        self._count += 1
        # Most scalars are plain or quoted text: they take the fast path.
        implicit = event.implicit[0]
        if (implicit and text and text[0] not in HINTS) or (not implicit and event.tag is None):
            value = text
            if event.anchor is not None:
                self._anchors[event.anchor] = Anchored(Scalar("str", text), text)
        else:
            value = self._read_typed(event)
        mark = event.start_mark
        self._put(frame, value, make_mark(mark.line + self.first_line, mark.column + 1), None)

    def _read_typed(self, event: _Event) -> Any:
        scalar = self._resolve(event)
        value = scalar.value
        if event.anchor is not None:
            self._anchors[event.anchor] = Anchored(scalar, value)
        if isinstance(value, float) and not math.isfinite(value) and self._unusable is None:
            # A later duplicate key may still replace it, so this is checked at the end.
            shown = "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
            self._unusable = self._fail(event, f"json: unsupported value: {shown}")
        if scalar.retyping is not None:
            self._note_retyped(event, scalar, self._path(), is_key=False)
        return value

    def _note_retyped(self, event: _Event, scalar: Scalar, path: PlainPath, *, is_key: bool) -> None:
        mark = event.start_mark
        position = SourcePosition(self.file, mark.line + self.first_line, mark.column + 1)
        retyping = cast(Retyping, scalar.retyping)  # the callers have checked
        self._retyped.append(Retyped(path, event.value, scalar.value, retyping, position, is_key))

    def _on_key(self, event: _Event, frame: Frame) -> None:
        mark = event.start_mark
        frame.key_mark = make_mark(mark.line + self.first_line, mark.column + 1)
        text = event.value
        if text == "<<" and (event.implicit[0] or event.tag == _MERGE_TAG):
            frame.key, frame.is_merge = text, True
            return
        self._step(event)
        scalar = self._resolve(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = Anchored(scalar, scalar.value)
        self._set_key(event, frame, scalar)
        if scalar.retyping is not None and scalar.value is not text:
            self._note_retyped(event, scalar, self._path(), is_key=True)

    def _set_key(self, event: _Event, frame: Frame, scalar: Scalar) -> None:
        try:
            key = write_key(scalar)
        except ValueError as error:
            key = UNUSABLE_KEY
            self._unusable = self._unusable or self._fail(event, str(error))
        frame.key = key
        if key in frame.value or scalar.tag not in _TEXTS:  # hot: most keys are new texts
            self._check_tags(event, frame, scalar)
        if key in frame.value and (frame.merged is None or key not in frame.merged):
            first = read_position(frame.positions[key], self.file)
            second = read_position(frame.key_mark, self.file)
            self._duplicates.append(DuplicateKey(self._path(), first, second))

    def _check_tags(self, event: _Event, frame: Frame, scalar: Scalar) -> None:
        """Raise `ManifestError` if keys of two types become one key of JSON, as `1` and `"1"` do.

        - In Go they are two keys of one map, and the order in which it is converted is random.
        """
        key, tag = frame.key or "", "str" if scalar.tag in _TEXTS else scalar.tag
        tags = frame.key_tags or {}
        is_written = key in frame.value and (frame.merged is None or key not in frame.merged)
        if is_written and tags.get(key, "str") != tag:
            first = read_position(frame.positions[key], self.file)
            reason = f"the keys in lines {first.line} and {event.start_mark.line + self.first_line} differ in type only"
            raise self._fail(event, f'{reason}: as JSON both are "{key}", and kubectl takes one of them at random')
        if tag != "str":
            frame.key_tags = tags
            tags[key] = tag

    def _put(self, frame: Frame | None, value: JSONValue, mark: int, positions: Any) -> None:
        if frame is None:
            self._root = Tree(value, put_mark(mark, positions), tuple(self._retyped), tuple(self._duplicates))
        elif frame.is_map:
            key = frame.key
            frame.value[key] = value
            frame.positions[key] = frame.key_mark if positions is None else put_mark(frame.key_mark, positions)
            if frame.merged is not None:
                frame.merged.discard(key or "")
            frame.key = None
        else:
            frame.value.append(value)
            frame.positions.append(mark if positions is None else put_mark(mark, positions))

    def _on_start(self, event: _Event) -> None:
        frames = self._frames
        is_map = event.__class__ is MappingStartEvent
        above = frames[-1] if frames else None
        if above is not None:
            if len(frames) >= self.limits.depth:
                raise self._fail(event, f"nested deeper than {self.limits.depth} levels")
            if above.is_map and above.key is None:
                raise self._fail(event, "invalid map key: a key must be a single value")
            if above.merge_items is not None and not is_map:
                raise self._fail(event, "map merge requires map or sequence of maps as the value")
        self._check_tag(event)
        self._step(event)
        anchored = None
        if event.anchor is not None:
            anchored = self._anchors[event.anchor] = Anchored(is_open=True)
        mark = event.start_mark
        value: Any = {} if is_map else []
        frame = Frame(
            value,
            {} if is_map else [0],
            is_map,
            make_mark(mark.line + self.first_line, mark.column + 1),
            self._count - 1,
            anchored,
            event.flow_style,
        )
        if above is not None and above.is_merge and not is_map:
            # Go does not decode the list of a merge itself, only the mappings in it.
            self._count -= 1
            frame.merge_items = []
        frames.append(frame)

    def _on_end(self, event: _Event) -> None:
        frame = self._frames.pop()
        if self._count > self.limits.values:
            self._step(event, 0)
        anchored = frame.anchored
        if anchored is not None:
            anchored.value, anchored.positions, anchored.is_open = frame.value, frame.positions, False
            anchored.size = self._count - frame.count_before
        above = self._frames[-1] if self._frames else None
        if above is None or not (above.is_merge or above.merge_items is not None):
            self._put(above, frame.value, frame.mark, frame.positions)
            return
        if above.merge_items is not None:
            above.merge_items.append(Anchored(None, frame.value, frame.positions))
        elif frame.merge_items is not None:
            # Earlier maps of the list win, so they are merged last.
            for item in reversed(frame.merge_items):
                self._merge(above, item)
            above.key, above.is_merge = None, False
        else:
            self._merge(above, Anchored(None, frame.value, frame.positions))
            above.key, above.is_merge = None, False

    def _merge(self, frame: Frame, source: Anchored) -> None:
        frame.value.update(source.value)
        frame.positions.update(source.positions)
        if frame.merged is None:
            frame.merged = set()
        frame.merged.update(as_mapping(source.value))

    def _on_alias(self, event: _Event) -> None:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            # Not by its name: a password that begins with * and lacks quotes is read as one.
            raise self._fail(event, "unknown anchor referenced")
        if anchored.is_open:
            raise self._fail(event, "anchor value contains itself")
        self._step(event, 1 + anchored.size)
        self._alias_count += anchored.size
        is_many = self._alias_count > 100 and self._count > 1000
        if is_many and self._alias_count > self._count * allowed_alias_share(self._count):
            raise self._fail(event, "document contains excessive aliasing")
        frame = self._frames[-1]  # the only complete anchors here are inside a list or mapping
        mark = make_mark(event.start_mark.line + self.first_line, event.start_mark.column + 1)
        if frame.is_map and frame.key is None:
            if anchored.scalar is None:
                raise self._fail(event, "invalid map key: a key must be a single value")
            frame.key_mark = mark
            self._set_key(event, frame, anchored.scalar)
        elif frame.is_merge or frame.merge_items is not None:
            self._merge_alias(event, frame, anchored)
        else:
            # The same value appears at many paths: each has its own mark.
            self._put(frame, anchored.value, mark, copy(anchored.positions))

    def _merge_alias(self, event: _Event, frame: Frame, anchored: Anchored) -> None:
        if not isinstance(anchored.value, dict):
            raise self._fail(event, "map merge requires map or sequence of maps as the value")
        if frame.merge_items is not None:
            frame.merge_items.append(anchored)
        else:
            self._merge(frame, anchored)
            frame.key, frame.is_merge = None, False
