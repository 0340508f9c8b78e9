"""Pair the lines of two objects for a side-by-side diff: by field, by list key, and by line for text.

Rule: lists pair as server-side apply names their entries; lists without keys pair by equal entries. Text that is JSON
or YAML on both sides is compared by its own fields (`embedded_documents`); equal quantities are the same line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from applyviz.engine.diff.embedded_documents import lay_out_json, name_by_guess, read_yaml
from applyviz.engine.diff.equal_parts import EqualParts
from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.diff.words import align
from applyviz.engine.diff.yaml_text import (
    YAMLLine,
    below,
    block_mark,
    count_lines,
    dash,
    is_block,
    name_entries,
    render_entry,
    render_field,
    render_lines,
    show_escapes,
    sort_names,
    write_scalar,
)
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, is_same_json
from applyviz.engine.schema.topology import Topology

LinePair = tuple[YAMLLine | None, YAMLLine | None]
_ABSENT: Any = object()
# At most this many characters of embedded YAML are parsed per object; the rest is compared by lines.
_BUDGET = 1_000_000
# Equal values of these types are written alike.
_EXACT = frozenset({str, int, bool, type(None)})
_LONG = 8
"""Equal values of more lines may be left out."""


def _is_filled(value: JSONValue, kind: Any) -> bool:
    return isinstance(value, kind) and bool(value)


def _beside(before: Iterable[YAMLLine], after: Iterable[YAMLLine]) -> Iterator[LinePair]:
    """Yield the lines of two renderings: equal lines side by side, the others one by one."""
    old, new = list(before), list(after)
    if len(old) == len(new) == 1:  # hot: most fields are one line
        yield old[0], new[0]
        return
    texts = [["  " * line.depth + (line.meaning or line.text) for line in lines] for lines in (old, new)]
    for a, b, c, d, is_same in align(*texts):
        if is_same or b - a == d - c:
            yield from zip(old[a:b], new[c:d], strict=True)
        else:
            yield from ((line, None) for line in old[a:b])
            yield from ((None, line) for line in new[c:d])


def _interleave(old: list[PathElement], new: list[PathElement]) -> Iterator[PathElement]:
    """Yield entries in their order after apply; a removed entry follows its former predecessor."""
    remaining = set(new)
    gone_after: dict[PathElement, list[PathElement]] = {}
    anchor = ""
    for element in old:
        if element in remaining:
            anchor = element
        else:
            gone_after.setdefault(anchor, []).append(element)
    yield from gone_after.get("", ())
    for element in new:
        yield element
        yield from gone_after.get(element, ())


def _dash(pairs: Iterator[LinePair], depth: int) -> Iterator[LinePair]:
    """Begin an entry on both sides, which both have lines: the first line of each gets the dash."""
    is_open = [True, True]
    while any(is_open):
        sides: list[YAMLLine | None] = list(next(pairs))
        for side, line in enumerate(sides):
            if line is not None and is_open[side]:
                sides[side] = dash(line, depth)
                is_open[side] = False
        yield sides[0], sides[1]
    yield from pairs


def _head(path: FieldPath, depth: int, name: str, text: str, inside: str) -> YAMLLine:
    """Return the line above a text that is shown in another form."""
    label = write_scalar(name)
    return YAMLLine(path, depth, f"{label}: {block_mark(text)}", meaning=f"{label}: |", inside=inside)


def _place(line: YAMLLine | None, path: FieldPath) -> YAMLLine | None:
    """Return a line of a text; it belongs to the field that holds the text."""
    return line and line._replace(path=path)


def _has_lines(value: JSONValue) -> bool:
    return isinstance(value, str) and "\n" in value.rstrip("\n")


def _align_entries(before: list[JSONValue], after: list[JSONValue]) -> Iterable[tuple[int, int, int, int, bool]]:
    """Return which runs of entries stand side by side, and whether they are equal."""
    if len(before) == len(after) == 1:  # hot: the one version of a custom resource holds all of its schema
        return [(0, 1, 0, 1, False)]
    texts = [[canonical_json(entry) for entry in entries] for entries in (before, after)]
    return align(*texts)


def _leave_out(lines: Iterator[YAMLLine], value: JSONValue) -> LinePair:
    """Return the first line of a value that is equal on both sides, in place of all its lines."""
    head = next(lines)
    head = head._replace(more=count_lines(value) - head.is_entry)
    return head, head


class Pairer:
    """Pairs the lines of two objects.

    - `looks_inside`: text is compared by its own fields. `is_short`: a long equal value is its first line alone.
    """

    def __init__(self, *, looks_inside: bool, is_short: bool = False) -> None:
        self._looks_inside = looks_inside
        self._is_short = is_short
        self._parts = EqualParts()
        self._budget = _BUDGET
        self._is_inside = False

    def pair_maps(
        self,
        topology: Topology | None,
        before: JSONObject,
        after: JSONObject,
        path: FieldPath,
        depth: int,
    ) -> Iterator[LinePair]:
        """Yield the lines of two maps; `path` and `depth` are those of their fields."""
        for name in sort_names({*before, *after}):
            element = "f:" + name
            old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from self._pair_field(below(topology, element), name, old, new, (*path, element), depth)

    def _pair_field(
        self, topology: Topology | None, name: str, before: Any, after: Any, path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        if before is _ABSENT:
            yield from ((None, line) for line in render_field(topology, name, after, path, depth))
        elif after is _ABSENT:
            yield from ((line, None) for line in render_field(topology, name, before, path, depth))
        elif self._can_leave_out(before, after, len(path)):
            yield _leave_out(render_field(topology, name, after, path, depth), after)
        elif _is_filled(before, Mapping) and _is_filled(after, Mapping):
            head = YAMLLine(path, depth, f"{write_scalar(name)}:")
            yield head, head
            yield from self.pair_maps(topology, before, after, path, depth + 1)
        elif _is_filled(before, list) and _is_filled(after, list):
            head = YAMLLine(path, depth, f"{write_scalar(name)}:")
            yield head, head
            yield from self._pair_lists(topology, before, after, path, depth)
        elif topology is not None and topology.is_quantity and is_equal_in_meaning(before, after):
            lines = [YAMLLine(path, depth, f"{write_scalar(name)}: {write_scalar(v)}") for v in (before, after)]
            yield lines[0]._replace(meaning=lines[1].text), lines[1]._replace(meaning=lines[1].text)
        else:
            yield from self._pair_values(topology, name, before, after, path, depth)

    def _can_leave_out(self, before: JSONValue, after: JSONValue, depth: int) -> bool:
        return self._is_short and self._parts.is_same(before, after, depth) and count_lines(after) > _LONG

    def _pair_values(
        self, topology: Topology | None, name: str, before: JSONValue, after: JSONValue, path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        if before != after and self._looks_inside and isinstance(before, str) and isinstance(after, str):
            found = self._pair_texts(name, before, after, path, depth)
            if found is not None:
                yield from found
                return
        old = render_field(topology, name, before, path, depth)
        if type(before) is type(after) and type(after) in _EXACT and before == after:
            yield from ((line, line) for line in old)
            return
        yield from _beside(old, render_field(topology, name, after, path, depth))

    def _pair_texts(self, name: str, before: str, after: str, path: FieldPath, depth: int) -> Iterable[LinePair] | None:
        """Return the lines of two texts that differ, by their fields; None if a comparison by lines is clearer."""
        laid = lay_out_json(before, after)
        if laid is not None:
            return self._pair_json(name, *laid, path, depth)
        if not (_has_lines(before) or _has_lines(after)):
            return None
        by_fields = self._pair_yaml(name, before, after, path, depth)
        if by_fields is not None:
            return by_fields
        if is_block(before) and is_block(after):
            return None
        return self._pair_escaped(name, before, after, path, depth)

    def _pair_json(self, name: str, before: str, after: str, path: FieldPath, depth: int) -> Iterator[LinePair]:
        yield _head(path, depth, name, before, "json"), _head(path, depth, name, after, "json")
        # A comma at the end of a line only says that another line follows.
        old, new = (
            [YAMLLine(path, depth + 1, line, meaning=line.rstrip(",")) for line in text.split("\n")]
            for text in (before, after)
        )
        yield from _beside(old, new)

    def _pair_yaml(self, name: str, before: str, after: str, path: FieldPath, depth: int) -> list[LinePair] | None:
        if self._is_inside or len(before) + len(after) > self._budget:
            return None
        old = read_yaml(before)
        new = read_yaml(after) if old is not None else None
        if old is None or new is None:
            return None
        self._budget -= len(before) + len(after)
        self._is_inside = True
        found = [(_place(a, path), _place(b, path)) for a, b in self._pair_documents(old, new, path, depth + 1)]
        self._is_inside = False
        if all(a is not None and b is not None and (a.meaning or a.text) == (b.meaning or b.text) for a, b in found):
            return None  # only the layout or the comments differ, so the lines themselves are compared
        return [(_head(path, depth, name, before, "yaml"), _head(path, depth, name, after, "yaml")), *found]

    def _pair_documents(
        self, before: tuple[JSONValue, ...], after: tuple[JSONValue, ...], path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        names = [_name_documents(documents) for documents in (before, after)]
        if None in names:
            names = [[f"i:{n}" for n in range(len(documents))] for documents in (before, after)]
        old, new = (dict(zip(n or (), d, strict=True)) for n, d in zip(names, (before, after), strict=True))
        line, begun = YAMLLine(path, depth, "---"), [False, False]
        for key in _interleave(list(old), list(new)):
            sides = old.get(key, _ABSENT), new.get(key, _ABSENT)
            between = [
                line if is_begun and d is not _ABSENT else None for is_begun, d in zip(begun, sides, strict=True)
            ]
            if any(between):
                yield between[0], between[1]
            begun = [is_begun or d is not _ABSENT for is_begun, d in zip(begun, sides, strict=True)]
            yield from self._pair_document(*sides, path, depth)

    def _pair_document(self, before: JSONValue, after: JSONValue, path: FieldPath, depth: int) -> Iterator[LinePair]:
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self.pair_maps(None, before, after, path, depth)
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._pair_lists(None, before, after, path, depth)
        else:
            yield from ((line, None) for line in _render_document(before, path, depth))
            yield from ((None, line) for line in _render_document(after, path, depth))

    def _pair_escaped(self, name: str, before: str, after: str, path: FieldPath, depth: int) -> Iterator[LinePair]:
        """Yield texts that no literal block can represent, line by line, with escapes for invisible characters."""
        yield _head(path, depth, name, before, "escapes"), _head(path, depth, name, after, "escapes")
        old, new = (
            [YAMLLine(path, depth + 1, show_escapes(line)) for line in text.removesuffix("\n").split("\n")]
            for text in (before, after)
        )
        yield from _beside(old, new)

    def _pair_lists(
        self, topology: Topology | None, before: list[Any], after: list[Any], path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        old, new = name_entries(topology, before), name_entries(topology, after)
        if old[0][0] == "i" or new[0][0] == "i":
            guessed = name_by_guess(before, after) if topology is None else None
            if guessed is None:
                yield from self._pair_by_position(topology, before, after, path, depth)
                return
            old, new = guessed
        left = dict(zip(old, before, strict=True))
        right = dict(zip(new, after, strict=True))
        for element in _interleave(old, new):
            item = below(topology, element)
            was, will = left.get(element, _ABSENT), right.get(element, _ABSENT)
            yield from self._pair_entry(item, was, will, (*path, element), depth)

    def _pair_by_position(
        self, topology: Topology | None, before: list[Any], after: list[Any], path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        item = below(topology, "i:0")
        for a, b, c, d, _ in _align_entries(before, after):
            for n in range(max(b - a, d - c)):
                old = before[a + n] if a + n < b else _ABSENT
                new = after[c + n] if c + n < d else _ABSENT
                position = c + n if new is not _ABSENT else a + n
                yield from self._pair_entry(item, old, new, (*path, f"i:{position}"), depth)

    def _pair_entry(
        self, topology: Topology | None, before: Any, after: Any, path: FieldPath, depth: int
    ) -> Iterator[LinePair]:
        if before is _ABSENT:
            yield from ((None, line) for line in render_entry(topology, after, path, depth))
        elif after is _ABSENT:
            yield from ((line, None) for line in render_entry(topology, before, path, depth))
        elif self._can_leave_out(before, after, len(path)):
            yield _leave_out(render_entry(topology, after, path, depth), after)
        elif _is_filled(before, Mapping) and _is_filled(after, Mapping) and not is_same_json(before, after):
            yield from _dash(self.pair_maps(topology, before, after, path, depth + 1), depth)
        else:
            yield from _beside(render_entry(topology, before, path, depth), render_entry(topology, after, path, depth))


def _render_document(document: JSONValue, path: FieldPath, depth: int) -> Iterator[YAMLLine]:
    return iter(()) if document is _ABSENT else render_lines(None, document, path, depth)


def _name_documents(documents: tuple[JSONValue, ...]) -> list[str] | None:
    """Return the names of documents that are Kubernetes objects; None if they are not."""
    names = []
    for document in documents:
        about = document.get("metadata") if isinstance(document, Mapping) else None
        if not isinstance(document, Mapping) or not isinstance(about, Mapping):
            return None
        parts = (document.get("apiVersion"), document.get("kind"), about.get("namespace"), about.get("name"))
        names.append("/".join(map(str, parts)))
    return names if len(set(names)) == len(names) else None
