"""Change one field of one document in the text of its file: comments, order, anchors and style stay.

The new text is read again to verify the edit: it is returned only if that document has the wanted value and every other
document is unchanged. An edit that is not possible raises an error that says why, and what a person can do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument, PlainPath
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.stream import is_json_like
from applyviz.engine.manifests.text_nodes import Shape, TextError, TextNode, list_aliases, read_nodes, walk_path
from applyviz.engine.manifests.writing import write_block, write_block_text, write_inline
from applyviz.engine.objects.errors import ManifestError, SourcePosition
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json

_SEPARATOR = re.compile(r"^---[^\n]*(?:\n|\Z)", re.MULTILINE)
_COMMENT = re.compile(r"(?<!\S)#.*", re.DOTALL)
REMOVED: Final[object] = object()


class Span(Struct, frozen=True):
    """The text of one YAML document in its file; `first_line` counts from 1."""

    start: int
    end: int
    first_line: int


class _Edit(Struct, frozen=True):
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str = ""


def find_span(source: str, line: int) -> Span:
    """Return the document of a file that contains a line, between the separators where kubectl cuts it."""
    if is_json_like(source):
        return Span(0, len(source), 1)
    start, first_line = 0, 1
    for match in _SEPARATOR.finditer(source):
        at = source.count("\n", 0, match.start()) + 1
        if at > line:
            return Span(start, match.start(), first_line)
        start, first_line = match.end(), at + 1
    return Span(start, len(source), first_line)


def _refuse(reason: str, file: str, line: int) -> ManifestError:
    return ManifestError(reason, SourcePosition(file, line))


def find_in_object(obj: JSONObject, path: PlainPath) -> bool:
    """Return whether an object has a value at a plain path."""
    value: Any = obj
    for step in path:
        is_entry = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not is_entry and not (isinstance(value, Mapping) and step in value):
            return False
        value = value[step]
    return True


def change_object(obj: JSONObject, path: PlainPath, value: Any) -> JSONObject:
    """Return an object with another value at an existing plain path, or without it (`REMOVED`)."""
    edited = clone(dict(obj))
    index: Any = edited
    for step in path[:-1]:
        index = index[step]
    if value is REMOVED:
        del index[path[-1]]
    else:
        index[path[-1]] = clone(value)
    return dict(edited)


def widen_removal(obj: JSONObject, path: PlainPath) -> PlainPath:
    """Return the path to remove so that no empty map or list remains."""
    while len(path) > 1:
        above: Any = obj
        for step in path[:-1]:
            above = above[step]
        if len(above) > 1:
            break
        path = path[:-1]
    return path


class _Editor:
    """Edits one document in its text."""

    def __init__(self, text: str, file: str, first_line: int) -> None:
        self._text = text
        self._file = file
        self._first_line = first_line

    def _line(self, node: TextNode) -> int:
        return node.line + self._first_line

    def _refuse(self, reason: str, node: TextNode) -> ManifestError:
        return _refuse(reason, self._file, self._line(node))

    def edit(self, path: PlainPath, value: object, *, item_at: tuple[int, int] | None) -> _Edit:
        """Return the edit that gives a field another value, or removes it.

        - `item_at`: line and column of the list item where the path starts; None for the whole document.
        """
        root = self._read()
        *_above, (container, index) = self._walk(root, (*self._find_item(root, item_at), *path))
        return self._remove(container, index) if value is REMOVED else self._replace(container, index, value)

    def add(self, path: PlainPath, name: str, value: JSONValue, *, item_at: tuple[int, int] | None) -> _Edit:
        """Return the edit that adds a field to the map at `path`, before its first field."""
        root = self._read()
        found = self._walk(root, (*self._find_item(root, item_at), *path))
        target = root
        if found:
            container, index = found[-1]
            target = container.items[index] if container.shape is Shape.LIST else container.pairs[index][1]
            if target.shape is Shape.MAP and not target.pairs:
                return self._replace(container, index, {name: value})
        if target.shape is not Shape.MAP or target.has_merge:
            raise self._refuse("the field is not in the file", target)
        first = target.pairs[0][0]
        style = '"' if is_json_like(self._text) else ""
        if target.is_flow or style:
            text = f"{write_inline(name, style=style)}: {write_inline(value, style=style)}"
            return _Edit(first.start, first.start, f"{text}, ")
        return _Edit(first.start, first.start, write_block({name: value}, first.column) + "\n" + " " * first.column)

    def _read(self) -> TextNode:
        try:
            return read_nodes(self._text)
        except TextError:
            reason = "the text is not one YAML document that could be edited"
            raise _refuse(reason, self._file, self._first_line) from None

    def _find_item(self, root: TextNode, item_at: tuple[int, int] | None) -> PlainPath:
        if item_at is None:
            return ()
        index = root.find_pair("items")
        items = root.pairs[index][1].items if index is not None else ()
        for index, item in enumerate(items):
            if (item.line + 1, item.column + 1) == item_at:
                return ("items", index)
        raise self._refuse("the object was not found in the list of its file", root)

    def _walk(self, root: TextNode, path: PlainPath) -> list[tuple[TextNode, int]]:
        found = []
        for node, index in walk_path(root, path):
            if node.shape is Shape.ALIAS:
                raise self._refuse(
                    f"the lines come from the alias *{node.word}, which stands for lines elsewhere", node
                )
            if index is None:
                why = "the field comes from a YAML merge key (<<)" if node.has_merge else "the field is not in the file"
                raise self._refuse(why, node)
            found.append((node, index))
        self._check_shared(root, found)
        return found

    def _check_shared(self, root: TextNode, found: list[tuple[TextNode, int]]) -> None:
        used = set(list_aliases(root))
        for node, index in found:
            below = node.pairs[index][1] if node.shape is Shape.MAP else node.items[index]
            for part in (node, below):
                if part.anchor and part.anchor in used:
                    raise self._refuse(f"the lines are shared: other places use them as *{part.anchor}", part)

    # Replace a value

    def _replace(self, container: TextNode, index: int, value: Any) -> _Edit:
        if container.shape is Shape.LIST:
            node, key = container.items[index], None
        else:
            key, node = container.pairs[index]
        if node.shape is Shape.ALIAS:
            return _Edit(node.start, node.end, write_inline(value))
        start = self._skip_anchor(node)
        if node.start == node.end and key is not None:
            return _Edit(self._after_colon(key), self._after_colon(key), " " + write_inline(value))
        if isinstance(value, (Mapping, list)) and value and self._takes_block(container, node, value):
            return _Edit(start, node.end, write_block(value, node.column))
        if isinstance(value, str) and node.style in ("|", ">"):
            block = write_block_text(value, self._indent_below(container))
            if block is not None:
                return _Edit(start, node.end, block)
        if key is not None and self._text[key.end : start].strip() == ":":
            return _Edit(key.end, node.end, ": " + self._inline(value, node))
        return _Edit(start, node.end, self._inline(value, node))

    def _takes_block(self, container: TextNode, node: TextNode, value: object) -> bool:
        """Return whether a map or list may be written in block style at the position of the value."""
        if container.is_flow or node.is_flow or node.shape is Shape.SCALAR:
            return False
        return isinstance(value, list) or container.shape is Shape.LIST or node.column > container.column

    def _inline(self, value: JSONValue, node: TextNode) -> str:
        style = node.style if node.style in ("'", '"') else ""
        return write_inline(value, style='"' if is_json_like(self._text) else style)

    def _indent_below(self, container: TextNode) -> int:
        return container.column + 2

    def _skip_anchor(self, node: TextNode) -> int:
        if not node.anchor:
            return node.start
        match = re.match(r"&\S+\s+", self._text[node.start : node.end])
        return node.start + match.end() if match else node.start

    def _after_colon(self, key: TextNode) -> int:
        at = self._text.find(":", key.end)
        return key.end if at < 0 or "\n" in self._text[key.end : at] else at + 1

    # Remove a pair or an entry

    def _remove(self, container: TextNode, index: int) -> _Edit:
        spans = [
            (key.start, value.end if value.end > value.start else self._after_colon(key))
            for key, value in container.pairs
        ] or [(item.start, item.end) for item in container.items]
        if container.is_flow:
            return self._remove_in_flow(spans, index, container)
        start, end = spans[index]
        if container.shape is Shape.LIST:
            start = self._find_dash(start)
        line_start = self._text.rfind("\n", 0, start) + 1
        next_line = self._next_line(end)
        if not self._text[line_start:start].strip():
            return _Edit(line_start, next_line)
        if index + 1 == len(spans):
            raise self._refuse("the field shares its line with what stays", container)
        # The first pair of an entry is on the line of the dash: the next pair takes its position.
        below = self._text[next_line : spans[index + 1][0]]
        return _Edit(start, next_line + len(below) - len(below.lstrip()))

    def _remove_in_flow(self, spans: list[tuple[int, int]], index: int, container: TextNode) -> _Edit:
        if index + 1 < len(spans):
            return _Edit(spans[index][0], spans[index + 1][0])
        if index:
            return _Edit(spans[index - 1][1], spans[index][1])
        raise self._refuse("nothing would be left of the lines around the field", container)

    def _next_line(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end + 1

    def _find_dash(self, at: int) -> int:
        """Return the offset of the dash of an entry at `at`: only blanks and comments are between the two."""
        line_start = self._text.rfind("\n", 0, at) + 1
        while not (before := _COMMENT.sub("", self._text[line_start:at]).rstrip()):
            at = line_start - 1
            line_start = self._text.rindex("\n", 0, at) + 1
        return line_start + len(before) - 1


def _find_document(documents: tuple[ManifestDocument, ...], document: ManifestDocument, first_line: int) -> int | None:
    wanted = document.position.line - first_line + 1, document.position.column
    starts = [(d.position.line, d.position.column) for d in documents]
    return starts.index(wanted) if wanted in starts else None


def read_original(source: str, document: ManifestDocument) -> JSONObject | None:
    """Return the object as its file contains it; None if the file does not contain it (any more)."""
    span = find_span(source, document.position.line)
    found = parse_manifests(source[span.start : span.end].encode(), document.position.file).documents
    index = _find_document(found, document, span.first_line)
    return None if index is None else found[index].obj


def edit_source(source: str, document: ManifestDocument, path: PlainPath, value: object) -> str:
    """Return the text of a file with another value for one field of one document, or without it (`REMOVED`).

    - A field that the file does not have is added to the map above it, which it must have.
    - Raises `ManifestError` with the line and the reason if the text cannot be edited mechanically.
    """
    file, span = document.position.file, find_span(source, document.position.line)
    text = source[span.start : span.end]
    before = parse_manifests(text.encode(), file).documents
    index = _find_document(before, document, span.first_line)
    if index is None or not (find_in_object(before[index].obj, path) or _takes(before[index].obj, path, value)):
        raise _refuse("the field is not in the file", file, document.position.line)
    edit = _find_edit(_Editor(text, file, span.first_line), before[index], path, value)
    edited = text[: edit.start] + edit.new.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[edit.end :]
    wanted = [d.obj for d in before]
    wanted[index] = change_object(wanted[index], path, value)
    after = parse_manifests(edited.encode(), file)
    is_as_wanted = len(after.documents) == len(wanted) and all(
        is_same_json(d.obj, w) for d, w in zip(after.documents, wanted, strict=True)
    )
    if not is_as_wanted or after.problems:
        raise _refuse("the lines cannot be changed without changing more than this field", file, document.position.line)
    return source[: span.start] + edited + source[span.end :]


def _takes(obj: JSONObject, path: PlainPath, value: object) -> bool:
    """Return whether a field can be added at a path: the map above it is there."""
    above: Any = obj
    for step in path[:-1] if find_in_object(obj, path[:-1]) else ("",):
        above = above[step] if step != "" else None
    return value is not REMOVED and isinstance(above, Mapping) and isinstance(path[-1], str)


def _find_edit(editor: _Editor, document: ManifestDocument, path: PlainPath, value: object) -> _Edit:
    item_at = (document.position.line, document.position.column) if document.list_kind else None
    if find_in_object(document.obj, path):
        return editor.edit(path, value, item_at=item_at)
    return editor.add(path[:-1], str(path[-1]), cast(JSONValue, value), item_at=item_at)
